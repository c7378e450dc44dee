"""The module that Python models import, under the name that Triton gave it."""

from shoal_stub.api import *  # noqa: F403
