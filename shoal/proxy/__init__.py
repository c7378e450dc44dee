"""Local ports that add an endpoint's key and TLS, for clients that can do neither."""
