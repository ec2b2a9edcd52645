"""Commands that are watched while they run: looked at, started, limited, isolated, ended."""
