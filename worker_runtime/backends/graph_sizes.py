"""CUDA graphs of a model: for which batch sizes they are captured, and how many of them.

A graph replays work for the one shape that it was captured with. Batches of other sizes are padded
to the next one that has a graph, and run in the ordinary way where there is none.
"""

from collections.abc import Collection, Iterable, Mapping
from threading import Lock
from typing import Any

from msgspec import Struct, field

from worker_runtime.backends.configuration import bad_value

FIELD = "optimization.cuda.graph_spec"
_SHARE = 0.1
_MOST = 64
Shape = tuple[int, ...]


class GraphSize(Struct, frozen=True):
    """A batch of ``rows`` gets a graph, and those from ``fewest`` rows on are padded to it.

    Both are 0 where the model does not batch. ``dims`` are shapes of inputs by name, without the
    batch axis where the model batches, as a configuration gives them: an input that is not among
    them is left open.
    """

    rows: int
    fewest: int
    dims: Mapping[str, Shape] = field(default_factory=dict)


def graph_sizes(config: Any) -> tuple[GraphSize, ...]:
    """Those of a configuration, from few rows to many. Raises ConfigInvalid.

    ``graph_spec`` says them as in Triton: its very size, or all from ``graph_lower_bound`` on.
    Without it there are the usual ones. Whether graphs are wanted at all, the backend knows.
    Rows are padded, and nothing else: shapes in a lower bound are checked, and change nothing.
    """
    specs = config.optimization.cuda.graph_spec
    if not specs:
        return usual_sizes(config.max_batch_size, _preferred(config))
    return tuple(sorted((_written(spec, config) for spec in specs), key=lambda size: size.rows))


def usual_sizes(most: int, preferred: Iterable[int] = ()) -> tuple[GraphSize, ...]:
    """Powers of two, ``most`` (the largest batch; 0: the model does not batch), and ``preferred``.

    Together they take every batch, and none is padded to twice its rows.
    """
    powers = (1 << power for power in range(most.bit_length()))
    rows = sorted({most, *(size for size in (*powers, *preferred) if 1 <= size <= most)})
    return tuple(
        GraphSize(size, below + 1 if most else 0)
        for below, size in zip((0, *rows), rows, strict=False)
    )


def padded(size: int, sizes: Iterable[GraphSize]) -> int | None:
    """The rows of the graph that a batch of ``size`` runs in; None: it runs without one."""
    return min((held.rows for held in sizes if held.fewest <= size <= held.rows), default=None)


class GraphBudget:
    """What the graphs of one device may hold: ``share`` of its memory, and ``most`` of them.

    A graph is never taken away for another: that would capture again and again where shapes come in
    turns. What finds no room runs without a graph. Safe to use from several threads.
    """

    def __init__(self, device_bytes: int, share: float = _SHARE, most: int = _MOST) -> None:
        self._lock = Lock()
        self._bytes_left = int(device_bytes * share)
        self._graphs_left = most

    def take(self, size: int) -> bool:
        """Room for one more graph of ``size`` bytes; False: there is none, and nothing is taken."""
        with self._lock:
            if self._graphs_left < 1 or size > self._bytes_left:
                return False
            self._graphs_left -= 1
            self._bytes_left -= size
            return True

    def give_back(self, size: int) -> None:
        """Of a graph that was not captured after all, or that is gone."""
        with self._lock:
            self._graphs_left += 1
            self._bytes_left += size


def _preferred(config: Any) -> Collection[int]:
    choice = config.WhichOneof("scheduling_choice")
    if choice == "dynamic_batching":
        return tuple(config.dynamic_batching.preferred_batch_size)
    if choice == "sequence_batching":
        return tuple(config.sequence_batching.oldest.preferred_batch_size)
    return ()


def _written(spec: Any, config: Any) -> GraphSize:
    dims = _dims(spec)
    fewest, lowest = spec.batch_size, dims
    if spec.HasField("graph_lower_bound"):
        fewest, lowest = spec.graph_lower_bound.batch_size, _dims(spec.graph_lower_bound)
    for rows in (spec.batch_size, fewest):
        _check_rows(rows, config.max_batch_size)
    if fewest > spec.batch_size:
        raise bad_value(
            "graph lower bound spec expects 'batch_size' to be <= graph spec 'batch_size' "
            f"{spec.batch_size}, got {fewest}",
            FIELD,
        )
    for name, most in dims.items():
        _check_dims(name, most, lowest.get(name))
    return GraphSize(spec.batch_size, fewest, dims)


def _dims(spec: Any) -> dict[str, Shape]:
    return {name: tuple(shape.dim) for name, shape in spec.input.items()}


def _check_rows(rows: int, most: int) -> None:
    if not most and rows:
        raise bad_value(
            f"graph spec expects 'batch_size' to be 0 if 'max_batch_size' is 0, got {rows}", FIELD
        )
    if most and not 1 <= rows <= most:
        raise bad_value(
            f"graph spec expects 'batch_size' to be >= 1 and <= {most}, got {rows}", FIELD
        )


def _check_dims(name: str, most: Shape, lowest: Shape | None) -> None:
    if lowest is None:
        raise bad_value(f"graph lower bound spec expects shape for input '{name}'", FIELD)
    if len(lowest) != len(most):
        raise bad_value(
            f"graph lower bound spec expects input '{name}' to have {len(most)} dimensions, got "
            f"{len(lowest)}",
            FIELD,
        )
    for low, high in zip(lowest, most, strict=True):
        if low < 0 or high < 0:
            raise bad_value(
                f"graph spec expects input '{name}' to have dimension >= 0, got {min(low, high)}",
                FIELD,
            )
        if low > high:
            raise bad_value(
                f"graph lower bound spec expects input '{name}' to have dimension <= {high}, got "
                f"{low}",
                FIELD,
            )
