"""Books × Session × Event → Decision | Needs; pure."""
