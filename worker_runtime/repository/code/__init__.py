"""What in a model is code that its node would run: one verdict, made from what the runtime does."""
