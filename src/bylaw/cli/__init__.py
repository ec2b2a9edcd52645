"""Arguments → calls of the layers below, one module a verb."""
