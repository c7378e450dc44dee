"""Loads TensorRT engines: one per GPU, one context per instance and profile."""

from collections.abc import Sequence
from typing import Any

import torch

from worker_runtime.backends.base import Instance, LoadSpec, Placement
from worker_runtime.backends.capabilities import ALL_TYPES, Capabilities
from worker_runtime.backends.configuration import bad_value
from worker_runtime.backends.device.streams import CAPTURES, memory_of
from worker_runtime.backends.graph_sizes import GraphBudget
from worker_runtime.backends.tensorrt.engines import (
    graph_of,
    largest_batch,
    profiles_of,
    read_engine,
)
from worker_runtime.backends.tensorrt.instances import EngineInstance
from worker_runtime.errors import LoadFailed, Problem
from worker_runtime.types.signature import ModelGraph


class EngineModel:
    """``inline`` is None: a GPU's work would hold up the event loop."""

    inline: Instance | None = None

    def __init__(self, graph: ModelGraph, instances: Sequence[EngineInstance]) -> None:
        self.graph: ModelGraph | None = graph
        self.instances = instances

    def close(self) -> None:
        for instance in self.instances:
            instance.close()
        self.instances = ()


class TensorrtBackend:
    capabilities = Capabilities(datatypes=ALL_TYPES - {"BYTES"}, cpu=False)

    def load(self, spec: LoadSpec) -> EngineModel:
        """Raises LoadFailed or ConfigInvalid."""
        path = spec.path / (spec.filename or "model.plan")
        if not path.is_file():
            message = f"unable to find '{path}' for model '{spec.name}'"
            raise LoadFailed(message, Problem("ModelLoadFailed", message, model=spec.name))
        if not torch.cuda.is_available():
            message = (
                f"unable to load model '{spec.name}': TensorRT engines need an NVIDIA GPU and "
                "PyTorch with CUDA, and one of them is not here"
            )
            raise LoadFailed(message, Problem("BackendUnsupported", message, model=spec.name))
        engines: dict[int, Any] = {}
        budgets: dict[int, GraphBudget] = {}
        instances: list[EngineInstance] = []
        for place in spec.placements:
            number = place.gpu or 0
            with torch.cuda.device(number), CAPTURES.load():
                if number not in engines:
                    engines[number] = read_engine(path, spec.name, spec.backend_settings)
                    budgets[number] = GraphBudget(memory_of(torch.device("cuda", number)))
                engine = engines[number]
                profiles = profiles_of(engine, wanted_profiles(spec.config, place))
                if not instances and not spec.max_batch_given and not spec.config.max_batch_size:
                    spec.config.max_batch_size = largest_batch(engine, profiles)
                instance = EngineInstance(
                    engine,
                    profiles,
                    torch.device("cuda", number),
                    place.name,
                    batched=spec.config.max_batch_size > 0,
                )
                instance.capture(spec.config, budgets[number])
                instances.append(instance)
        return EngineModel(graph_of(next(iter(engines.values()))), instances)


def wanted_profiles(config: Any, place: Placement) -> list[int]:
    """The numbers that the instance's group names. Raises ConfigInvalid."""
    for group in config.instance_group:
        if place.name.rpartition("_")[0] != group.name:
            continue
        for profile in group.profile:
            if not profile:
                raise bad_value("profile name must not be empty", "instance_group")
            if not profile.isdecimal():
                raise bad_value(f"unable to parse '{profile}': stoi", "instance_group")
        return [int(profile) for profile in group.profile]
    return []
