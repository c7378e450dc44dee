"""TensorFlow's SavedModels by signature, and frozen graphs."""
