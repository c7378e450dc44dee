"""What is loaded of an ensemble: nothing, its composing models are loaded on their own."""

from collections.abc import Sequence

from worker_runtime.backends.base import Instance, RequestInstance
from worker_runtime.types.graph import ModelGraph


class ComposedModel:
    graph: ModelGraph | None = None
    instances: Sequence[Instance | RequestInstance] = ()
    inline: Instance | None = None

    def close(self) -> None:
        """There is nothing to give back."""
