"""An execution context of a TensorRT engine: told where its tensors are, and run."""

from collections.abc import Mapping, Sequence
from typing import Any

import tensorrt as trt
import torch

from worker_runtime.backends.device.streams import Turn
from worker_runtime.backends.tensorrt.engines import EngineTensors
from worker_runtime.errors import BackendFailed, InvalidArgument


class Workplace:
    """What the contexts of one instance share: they run one after the other, on one stream.

    ``scratch`` holds the activations of whichever runs.
    """

    def __init__(
        self, engine: Any, tensors: EngineTensors, device: torch.device, name: str
    ) -> None:
        self.engine = engine
        self.tensors = tensors
        self.device = device
        self.name = name
        self.turn = Turn(device)
        self.stream = self.turn.stream
        with self.stream.entered():
            self.scratch = self.reserve((engine.device_memory_size_v2,), torch.uint8)

    def reserve(self, shape: Sequence[int], kind: torch.dtype) -> torch.Tensor:
        """On the device, for the stream that is entered; what is in it is left as it was."""
        return torch.empty(tuple(shape), dtype=kind, device=self.device)


class Context:
    """Of one profile; used in the instance's turn. Raises BackendFailed when it cannot be made."""

    def __init__(self, place: Workplace, profile: int) -> None:
        self._place = place
        managed = trt.ExecutionContextAllocationStrategy.USER_MANAGED
        self._context = place.engine.create_execution_context(managed)
        if self._context is None:
            raise BackendFailed(f"unable to create TensorRT context for {place.name}")
        if place.scratch.numel():
            self._context.set_device_memory(place.scratch.data_ptr(), place.scratch.numel())
        if not self._context.set_optimization_profile_async(profile, place.stream.handle):
            raise BackendFailed(f"unable to set optimization profile {profile} of {place.name}")

    def bind(self, inputs: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
        """Say where the tensors are; gives the outputs. Raises InvalidArgument or BackendFailed.

        All of them are to be kept until the work is done.
        """
        for name, tensor in inputs.items():
            if not self._context.set_input_shape(name, tuple(tensor.shape)):
                raise InvalidArgument(
                    f"failed to set the shape {list(tensor.shape)} of input '{name}' for "
                    f"{self._place.name}"
                )
            self._put(name, tensor)
        self._infer()
        made = {name: self._reserved(name) for name in self._place.tensors.outputs}
        for name, tensor in made.items():
            self._put(name, tensor)
        return made

    def run(self) -> None:
        """Start the work on the stream. Raises BackendFailed."""
        if not self._context.execute_async_v3(self._place.stream.handle):
            raise BackendFailed(f"unable to execute TRT context for {self._place.name}")

    def _put(self, name: str, tensor: torch.Tensor) -> None:
        if not self._context.set_tensor_address(name, tensor.data_ptr()):
            raise BackendFailed(f"failed to set the address of '{name}' for {self._place.name}")

    def _infer(self) -> None:
        """Work out the outputs' shapes, for which TensorRT reads the shape tensors' values."""
        try:
            missing = self._context.infer_shapes()
        except RuntimeError as error:
            raise InvalidArgument(
                f"the shapes of the inputs do not fit together for {self._place.name}: {error}"
            ) from error
        if missing:
            names = ", ".join(f"'{name}'" for name in missing)
            raise InvalidArgument(f"missing input {names} for {self._place.name}")

    def _reserved(self, name: str) -> torch.Tensor:
        shape = tuple(self._context.get_tensor_shape(name))
        if -1 in shape:
            raise BackendFailed(
                f"output '{name}' of {self._place.name} has a shape that depends on the data"
            )
        kind = self._place.tensors.kinds[name]
        if name in self._place.tensors.on_host:
            return torch.empty(shape, dtype=kind)
        return self._place.reserve(shape, kind)
