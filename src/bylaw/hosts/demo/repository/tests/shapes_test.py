from src.shapes import area

assert area(2, 2) == 4
