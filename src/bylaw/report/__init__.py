"""Answers to questions of people, as data, and their printers. Nothing here changes rule files.

One module for each question: check, rules, decide, explain, log, verify, doctor, context
documents, file policies. `printers` turns their results into text or data, `suites` runs pages as
tests.
"""
