"""What the examples have in common: deploying with the command line, calling with tritonclient."""
