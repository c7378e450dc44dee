"""Models to start from, as ``shoal init`` writes them."""
