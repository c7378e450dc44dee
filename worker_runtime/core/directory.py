"""Which READY version a name means, and what is said where there is none.

Pure: of what is served it is told by whoever keeps it, in this process or in another one.
"""

from collections.abc import Callable, Collection, Mapping
from typing import Generic, TypeVar

from worker_runtime.errors import InvalidArgument, NotFound, RuntimeFault, Unavailable
from worker_runtime.types.repository import display_name, name_of

M = TypeVar("M")


class Directory(Generic[M]):
    """``ready``: (key, "") is the highest READY version, (key, "3") that one.

    ``known`` are the keys of all models that are to be served. ``versions`` gives the numbers that
    one of them was to have, None for a model that nobody ever wanted.
    """

    def __init__(
        self,
        ready: Mapping[tuple[str, str], M],
        known: Collection[str],
        versions: Callable[[str], Collection[int] | None],
    ) -> None:
        self._ready = ready
        self._known = known
        self._versions = versions

    def resolve(self, name: str, version: str = "") -> M:
        """The READY version asked for ("" = the highest). Raises NotFound or Unavailable."""
        model = self._ready.get((name, version)) or self._ready.get((self.key(name), version))
        if model is None:
            raise self._missing(self.key(name), version)
        return model

    def key(self, name: str) -> str:
        """What the model of this name is kept under. Raises InvalidArgument when there are several.

        Only a server with namespacing has several; a key is its own.
        """
        keys = self.keys(name)
        if len(keys) > 1:
            raise InvalidArgument(
                f"There are {len(keys)} identifiers of model '{name}' in global map, model "
                "namespace must be provided to resolve ambiguity."
            )
        return keys[0] if keys else name

    def keys(self, name: str) -> list[str]:
        """Of all the models with this name."""
        if name in self._known or self._versions(name) is not None:
            return [name]
        return [key for key in self._known if name_of(key) == name]

    def only(self) -> M:
        """The one READY model. Raises InvalidArgument listing the models when there are several."""
        names = sorted({key[0] for key in self._ready})
        if len(names) == 1:
            return self.resolve(names[0])
        if not names:
            raise Unavailable("no model is ready")
        raise InvalidArgument(
            f"this server has {len(names)} models: {', '.join(names)}; "
            "POST to v2/models/<model>/infer instead of score"
        )

    def _missing(self, key: str, version: str) -> RuntimeFault:
        prefix = f"Request for unknown model: '{display_name(key)}'"
        versions = self._versions(key)
        if versions is None:
            return NotFound(f"{prefix} is not found")
        if not version:
            return NotFound(f"{prefix} has no available versions")
        if version.isdigit() and int(version) in versions:
            return Unavailable(f"{prefix} version {int(version)} is not at ready state")
        return NotFound(f"{prefix} version {version} is not found")
