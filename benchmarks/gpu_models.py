"""Makes the repository of the GPU benchmark: python -m benchmarks.gpu_models JOB, for one network.

Beside each network's files lie its samples and what the framework itself answers to them, on the
same device: the answers of a server are compared with those.
"""

import functools
import hashlib
import inspect
import json
import sys
import warnings
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.gpu_catalog import (
    FILES,
    LIBRARIES,
    MAX_BATCH,
    SAMPLES,
    Library,
    Model,
    models,
    served,
)
from benchmarks.repository import BUILD

NUMPY = {"FP16": np.float16, "FP32": np.float32, "INT64": np.int64}
_APART = 4.0  # times the tolerance: by how much two samples' answers differ at least


@dataclass(frozen=True, slots=True)
class Kit:
    """Where the models of one device lie, and which they are."""

    device: str  # cuda or cpu
    tiny: bool

    @property
    def folder(self) -> Path:
        """Another one for models that are made in another way, or with another PyTorch."""
        return BUILD / "gpu-models" / f"{self.device}{'-tiny' if self.tiny else ''}-{_making()}"

    @property
    def repository(self) -> Path:
        return self.folder / "repository"

    def model(self, key: str) -> Model:
        return models(tiny=self.tiny, half=True)[key]

    def file(self, key: str, library: Library) -> Path:
        return self.repository / served(key, library) / "1" / FILES[library]

    def samples(self, key: str) -> Path:
        return self.folder / f"{key}.npz"

    def made(self, key: str) -> bool:
        return self.samples(key).exists()  # written last


@functools.cache
def _making() -> str:
    names = ("gpu_models.py", "gpu_networks.py", "gpu_catalog.py")
    sources = [Path(__file__).with_name(name).read_bytes() for name in names]
    return hashlib.sha256(b"".join([version("torch").encode(), *sources])).hexdigest()[:8]


def samples_of(kit: Kit, key: str) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """The inputs by name, and the framework's answers; ``SAMPLES`` items each."""
    with np.load(kit.samples(key)) as file:
        found = dict(file)
    return found, found.pop("expected")


def config(model: Model, library: Library, device: str, instances: int) -> str:
    """The model's config.pbtxt."""
    kind = "KIND_GPU" if device == "cuda" else "KIND_CPU"
    backend = f'backend: "{library}"'
    lines = [
        f'name: "{served(model.key, library)}"',
        backend,
        f"max_batch_size: {MAX_BATCH}",
        *(
            f'{kind_of} [{{ name: "{item.name}" data_type: TYPE_{item.datatype} '
            f"dims: [{', '.join(map(str, item.shape))}] }}]"
            for kind_of, item in (
                *(("input", item) for item in model.inputs),
                ("output", model.output),
            )
        ),
        f"instance_group [{{ count: {instances} kind: {kind} }}]",
        "dynamic_batching { }",
    ]
    if library == "onnxruntime":
        # why: batches come in every size, and by default each new one makes cuDNN try all it has
        lines.append('parameters { key: "cudnn_conv_algo_search" value: { string_value: "1" } }')
    return "\n".join(lines) + "\n"


def write_configs(kit: Kit, key: str, instances: int) -> None:
    for library in LIBRARIES[key]:
        path = kit.file(key, library).parents[1] / "config.pbtxt"
        path.write_text(config(kit.model(key), library, kit.device, instances))


def inputs(model: Model) -> dict[str, np.ndarray]:
    """``SAMPLES`` different items: images of coarse patterns, or tokens of some length."""
    rng = np.random.default_rng(0)
    (first, *rest) = model.inputs
    if rest:
        (length,) = first.shape
        vocabulary = model.sizes["vocabulary"]
        ids = rng.integers(1, vocabulary, (SAMPLES, length), np.int64)
        ids[:, 0] = np.arange(1, SAMPLES + 1)  # the token whose state is the answer
        ends = rng.integers(length // 2, length, (SAMPLES, 1), endpoint=True)
        return {first.name: ids, rest[0].name: (np.arange(length) < ends).astype(np.int64)}
    channels, side, _ = first.shape
    coarse = rng.normal(0, 1, (SAMPLES, channels, 4, 4)).repeat(side // 4, 2).repeat(side // 4, 3)
    noise = rng.normal(0, 0.2, (SAMPLES, *first.shape))
    return {first.name: (coarse + noise).astype(NUMPY[first.datatype])}


def tell_apart(model: Model, expected: np.ndarray) -> None:
    """Raises ValueError for a network whose answers would not tell which sample each is of."""
    flat = expected.astype(np.float64).reshape(SAMPLES, -1)
    if not np.isfinite(flat).all():
        raise ValueError(f"{model.key} answers with values that are not finite")
    apart = (
        min(np.abs(flat[a] - flat[b]).max() for a in range(SAMPLES) for b in range(a))
        / np.abs(flat).max()
    )
    if apart < _APART * model.tolerance:
        raise ValueError(
            f"{model.key}: two samples' answers differ by {apart:.3f} of the largest value, "
            f"expected at least {_APART * model.tolerance:.3f}"
        )


def make(kit: Kit, key: str) -> None:
    """The files of one network for each library. Raises ValueError for one that is no good."""
    import torch  # noqa: PLC0415  # why: only the process that makes models needs it

    from benchmarks import gpu_networks  # noqa: PLC0415  # as torch

    model = kit.model(key)
    device = torch.device(kit.device)
    torch.manual_seed(0)
    feeds = inputs(model)
    given = [torch.from_numpy(feeds[item.name]).to(device) for item in model.inputs]
    network: Any
    with device:
        if key == "resnet50":
            network = gpu_networks.ResNet(**model.sizes)
            gpu_networks.settle(network, given[0].float())
        elif key == "plus_one":
            network = gpu_networks.PlusOne()
        else:
            network = gpu_networks.Encoder(**model.sizes)
    network = network.to(device).eval()
    if model.output.datatype == "FP16":
        network = network.half()
    with torch.inference_mode():
        expected = network(*given).cpu().numpy()
    tell_apart(model, expected)
    for library in LIBRARIES[key]:
        kit.file(key, library).parent.mkdir(parents=True, exist_ok=True)
    example = tuple(tensor[:2] for tensor in given)
    with torch.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # both ways are deprecated, and both are what is served
        traced = torch.jit.trace(network, example, check_trace=False)
        traced.save(str(kit.file(key, "pytorch")))
        if hasattr(network, "fuse"):
            network.fuse(False)
        # why on the CPU: the exporter folds constants, of which some are there whatever the device
        network, example = network.cpu(), tuple(tensor.cpu() for tensor in example)
        names = [*inspect.signature(network.forward).parameters, model.output.name]
        torch.onnx.export(
            network,
            example,
            str(kit.file(key, "onnxruntime")),
            dynamo=False,
            opset_version=17,
            input_names=names[:-1],
            output_names=names[-1:],
            dynamic_axes={name: {0: "batch"} for name in names},
        )
    np.savez(kit.samples(key), expected=expected, **feeds)


if __name__ == "__main__":
    job = json.loads(sys.argv[1])
    make(Kit(job["device"], job["tiny"]), job["key"])
