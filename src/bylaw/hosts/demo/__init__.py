"""The demo: a scripted agent in a small repository, under rules of all five languages."""
