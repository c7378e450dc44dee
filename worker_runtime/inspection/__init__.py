"""Look at repositories and configurations without serving them: a subprocess speaking JSON."""
