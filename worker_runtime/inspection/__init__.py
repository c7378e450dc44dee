"""Look at repositories and configurations without serving them; run as a subprocess, speaks JSON."""
