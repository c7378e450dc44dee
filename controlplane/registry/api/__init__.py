"""REST of the registry, one module per noun."""
