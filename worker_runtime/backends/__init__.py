"""What executes models. Backends are synchronous and know nothing of queues or protocols."""
