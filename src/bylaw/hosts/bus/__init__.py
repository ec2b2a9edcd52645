"""The bus: messages and file changes become events, which RULE_DSL rules decide."""
