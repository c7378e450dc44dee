"""The node agent: makes one machine run what the control plane desires. Knows no Django."""
