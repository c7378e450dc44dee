"""Writes of metrics: samples, log lines, watches, pruning."""


def watch(endpoint: str) -> None:
    """Somebody looks at this endpoint: agents sample every half second for the next 30 s."""
    raise NotImplementedError
