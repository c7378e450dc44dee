"""The networks that the GPU benchmark serves, with seeded random weights: speed needs no others.

Each has a fixed size per item, so that no node of its graph computes shapes: ONNX Runtime has those
run on the CPU.
"""

import torch
from torch import Tensor, nn


class Bottleneck(nn.Module):
    def __init__(self, inward: int, width: int, stride: int) -> None:
        super().__init__()
        outward = 4 * width
        self.body = nn.Sequential(
            nn.Conv2d(inward, width, 1, bias=False),
            nn.BatchNorm2d(width),
            nn.ReLU(inplace=True),
            nn.Conv2d(width, width, 3, stride, 1, bias=False),
            nn.BatchNorm2d(width),
            nn.ReLU(inplace=True),
            nn.Conv2d(width, outward, 1, bias=False),
            nn.BatchNorm2d(outward),
        )
        self.shortcut: nn.Module = nn.Identity()
        if stride != 1 or inward != outward:
            self.shortcut = nn.Sequential(
                nn.Conv2d(inward, outward, 1, stride, bias=False), nn.BatchNorm2d(outward)
            )

    def forward(self, x: Tensor) -> Tensor:
        return torch.relu(self.body(x) + self.shortcut(x))


class ResNet(nn.Module):
    """Images [n, 3, side, side] to logits; ResNet-50: ``width`` 64, ``blocks`` (3, 4, 6, 3)."""

    def __init__(self, width: int, blocks: tuple[int, ...], classes: int) -> None:
        super().__init__()
        stages: list[nn.Module] = []
        inward = width
        for number, count in enumerate(blocks):
            inner = width * 2**number
            for index in range(count):
                stages.append(Bottleneck(inward, inner, 2 if number and not index else 1))
                inward = 4 * inner
        self.layers = nn.Sequential(
            nn.Conv2d(3, width, 7, 2, 3, bias=False),
            nn.BatchNorm2d(width),
            nn.ReLU(inplace=True),
            nn.MaxPool2d(3, 2, 1),
            *stages,
            nn.AdaptiveAvgPool2d(1),
            nn.Flatten(),
            nn.Linear(inward, classes),
        )

    def forward(self, images: Tensor) -> Tensor:
        out: Tensor = self.layers(images)
        return out


class EncoderLayer(nn.Module):
    """``fused`` takes PyTorch's own attention, else it is written out for the ONNX exporter."""

    def __init__(self, width: int, heads: int, length: int) -> None:
        super().__init__()
        self.heads, self.part, self.length = heads, width // heads, length
        self.fused = True
        self.mix, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.feed = nn.Sequential(
            nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width)
        )
        self.first, self.second = nn.LayerNorm(width), nn.LayerNorm(width)

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        parts = self.mix(x).reshape(-1, self.length, 3, self.heads, self.part)
        query, key, value = parts.permute(2, 0, 3, 1, 4).unbind(0)
        scale = self.part**-0.5
        if self.fused:
            mixed = nn.functional.scaled_dot_product_attention(
                query, key, value, attn_mask=mask, scale=scale
            )
        else:
            mixed = torch.softmax((query * scale) @ key.transpose(-1, -2) + mask, -1) @ value
        mixed = mixed.transpose(1, 2).reshape(-1, self.length, self.heads * self.part)
        x = self.first(x + self.out(mixed))
        out: Tensor = self.second(x + self.feed(x))
        return out


class Encoder(nn.Module):
    """BERT's shape: token ids and their mask [n, length] to the first token's state [n, width]."""

    def __init__(self, layers: int, width: int, heads: int, length: int, vocabulary: int) -> None:
        super().__init__()
        self.tokens = nn.Embedding(vocabulary, width)
        self.positions = nn.Parameter(torch.randn(length, width))
        self.norm = nn.LayerNorm(width)
        self.layers = nn.ModuleList(EncoderLayer(width, heads, length) for _ in range(layers))
        self.length = length

    def fuse(self, fused: bool) -> None:
        for layer in self.layers:
            layer.fused = fused

    def forward(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        x = self.norm(self.tokens(input_ids) + self.positions)
        # why as large as fp16 can tell apart from nothing: softmax leaves exactly 0 of it
        mask = (1 - attention_mask.to(x.dtype)).reshape(-1, 1, 1, self.length) * -1e4
        for layer in self.layers:
            x = layer(x, mask)
        return x[:, 0]


class PlusOne(nn.Module):
    """Computes next to nothing: what it costs is the way of its tensors."""

    def forward(self, values: Tensor) -> Tensor:
        return values + 1


@torch.no_grad()
def settle(network: nn.Module, images: Tensor) -> None:
    """Gives the batch normalisations the statistics of ``images``: without, fp16 may overflow."""
    for module in network.modules():
        if isinstance(module, nn.BatchNorm2d):
            module.momentum = None  # the mean of all that is seen
    network.train()
    network(images)
    network.eval()
