"""Writes the ONNX graph of one workload, with seeded random weights: python -m benchmarks.networks.

It runs as a process of its own, so that torch is neither loaded nor warm beside the measurements.
"""

import sys
import warnings
from pathlib import Path

import onnx
import torch
from torch import Tensor, nn


def main(key: str, target: Path) -> None:
    unfinished = target.with_suffix(".tmp")
    if key in ("M0", "E3"):
        onnx.save(add_sub(), unfinished)
    else:
        torch.manual_seed(0)
        module, example, names = {
            "M1": (mlp(), torch.rand(2, 256), ("x", "y")),
            "M2": (ResNet18(), torch.rand(2, 3, 224, 224), ("image", "logits")),
            "M3": (Encoder(), torch.randint(0, 30_000, (2, 128)), ("input_ids", "embedding")),
        }[key]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the classic exporter is deprecated, and needs no more
            torch.onnx.export(
                module.eval(),
                (example,),
                str(unfinished),
                dynamo=False,
                opset_version=17,
                input_names=[names[0]],
                output_names=[names[1]],
                dynamic_axes={name: {0: "batch"} for name in names},
            )
    unfinished.replace(target)


def add_sub() -> onnx.ModelProto:
    def tensor(name: str) -> onnx.ValueInfoProto:
        return onnx.helper.make_tensor_value_info(name, onnx.TensorProto.INT32, ["batch", 16])

    inputs = ["INPUT0", "INPUT1"]
    nodes = [
        onnx.helper.make_node("Add", inputs, ["OUTPUT0"]),
        onnx.helper.make_node("Sub", inputs, ["OUTPUT1"]),
    ]
    graph = onnx.helper.make_graph(
        nodes, "add_sub", [tensor(n) for n in inputs], [tensor("OUTPUT0"), tensor("OUTPUT1")]
    )
    return onnx.helper.make_model(
        graph, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=8
    )


def mlp() -> nn.Module:
    return nn.Sequential(
        nn.Linear(256, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 10)
    )


class Block(nn.Module):
    def __init__(self, inward: int, outward: int, stride: int) -> None:
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(inward, outward, 3, stride, 1, bias=False),
            nn.BatchNorm2d(outward),
            nn.ReLU(),
            nn.Conv2d(outward, outward, 3, 1, 1, bias=False),
            nn.BatchNorm2d(outward),
        )
        self.shortcut: nn.Module = nn.Identity()
        if stride != 1 or inward != outward:
            self.shortcut = nn.Sequential(
                nn.Conv2d(inward, outward, 1, stride, bias=False), nn.BatchNorm2d(outward)
            )

    def forward(self, x: Tensor) -> Tensor:
        return torch.relu(self.body(x) + self.shortcut(x))


class ResNet18(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        stages: list[nn.Module] = []
        inward = 64
        for outward, stride in ((64, 1), (128, 2), (256, 2), (512, 2)):
            stages += [Block(inward, outward, stride), Block(outward, outward, 1)]
            inward = outward
        self.layers = nn.Sequential(
            nn.Conv2d(3, 64, 7, 2, 3, bias=False),
            nn.BatchNorm2d(64),
            nn.ReLU(),
            nn.MaxPool2d(3, 2, 1),
            *stages,
            nn.AdaptiveAvgPool2d(1),
            nn.Flatten(),
            nn.Linear(512, 1000),
        )

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.layers(x)
        return out


class EncoderLayer(nn.Module):
    """Attention written out, so that the exporter sees plain operators."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads, self.head_width = heads, width // heads
        self.mix, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.feed = nn.Sequential(
            nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width)
        )
        self.first, self.second = nn.LayerNorm(width), nn.LayerNorm(width)

    def forward(self, x: Tensor) -> Tensor:
        _, length, width = x.shape
        parts = self.mix(x).reshape(-1, length, 3, self.heads, self.head_width)
        query, key, value = parts.permute(2, 0, 3, 1, 4)
        weights = torch.softmax(query @ key.transpose(-1, -2) / self.head_width**0.5, -1)
        mixed = (weights @ value).transpose(1, 2).reshape(-1, length, width)
        x = self.first(x + self.out(mixed))
        out: Tensor = self.second(x + self.feed(x))
        return out


class Encoder(nn.Module):
    """The shape of MiniLM: 6 layers, width 384, 12 heads; mean over the sequence."""

    def __init__(self) -> None:
        super().__init__()
        self.tokens, self.positions = nn.Embedding(30_000, 384), nn.Embedding(128, 384)
        self.layers = nn.Sequential(*(EncoderLayer(384, 12) for _ in range(6)))

    def forward(self, ids: Tensor) -> Tensor:
        out: Tensor = self.layers(self.tokens(ids) + self.positions.weight).mean(1)
        return out


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
