"""The workloads: which model, called how, and what is expected of the result."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

Protocol = Literal["http", "grpc"]


@dataclass(frozen=True, slots=True)
class Drive:
    """One way to load a workload: closed loop, ``concurrency`` requests always under way."""

    protocol: Protocol
    concurrency: int


@dataclass(frozen=True, slots=True)
class Tensor:
    """``shape`` without the batch axis; integers are drawn below ``top``."""

    name: str
    datatype: Literal["FP32", "INT32", "INT64"]
    shape: tuple[int, ...]
    top: int = 1000


@dataclass(frozen=True, slots=True)
class Target:
    """What the project promises on the reference machine; None where it promises nothing."""

    ratio: float | None = None  # of the bare limit
    cpu_us: float | None = None  # server CPU per request, over HTTP
    grpc_cpu_us: float | None = None  # the same over gRPC


@dataclass(frozen=True, slots=True)
class Workload:
    """``batches`` are the batch sizes that the bare limit may choose among.

    ``steps`` above 1: an ensemble of so many such models, where the outputs of each are, in their
    order, the inputs of the next.
    """

    key: str
    title: str
    inputs: tuple[Tensor, ...]
    outputs: tuple[tuple[str, str, tuple[int, ...]], ...]  # name, datatype, shape
    drives: tuple[Drive, ...]
    batches: tuple[int, ...]
    max_batch_size: int
    dynamic_batching: bool
    instance_per_core: bool
    target: Target = Target()
    steps: int = 1

    @property
    def model(self) -> str:
        return self.key.lower()

    @property
    def parts(self) -> tuple[str, ...]:
        """The models that compute: this one itself, or the steps of the ensemble."""
        if self.steps == 1:
            return (self.model,)
        return tuple(f"{self.model}_{number}" for number in range(1, self.steps + 1))


WORKLOADS: Sequence[Workload] = (
    Workload(
        key="M0",
        title="add and subtract, INT32[16]",
        inputs=(Tensor("INPUT0", "INT32", (16,)), Tensor("INPUT1", "INT32", (16,))),
        outputs=(("OUTPUT0", "INT32", (16,)), ("OUTPUT1", "INT32", (16,))),
        drives=(Drive("http", 8), Drive("grpc", 8)),
        batches=(1,),
        max_batch_size=8,
        dynamic_batching=False,
        instance_per_core=False,
        target=Target(cpu_us=80.0),
    ),
    Workload(
        key="M1",
        title="MLP 256-512-512-10, dynamic batching",
        inputs=(Tensor("x", "FP32", (256,)),),
        outputs=(("y", "FP32", (10,)),),
        drives=(Drive("http", 32), Drive("grpc", 32)),
        batches=(8, 32, 64),
        max_batch_size=64,
        dynamic_batching=True,
        instance_per_core=False,
    ),
    Workload(
        key="M2",
        title="ResNet-18, 224 x 224",
        inputs=(Tensor("image", "FP32", (3, 224, 224)),),
        outputs=(("logits", "FP32", (1000,)),),
        drives=(Drive("http", 8),),
        batches=(1, 8),
        max_batch_size=8,
        dynamic_batching=False,
        instance_per_core=True,
        target=Target(ratio=0.9),
    ),
    Workload(
        key="M3",
        title="encoder, 6 layers x 384, sequence 128",
        inputs=(Tensor("input_ids", "INT64", (128,), top=30_000),),
        outputs=(("embedding", "FP32", (384,)),),
        drives=(Drive("grpc", 8),),
        batches=(1, 8),
        max_batch_size=8,
        dynamic_batching=False,
        instance_per_core=True,
        target=Target(ratio=0.9),
    ),
    Workload(
        key="E3",
        title="ensemble of three, each add and subtract, INT32[16]",
        inputs=(Tensor("INPUT0", "INT32", (16,)), Tensor("INPUT1", "INT32", (16,))),
        outputs=(("OUTPUT0", "INT32", (16,)), ("OUTPUT1", "INT32", (16,))),
        drives=(Drive("http", 8), Drive("grpc", 8)),
        batches=(1,),
        max_batch_size=8,
        dynamic_batching=False,
        instance_per_core=False,
        target=Target(cpu_us=60.0, grpc_cpu_us=70.0),
        steps=3,
    ),
)
