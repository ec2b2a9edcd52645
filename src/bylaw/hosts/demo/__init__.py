"""The demo: a scripted agent works in a small repository under rules of all five languages."""
