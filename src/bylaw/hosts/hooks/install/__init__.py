"""Install hooks of Bylaw in the configuration of coding agents, find them, and remove them."""
