"""Model repositories on disk: Triton's layout and configuration files."""
