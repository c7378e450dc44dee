"""How fast the worker runtime is, against the limit of the library that computes."""
