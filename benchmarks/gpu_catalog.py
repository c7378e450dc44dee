"""What the GPU benchmark serves and which loads it puts on it: models, libraries, points. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

Library = Literal["onnxruntime", "pytorch"]
Transport = Literal["http", "grpc", "system", "cuda"]
TRANSPORTS: tuple[Transport, ...] = ("http", "grpc", "system", "cuda")
FILES: Mapping[Library, str] = {"onnxruntime": "model.onnx", "pytorch": "model.pt"}
MAX_BATCH = 64
SAMPLES = 8  # different items; a request's answer must be that of its own


@dataclass(frozen=True, slots=True)
class Tensor:
    name: str
    datatype: str  # as Triton spells it
    shape: tuple[int, ...]  # of one item


@dataclass(frozen=True, slots=True)
class Model:
    """``sizes``: what the network is made with.

    ``tolerance``: by how much an answer may differ, as a share of the largest value expected.
    """

    key: str
    title: str
    inputs: tuple[Tensor, ...]
    output: Tensor
    sizes: Mapping[str, Any]
    tolerance: float
    batches: tuple[int, ...] = (1, 8, 32, 64)  # of the bare loop


@dataclass(frozen=True, slots=True)
class Point:
    """``under_way`` requests of ``batch`` items each, always, from the clients of one transport."""

    model: str
    library: Library
    transport: Transport
    under_way: int
    batch: int = 1
    frontends: int = 1
    quick: bool = True

    @property
    def served(self) -> str:
        return served(self.model, self.library)

    def __str__(self) -> str:
        way = f"{self.served} {self.transport} {self.under_way}x{self.batch}"
        return way if self.frontends == 1 else f"{way}, {self.frontends} front ends"


def served(model: str, library: Library) -> str:
    """The name that the server has a model by."""
    return f"{model}_{library}"


def models(*, tiny: bool, half: bool) -> Mapping[str, Model]:
    """By key. ``tiny``: the same shapes of networks, for machines without a GPU; ``half``: fp16."""
    real = "FP16" if half else "FP32"
    side, classes = (32, 10) if tiny else (224, 1000)
    bert, large = (32, 64) if tiny else (768, 1280)
    length, vocabulary = (16, 100) if tiny else (128, 30_000)
    resnet: dict[str, Any] = {"width": 8, "blocks": (1, 1), "classes": classes}
    if not tiny:
        resnet |= {"width": 64, "blocks": (3, 4, 6, 3)}
    ids = (Tensor("input_ids", "INT64", (length,)), Tensor("attention_mask", "INT64", (length,)))

    def encoder(layers: int, width: int) -> dict[str, Any]:
        heads = 2 if tiny else width // 64
        return {
            "layers": 2 if tiny else layers, "width": width, "heads": heads, "length": length,
            "vocabulary": vocabulary,
        }  # fmt: skip

    near = 0.03 if half else 0.01  # why not less: cuDNN and cuBLAS take TF32 for FP32
    all_of_them = (
        Model(
            "resnet50", f"ResNet-50, {real}, {side} x {side}",
            (Tensor("images", real, (3, side, side)),), Tensor("logits", real, (classes,)),
            resnet, near,
        ),
        Model(
            "bert", f"BERT-base, {real}, sequence {length}", ids,
            Tensor("state", real, (bert,)), encoder(12, bert), near,
        ),
        Model(
            "large", f"encoder of 1 GB, {real}, sequence {length}", ids,
            Tensor("state", real, (large,)), encoder(24, large), near,
        ),
        Model(
            "plus_one", f"x + 1, FP32 {3 * side * side * 4:,} bytes",
            (Tensor("values", "FP32", (3, side, side)),), Tensor("sums", "FP32", (3, side, side)),
            {}, 0.0, (1, 32),
        ),
    )  # fmt: skip
    return {model.key: model for model in all_of_them}


LIBRARIES: Mapping[str, tuple[Library, ...]] = {
    "resnet50": ("onnxruntime", "pytorch"),
    "bert": ("onnxruntime", "pytorch"),
    "large": ("onnxruntime", "pytorch"),
    "plus_one": ("onnxruntime", "pytorch"),
}
# Requests under way and items in each; the first are those of --quick.
_LOADS = ((16, 8), (128, 1))
_MORE_LOADS = ((64, 1), (32, 1), (8, 1), (1, 1))
SCALED: tuple[str, Library] = ("bert", "onnxruntime")
FRONTENDS = (1, 4, 8)


def points() -> Sequence[Point]:
    """In the order in which they are measured: what is asked first of a short time comes first."""
    found: list[Point] = []
    for model in ("resnet50", "bert"):
        for library in LIBRARIES[model]:
            found += [Point(model, library, "grpc", *load) for load in _LOADS]
            found.append(Point(model, library, "cuda", 4, MAX_BATCH))  # the least work for a server
    # The tensors' ways: 600 KB in and out, 32 items a request and 32 requests under way.
    found += [
        Point("plus_one", "onnxruntime", transport, *load)
        for load in ((4, 32), (32, 1))
        for transport in ("grpc", "cuda")
    ]
    for library in LIBRARIES["resnet50"]:
        found += [Point("resnet50", library, transport, 16, 8) for transport in ("cuda", "system")]
        found.append(Point("resnet50", library, "http", 64))
    found += [Point("large", library, "grpc", 16, 8) for library in LIBRARIES["large"]]
    found += [Point(*SCALED, "grpc", 128, frontends=count) for count in FRONTENDS[1:]]
    found += list(_slow())
    return found


def _slow() -> Iterable[Point]:
    """What --quick leaves out."""
    for model in ("resnet50", "bert", "large"):
        for library in LIBRARIES[model]:
            for load in _MORE_LOADS:
                yield Point(model, library, "grpc", *load, quick=False)
            for load in (*_LOADS, *_MORE_LOADS):
                if (model, *load) != ("resnet50", 64, 1):
                    yield Point(model, library, "http", *load, quick=False)
            if model != "resnet50":
                for transport in ("cuda", "system"):
                    yield Point(model, library, transport, 16, 8, quick=False)
    for library in LIBRARIES["plus_one"]:
        for load in ((4, 32), (32, 1)):
            for transport in TRANSPORTS:
                if library == "pytorch" or transport in ("http", "system"):
                    yield Point("plus_one", library, transport, *load, quick=False)
