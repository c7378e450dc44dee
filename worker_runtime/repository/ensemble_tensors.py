"""The tensors of an ensemble as its models see them: types, shapes, and who is decoupled."""

from collections import deque
from collections.abc import Sequence
from typing import Any

from worker_runtime.errors import ConfigInvalid, Problem
from worker_runtime.types.tensor import BY_NUMBER


class _Node:
    """A tensor as the first model that names it describes it.

    ``label`` numbers the decoupled step that it comes from, 0 for none: tensors of different
    decoupled steps never belong to one execution.
    """

    def __init__(self, model: str, item: Any, dims: Sequence[int], *, batching: bool) -> None:
        self.model = model
        self.type = item.data_type
        self.dims = tuple(dims)
        self.full = (-1, *self.dims) if batching else self.dims
        self.decoupled = False
        self.label = 0
        self.visited = False
        self.step = -1
        self.sources: list[_Node] = []
        self.targets: list[_Node] = []


class TensorTable:
    """Filled step by step; every method raises ConfigInvalid with the protocol's text."""

    def __init__(self, config: Any) -> None:
        self._config = config
        self._nodes: dict[str, _Node] = {}
        self._steps = 0
        batching = config.max_batch_size > 0
        for item in (*config.input, *config.output):
            dims = item.reshape.shape if item.HasField("reshape") else item.dims
            self._nodes.setdefault(item.name, _Node(config.name, item, dims, batching=batching))

    def add(self, step: Any, model: Any) -> None:
        """One step, with the complete configuration of its model."""
        self._check_inputs(step, model)
        for item in model.input:
            if item.name in step.input_map:
                self._meet(step.input_map[item.name], step, model, item)
        outputs = {item.name: item for item in model.output}
        # why sorted: maps of messages have no order of their own, findings should have one.
        for source, tensor in sorted(step.output_map.items()):
            if source not in outputs:
                raise self._invalid(
                    f"ensemble tensor {tensor} is mapped from non-existing output {source} in "
                    f"model {step.model_name}"
                )
        for source, tensor in sorted(step.output_map.items()):
            node = self._meet(tensor, step, model, outputs[source])
            node.step = self._steps
            node.decoupled = model.model_transaction_policy.decoupled
            for origin in step.input_map.values():
                node.sources.append(self._nodes[origin])
                self._nodes[origin].targets.append(node)
        self._steps += 1

    def decoupled(self) -> bool:
        """Walk the flow; True when some tensor comes from a decoupled step."""
        labels: dict[int, int] = {}  # by step: its outputs belong together
        front: deque[_Node] = deque()
        for item in self._config.input:
            self._nodes[item.name].visited = True
            front.append(self._nodes[item.name])
        used = 0
        while front:
            for node in front.popleft().targets:
                if node.visited or not all(source.visited for source in node.sources):
                    continue
                found = {source.label for source in node.sources}
                if len(found) > 1:
                    raise self._invalid(
                        f"step of model '{node.model}' receives inputs originated from different "
                        "decoupled models",
                        node.step,
                    )
                if node.step not in labels:
                    used += node.decoupled
                    labels[node.step] = used if node.decoupled else found.pop()
                node.label = labels[node.step]
                node.visited = True
                front.append(node)
        return used > 0

    def _check_inputs(self, step: Any, model: Any) -> None:
        known = {item.name for item in model.input}
        for source, tensor in sorted(step.input_map.items()):
            if source not in known:
                raise self._invalid(
                    f"ensemble tensor {tensor} is mapping to non-existing input {source} in model "
                    f"{step.model_name}"
                )
        for item in model.input:
            if item.name not in step.input_map and not item.optional:
                raise self._invalid(
                    f"input {item.name} in model {step.model_name} is not mapped to any ensemble "
                    "tensors"
                )

    def _meet(self, tensor: str, step: Any, model: Any, item: Any) -> _Node:
        """The tensor, after a look whether this model sees it as the ones before did."""
        seen = _Node(step.model_name, item, item.dims, batching=model.max_batch_size > 0)
        node = self._nodes.setdefault(tensor, seen)
        where = f"ensemble tensor {tensor}: inconsistent"
        if node.type != seen.type:
            raise self._invalid(
                f"{where} data type: {_type(node)} is inferred from model {node.model} while "
                f"{_type(seen)} is inferred from model {seen.model}"
            )
        # why twice: a model without batching may spell the batch axis out in its dims.
        if not _agree(node.dims, seen.dims) and not _agree(node.full, seen.full):
            raise self._invalid(
                f"{where} shape: {_shown(node.full)} is inferred from model {node.model} while "
                f"{_shown(seen.full)} is inferred from model {seen.model}"
            )
        return node

    def _invalid(self, what: str, step: int | None = None) -> ConfigInvalid:
        """Of the step that is being added, unless said."""
        message = f"in ensemble {self._config.name}, {what}"
        field = f"ensemble_scheduling[0].step[{self._steps if step is None else step}]"
        problem = Problem("ConfigInvalid", message, field=field)
        return ConfigInvalid(message, (problem,))


def _agree(left: tuple[int, ...], right: tuple[int, ...]) -> bool:
    return len(left) == len(right) and all(
        a == b or a == -1 or b == -1 for a, b in zip(left, right, strict=True)
    )


def _type(node: _Node) -> str:
    row = BY_NUMBER.get(node.type)
    return row.config_name if row is not None else "TYPE_INVALID"


def _shown(shape: tuple[int, ...]) -> str:
    return "[" + ",".join(map(str, shape)) + "]"
