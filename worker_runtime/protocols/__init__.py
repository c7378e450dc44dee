"""Front ends: bytes on a socket to requests for the engine, and back."""
