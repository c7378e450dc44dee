"""Random inputs for a model, by what its server says of it."""

from typing import Any

from load_client.requests import model_path
from load_client.targets import Target, Unreachable
from wire.load import LoadInput, LoadPlan


def random_inputs(plan: LoadPlan, target: Target) -> tuple[LoadInput, ...]:
    """Raises Unreachable, ValueError."""
    metadata = target.get(model_path(plan.model, plan.version, "").rstrip("/"))
    try:
        config = target.get(model_path(plan.model, plan.version, "config"))
    except Unreachable:
        config = None  # an extension of Triton's
    return inputs_of(plan, metadata, config)


def inputs_of(plan: LoadPlan, metadata: Any, config: Any) -> tuple[LoadInput, ...]:
    """Pure. ``config``: Triton's; None of a server that has none, whose models take batches where
    all their inputs begin with an axis of any size. Raises ValueError."""
    try:
        told = [
            (str(one["name"]), str(one["datatype"]), [int(axis) for axis in one["shape"]])
            for one in metadata["inputs"]
        ]
        settings = config or {}
        optional = {one["name"] for one in settings.get("input", ()) if one.get("optional")}
        decoupled = settings.get("model_transaction_policy", {}).get("decoupled")
        batched = int(settings.get("max_batch_size", 0)) > 0
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise ValueError(f"{plan.model}: its server does not tell its inputs: {error!r}") from None
    if decoupled:
        raise ValueError(f"{plan.model} answers in a stream, expected one answer to each request")
    if settings.get("sequence_batching"):
        raise ValueError(f"{plan.model} keeps sequences, expected requests of their own")
    if config is None:
        batched = bool(told) and all(shape[:1] == [-1] for _, _, shape in told)
    if strangers := sorted(set(plan.shapes) - {name for name, _, _ in told}):
        names = ", ".join(name for name, _, _ in told)
        raise ValueError(f"shapes: {strangers[0]!r}, expected an input of {plan.model}: {names}")
    return tuple(
        LoadInput(name, datatype, _shape(name, shape, plan, batched=batched))
        for name, datatype, shape in told
        if name not in optional
    )


def _shape(name: str, told: list[int], plan: LoadPlan, *, batched: bool) -> tuple[int, ...]:
    """An axis of any size is 1, unless the plan says otherwise. Raises ValueError."""
    own = told[1:] if batched else told
    given = plan.shapes.get(name)
    if given is not None:
        fits = len(given) == len(own) and all(
            size == axis or axis < 0 for size, axis in zip(given, own, strict=True)
        )
        if not fits:
            raise ValueError(f"shapes: {name} is {list(given)}, expected one that fits {own}")
        own = list(given)
    sizes = tuple(max(1, axis) if axis < 0 else axis for axis in own)
    return (plan.batch, *sizes) if batched else sizes
