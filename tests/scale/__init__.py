"""The control plane beside many nodes: ``python -m tests.scale`` (docs/scale.md)."""
