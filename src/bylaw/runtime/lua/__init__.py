"""The worker process for Lua scripts, and the Lua files that it loads."""
