"""The genuine ``azure-ai-ml`` package, in an environment of its own, against an installation."""
