"""PyTorch modules for tests/gpu; apart, because importing torch takes seconds."""

from typing import Any

import torch
from torch import Tensor, nn


class Product(nn.Module):
    weight: Tensor

    def __init__(self, weight: Any) -> None:
        super().__init__()
        self.register_buffer("weight", torch.from_numpy(weight))

    def forward(self, x: Tensor) -> Tensor:
        return torch.matmul(x, self.weight)


class RowSums(nn.Module):
    """Each row's sum of x * weight + 1: whole numbers, exact in whatever order they are added."""

    weight: Tensor

    def __init__(self, columns: int) -> None:
        super().__init__()
        self.register_buffer("weight", torch.arange(columns, dtype=torch.float32) % 4)

    def forward(self, x: Tensor) -> Tensor:
        return (x * self.weight + 1).sum(-1)


class Slow(nn.Module):
    """x itself, after ``turns`` small products."""

    weight: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("weight", torch.eye(64))

    def forward(self, x: Tensor, turns: Tensor) -> Tensor:
        found = x
        for _ in range(int(turns.item())):
            found = torch.matmul(found, self.weight)
        return found


class Repeated(nn.Module):
    def forward(self, x: Tensor, count: Tensor) -> Tensor:
        return x.repeat(int(count.item()))


class SumOfMany(nn.Module):
    def forward(self, x: Tensor, count: Tensor) -> Tensor:
        return torch.sin(x.repeat(int(count.item()))).sum().reshape(1)


class Heavy(nn.Module):
    """x plus nothing, with ``size`` bytes of zeros."""

    weight: Tensor

    def __init__(self, size: int) -> None:
        super().__init__()
        self.register_buffer("weight", torch.zeros(size // 4))

    def forward(self, x: Tensor, index: Tensor) -> Tensor:
        return x + self.weight[index]


class Doubled(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x + x


class InPlace(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x.add_(1)


class AllTypes(nn.Module):
    """Each input itself; then one transposed, one once more, and none of it."""

    def forward(
        self,
        x_FP16: Tensor,
        x_FP32: Tensor,
        x_FP64: Tensor,
        x_INT8: Tensor,
        x_INT16: Tensor,
        x_INT32: Tensor,
        x_INT64: Tensor,
        x_UINT8: Tensor,
        x_BOOL: Tensor,
        x_BF16: Tensor,
    ) -> list[Tensor]:
        same = [x_FP16, x_FP32, x_FP64, x_INT8, x_INT16, x_INT32, x_INT64, x_UINT8, x_BOOL, x_BF16]
        return same + [x_FP32.t(), x_FP32, x_FP32[:0]]  # noqa: RUF005 # no TorchScript has the other


class Above(nn.Module):
    """The numbers above a limit."""

    def __init__(self, limit: int) -> None:
        super().__init__()
        self.limit = limit

    def forward(self, x: Tensor) -> Tensor:
        return x[x > self.limit]


class Places(nn.Module):
    """x + 1 where it runs, on the host, transposed, and as a part of something larger."""

    def forward(self, x: Tensor) -> list[Tensor]:
        y = x + 1
        return [y, y.cpu(), y.t(), torch.cat([x, y])[x.shape[0] :], x]


class Lookup(nn.Module):
    """x plus the rows that ``index`` names: one beyond the last breaks CUDA for the process."""

    weight: Tensor

    def __init__(self, rows: int) -> None:
        super().__init__()
        self.register_buffer("weight", torch.arange(rows, dtype=torch.float32))

    def forward(self, x: Tensor, index: Tensor) -> Tensor:
        return x + self.weight[index]
