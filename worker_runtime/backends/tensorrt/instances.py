"""Instances of TensorRT models: contexts that take turns on one stream, and lanes to them."""

import logging
from collections.abc import Mapping, Sequence
from typing import Any

import torch

from worker_runtime.backends.device.lane import LANES, LaneInstance
from worker_runtime.backends.device.streams import CAPTURES
from worker_runtime.backends.graph_sizes import GraphBudget
from worker_runtime.backends.tensorrt.contexts import Context, Workplace
from worker_runtime.backends.tensorrt.engines import Profile, Shape, tensors_of
from worker_runtime.backends.tensorrt.graphs import wanted_graphs
from worker_runtime.backends.tensorrt.programs import EngineProgram

logger = logging.getLogger(__name__)


class EngineInstance(LaneInstance):
    """A DeviceInstance with a context for each profile; the weights are the engine's.

    ``batched``: the first axis of tensors, and the first value of shape tensors, is the batch.
    Raises LoadFailed or BackendFailed.
    """

    def __init__(
        self,
        engine: Any,
        profiles: Sequence[Profile],
        device: torch.device,
        name: str,
        *,
        batched: bool = False,
    ) -> None:
        place = Workplace(engine, tensors_of(engine), device, name)
        with place.stream.entered():
            contexts = [(item, Context(place, item.number)) for item in profiles]
        self._name = name
        self._profiles = profiles
        self._has_shape_tensors = bool(place.tensors.on_host)
        self._programs = [EngineProgram(place, contexts, batched=batched) for _ in range(LANES)]
        super().__init__(device, self._programs, place.turn)

    def capture(self, config: Any, budget: GraphBudget) -> None:
        """Capture the CUDA graphs that ``config`` asks for, for each lane. Raises ConfigInvalid.

        Of what ``budget`` has no room for, the shapes run as others do.
        """
        for profile in self._profiles:
            for wanted in wanted_graphs(config, profile.optimal):
                if self._has_shape_tensors:
                    logger.warning(
                        "Detected shape tensor, CUDA graph is not captured for %s", self._name
                    )
                    return
                if _outside(profile, wanted.shapes):
                    continue
                for program in self._programs:
                    with CAPTURES.shared():
                        room = program.capture(profile, wanted, budget)
                    if not room:
                        logger.warning(
                            "%s: no room for the CUDA graph of %s: this and larger batches run "
                            "without one",
                            self._name,
                            dict(wanted.shapes),
                        )
                        return

    def close(self) -> None:
        for program in self._programs:
            program.close()


def _outside(profile: Profile, shapes: Mapping[str, Shape]) -> bool:
    return any(
        not low <= got <= high
        for name, shape in shapes.items()
        for low, got, high in zip(profile.smallest[name], shape, profile.largest[name], strict=True)
    )
