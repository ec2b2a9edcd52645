"""Documents that are tests: Markdown pages whose headings are cases."""
