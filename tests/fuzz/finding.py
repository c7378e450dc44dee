"""What a target raises for something that must not happen."""


class Finding(Exception):
    """Something that must not happen."""
