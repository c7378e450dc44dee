"""Instances of Python models without a server around them, for tests of their processes."""

import gc
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import numpy as np

from tests.support.python_models import UTILS
from worker_runtime.backends.base import (
    Array,
    LoadSpec,
    ModelCall,
    ModelMetrics,
    Placement,
    RequestTrace,
)
from worker_runtime.backends.python.backend import PythonBackend, PythonModel
from worker_runtime.backends.python.instance import PythonInstance
from worker_runtime.repository.pbtxt import parse
from worker_runtime.types.request import ParameterValue, Response, SequencePart

CONFIG = """
name: "m" backend: "python"
input { name: "INPUT0" data_type: TYPE_FP32 dims: [-1] }
output { name: "OUTPUT0" data_type: TYPE_FP32 dims: [-1] }
"""
DECOUPLED = CONFIG + "model_transaction_policy { decoupled: true }"


@dataclass(slots=True)
class Request:
    inputs: Mapping[str, Array]
    id: str = ""
    outputs: tuple[str, ...] = ("OUTPUT0",)
    parameters: Mapping[str, ParameterValue] = field(default_factory=dict)
    sequence: SequencePart | None = None
    timeout_ns: int = 0
    priority: int = 0
    cancelled: bool = False
    detached: bool = False
    trace: RequestTrace | None = None
    answers: SimpleQueue[Response | None] = field(default_factory=SimpleQueue)

    def send(self, response: Response | None, **_marks: Any) -> None:
        self.answers.put(response)

    def skip(self, *, started_ns: int = 0) -> None: ...

    def detach(self) -> None:
        self.detached = True

    def reschedule(self) -> None: ...


class Host:
    metrics: ModelMetrics

    def infer(self, call: ModelCall, answer: Any) -> Callable[[], None]:
        raise AssertionError

    def model_ready(self, name: str, version: str) -> bool:
        raise AssertionError

    def load_model(self, name: str, config: str, files: Mapping[str, bytes]) -> None:
        raise AssertionError

    def unload_model(self, name: str, *, dependents: bool) -> None:
        raise AssertionError


Load = Callable[..., PythonModel]


def loader(folder: Path) -> Iterator[Load]:
    """What starts a model of a code; all are closed at the end."""
    loaded: list[PythonModel] = []

    def start(
        code: str, config: str = CONFIG, instances: int = 1, **parameters: str
    ) -> PythonModel:
        version = folder / "m" / "1"
        version.mkdir(parents=True, exist_ok=True)
        (version / "model.py").write_text(UTILS + code)
        spec = LoadSpec(
            name="m",
            version=1,
            path=version,
            filename="model.py",
            parameters=parameters,
            placements=tuple(Placement(f"m_0_{i}") for i in range(instances)),
            cores=1,
            config=parse(config),
            host=Host(),
        )
        loaded.append(PythonBackend().load(spec))
        return loaded[-1]

    yield start
    for model in loaded:
        model.close()


def request(*values: float) -> Request:
    return Request({"INPUT0": np.array(values, np.float32)})


def ask(instance: PythonInstance, *values: float) -> Response:
    one = request(*values)
    instance.execute_requests([one])
    answer = one.answers.get_nowait()
    assert answer is not None
    return answer


def alive(pid: int) -> bool:
    try:
        return "Z" not in Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False


def check_nothing_is_left(load: Load, code: str, *, rounds: int, instances: int) -> None:
    """Load, call and unload; neither processes nor descriptors nor threads may stay."""

    def counted() -> tuple[int, int]:
        gc.collect()
        return len(list(Path("/proc/self/fd").iterdir())), threading.active_count()

    def once() -> None:
        model = load(code, instances=instances)
        pids = model.pids
        for instance in model.instances:
            ask(instance, 0, *range(1000))
        model.close()
        assert not any(alive(pid) for pid in pids)

    once()
    before = counted()
    for _ in range(rounds):
        once()
    fds, threads = counted()
    assert fds <= before[0] + 1
    assert threads <= before[1]
