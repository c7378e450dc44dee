"""What a backend can do, so that a model that asks for more is refused before it is loaded."""

from collections.abc import Iterable
from typing import Any

from msgspec import Struct

from worker_runtime.errors import ConfigInvalid, Problem
from worker_runtime.types.tensor import BY_NUMBER, DATA_TYPES

ALL_TYPES = frozenset(row.name for row in DATA_TYPES)


class Capabilities(Struct, frozen=True):
    """``datatypes`` are wire names; ``decoupled``: a request may have many answers, or none.

    ``cpu`` and ``gpu`` are where instances may be placed; ``batches`` False: only models with
    ``max_batch_size: 0`` or 1. ``title`` is the backend's name in texts, "" for its plain name.
    """

    datatypes: frozenset[str] = ALL_TYPES
    cpu: bool = True
    gpu: bool = True
    decoupled: bool = False
    batches: bool = True
    title: str = ""


def capabilities_of(backend: Any) -> Capabilities:
    """What a backend declares as its attribute ``capabilities``; everything when it does not."""
    found = getattr(backend, "capabilities", None)
    return found if isinstance(found, Capabilities) else Capabilities(decoupled=True)


def check_capabilities(config: Any, can: Capabilities, gpus: Iterable[int | None]) -> None:
    """Raises ConfigInvalid when a model asks for what its backend cannot do.

    ``gpus``: the GPU of each instance, None for the CPU.
    """
    start = f"unable to load model '{config.name}', {can.title or config.backend} backend"
    for gpu in gpus:
        if gpu is not None and not can.gpu:
            raise _refused(f"{start} supports only CPU device", "instance_group")
        if gpu is None and not can.cpu:
            raise _refused(f"{start} supports only GPU device", "instance_group")
    if config.model_transaction_policy.decoupled and not can.decoupled:
        raise _refused(
            f"{start} does not support the decoupled transaction policy",
            "model_transaction_policy",
        )
    if config.max_batch_size > 1 and not can.batches:
        raise _refused(f"{start} does not support batching", "max_batch_size")
    for kind, tensors in (("input", config.input), ("output", config.output)):
        for index, item in enumerate(tensors):
            datatype = BY_NUMBER.get(item.data_type)
            if datatype is not None and datatype.name not in can.datatypes:
                raise _refused(
                    f"unsupported datatype {datatype.config_name} for {kind} '{item.name}' for "
                    f"model '{config.name}'",
                    f"{kind}[{index}].data_type",
                )


def _refused(message: str, field: str) -> ConfigInvalid:
    return ConfigInvalid(message, (Problem("ConfigInvalid", message, field=field),))
