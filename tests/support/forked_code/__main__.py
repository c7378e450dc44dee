"""``main`` gets what ``python`` itself would: ``-I -c CODE``."""


def preload() -> None:
    """There is nothing to import before."""


def main(arguments: list[str]) -> int:
    exec(arguments[-1], {"__name__": "__main__"})
    return 0
