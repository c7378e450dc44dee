"""The step graph of an ensemble, boiled down from its configuration. Pure, built once per load."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from msgspec import Struct

from worker_runtime.types.repository import display_name, key_of

_MAX_COURSES = 256


class Step(Struct, frozen=True):
    """``version`` is "" for the highest READY one. The maps go from model names to tensors.

    ``model`` is a key of `types.repository`.
    """

    index: int
    model: str
    version: str
    inputs: tuple[tuple[str, str], ...]
    outputs: tuple[tuple[str, str], ...]

    def __str__(self) -> str:
        return f"step {self.index} ('{display_name(self.model)}')"


class Course(NamedTuple):
    """What runs for one choice of outputs: the steps that only others need are left out.

    ``routes``: for every tensor how many take it, and which steps do: the answer may be one more.
    ``wanted``: how many tensors each step waits for.
    """

    requested: tuple[str, ...]
    routes: Mapping[str, tuple[int, tuple[int, ...]]]
    wanted: tuple[int, ...]


class EnsembleGraph:
    """``models``: name and version of each model, once; ``optional``: inputs."""

    def __init__(self, config: Any) -> None:
        self.name: str = config.name
        self.steps = tuple(
            Step(
                index,
                key_of(step.model_name, step.model_namespace),
                "" if step.model_version < 0 else str(step.model_version),
                tuple(sorted(step.input_map.items())),
                tuple(sorted(step.output_map.items())),
            )
            for index, step in enumerate(config.ensemble_scheduling.step)
        )
        self.outputs = tuple(item.name for item in config.output)
        self.optional = tuple(item.name for item in config.input if item.optional)
        self._producer = {tensor: step for step in self.steps for _, tensor in step.outputs}
        readers: dict[str, list[int]] = {
            name: [] for name in (*(item.name for item in config.input), *self.outputs)
        }
        for step in self.steps:
            for _, tensor in (*step.inputs, *step.outputs):
                readers.setdefault(tensor, [])
            for tensor in dict.fromkeys(tensor for _, tensor in step.inputs):
                readers[tensor].append(step.index)
        self.models = tuple(dict.fromkeys((step.model, step.version) for step in self.steps))
        self._wanted = tuple(len({tensor for _, tensor in step.inputs}) for step in self.steps)
        self._consumers = {tensor: tuple(steps) for tensor, steps in readers.items()}
        self._courses: dict[tuple[str, ...], Course] = {}

    def course(self, requested: tuple[str, ...]) -> Course:
        """Worked out once for each choice; ``requested`` is in the order of the configuration."""
        found = self._courses.get(requested)
        if found is None:
            if len(self._courses) >= _MAX_COURSES:
                self._courses.clear()
            found = self._courses[requested] = self._course(requested)
        return found

    def _course(self, requested: tuple[str, ...]) -> Course:
        routes = {
            name: (len(steps) + (name in requested), steps)
            for name, steps in self._prune(frozenset(requested)).items()
        }
        return Course(requested, routes, self._wanted)

    def _prune(self, requested: frozenset[str]) -> Mapping[str, tuple[int, ...]]:
        """Walk backwards from what nobody wants, dropping steps all of whose outputs are idle."""
        readers = {tensor: set(steps) for tensor, steps in self._consumers.items()}
        wanted_outputs = {step.index: len(step.outputs) for step in self.steps}
        idle = [name for name in self.outputs if name not in requested and not readers[name]]
        while idle:
            step = self._producer.get(idle.pop())
            if step is None:
                continue  # an input of the ensemble
            wanted_outputs[step.index] -= 1
            if wanted_outputs[step.index]:
                continue
            for tensor in dict.fromkeys(tensor for _, tensor in step.inputs):
                readers[tensor].discard(step.index)
                if not readers[tensor] and tensor not in requested:
                    idle.append(tensor)
        return {tensor: tuple(sorted(steps)) for tensor, steps in readers.items()}
