"""``main`` gets what ``python`` itself would: ``-I -c CODE``."""


def main(arguments: list[str]) -> int:
    exec(arguments[-1], {"__name__": "__main__"})
    return 0
