"""TensorRT engines (``model.plan``). Never run on hardware yet: see docs/backends.md."""
