print("released 1.1")
