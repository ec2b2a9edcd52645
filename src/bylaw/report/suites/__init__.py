"""Test suites in Markdown: each heading of a page is a test case."""
