"""Shapes of the registry on the wire, one module per noun."""
