"""Pieces of configurations and load specifications for tests of backends."""

from collections.abc import Sequence
from pathlib import Path

from worker_runtime.backends.base import LoadSpec, Placement
from worker_runtime.repository.pbtxt import parse


def tensors(kind: str, *items: tuple[str, str, str]) -> str:
    """``kind`` blocks of a config.pbtxt: name, type without TYPE_, dims."""
    return "".join(
        f'{kind} {{ name: "{n}" data_type: TYPE_{t} dims: [{d}] }}\n' for n, t, d in items
    )


def load_spec(
    folder: Path,
    config: str,
    file: str = "",
    *,
    gpus: Sequence[int | None] = (None, None),
    cores: int = 2,
    graph_level: int = 0,
    **parameters: str,
) -> LoadSpec:
    """For version 1 of a model whose files lie in ``folder``, one instance for each of ``gpus``."""
    return LoadSpec(
        name="m",
        version=1,
        path=folder,
        filename=file,
        parameters=parameters,
        placements=tuple(Placement(f"m_0_{i}", gpu) for i, gpu in enumerate(gpus)),
        cores=cores,
        graph_level=graph_level,
        config=parse('name: "m"\n' + config),
    )
