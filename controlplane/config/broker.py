"""Redis on a Unix socket: one URL in the settings, two spellings among libraries."""


def for_celery(url: str) -> str:
    """redis-py's ``unix://user:password@/path?db=0`` as Celery writes it; any other as it is."""
    if not url.startswith("unix://"):
        return url
    return f"redis+socket{url.removeprefix('unix')}".replace("?db=", "?virtual_host=")
