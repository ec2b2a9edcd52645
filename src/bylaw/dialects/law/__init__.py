"""RULE_DSL (L-10-DSL): YAML rules that bind file events and bus commands to guarded actions."""
