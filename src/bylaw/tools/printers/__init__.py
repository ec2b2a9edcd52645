"""Diagnostics → text in one of four formats. A printer is a pure function, the order is ours."""
