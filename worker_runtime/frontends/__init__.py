"""Front ends in processes of their own: what they and the core say to each other, and who runs."""
