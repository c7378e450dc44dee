"""Built-in test backend: outputs are inputs; `delay_ms` makes it slow, `fail` makes it raise."""

import time
from collections.abc import Sequence

from worker_runtime.backends.base import Array, Instance, LoadSpec
from worker_runtime.types.graph import ModelGraph


class IdentityInstance:
    def __init__(self, delay_s: float, failure: str) -> None:
        self._delay_s = delay_s
        self._failure = failure

    def execute(self, inputs: dict[str, Array], outputs: Sequence[str]) -> list[Array]:
        if self._delay_s:
            time.sleep(self._delay_s)
        if self._failure:
            raise RuntimeError(self._failure)
        arrays = list(inputs.values())
        by_name = {name.replace("INPUT", "OUTPUT"): array for name, array in inputs.items()}
        return [
            by_name.get(name, arrays[min(i, len(arrays) - 1)]) for i, name in enumerate(outputs)
        ]


class IdentityModel:
    graph: ModelGraph | None = None
    inline: Instance | None = None

    def __init__(self, instances: Sequence[Instance]) -> None:
        self.instances = instances

    def close(self) -> None:
        self.instances = ()


class IdentityBackend:
    def load(self, spec: LoadSpec) -> IdentityModel:
        delay_s = float(spec.parameters.get("delay_ms", "0")) / 1000
        failure = spec.parameters.get("fail", "")
        return IdentityModel([IdentityInstance(delay_s, failure) for _ in spec.placements])
