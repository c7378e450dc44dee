"""The life of a model version, in the words of the repository index."""

from enum import StrEnum


class ModelState(StrEnum):
    LOADING = "LOADING"
    READY = "READY"
    UNLOADING = "UNLOADING"
    UNAVAILABLE = "UNAVAILABLE"


UNLOADED = "unloaded"  # the reason that Triton gives after an unload through the API
