"""Approvals of messages: read, preview, request, write and revoke them."""
