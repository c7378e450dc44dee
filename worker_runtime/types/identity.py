"""What tells models apart: their names or, with --model-namespacing, their places too.

A key is a name, or a repository and a name. Names have no slash, so the last one parts the two.
"""


def key_of(name: str, namespace: str = "") -> str:
    return f"{namespace}/{name}" if namespace else name


def name_of(key: str) -> str:
    return key.rpartition("/")[2]


def namespace_of(key: str) -> str:
    return key.rpartition("/")[0]


def display_name(key: str) -> str:
    """For people, as Triton writes it."""
    namespace = namespace_of(key)
    return f"{namespace}::{name_of(key)}" if namespace else key
