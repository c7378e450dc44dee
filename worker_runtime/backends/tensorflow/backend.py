"""Loads TensorFlow models and runs batches on them."""

import contextlib
import gc
import logging
from collections.abc import Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from worker_runtime.backends.base import Array, Instance, LoadSpec
from worker_runtime.backends.capabilities import ALL_TYPES, Capabilities
from worker_runtime.backends.tensorflow.files import Function, read_function
from worker_runtime.backends.values import as_integer
from worker_runtime.errors import BackendFailed, Unavailable
from worker_runtime.types.graph import ModelGraph

logger = logging.getLogger(__name__)


class TensorflowInstance:
    """All instances on one device share the model: its functions may run at the same time."""

    def __init__(self, function: Function, device: str) -> None:
        self._function: Function | None = function
        self._device = device

    def execute(self, inputs: dict[str, Array], outputs: Sequence[str]) -> list[Array]:
        function = self._function
        if function is None:
            raise Unavailable("the model was unloaded")
        try:
            with tf.device(self._device):
                given = {
                    name: tf.constant(array, function.inputs[name].dtype)
                    for name, array in inputs.items()
                }
                found = function.call(**given)
                return [_array(found[name]) for name in outputs]
        except tf.errors.ResourceExhaustedError as error:
            raise BackendFailed(f"TensorFlow: out of memory: {error.message}") from error
        except tf.errors.OpError as error:
            raise BackendFailed(f"TensorFlow: {error.message}") from error

    def close(self) -> None:
        self._function = None


class TensorflowModel:
    """``inline`` is None: TensorFlow works in threads of its own."""

    inline: Instance | None = None

    def __init__(self, graph: ModelGraph | None, instances: Sequence[TensorflowInstance]) -> None:
        self.graph = graph
        self.instances = instances

    def close(self) -> None:
        for instance in self.instances:
            instance.close()
        self.instances = ()
        gc.collect()  # why: functions and their graphs are full of cycles


class TensorflowBackend:
    capabilities = Capabilities(datatypes=ALL_TYPES - {"BF16"})

    def load(self, spec: LoadSpec) -> TensorflowModel:
        """Raises LoadFailed or ConfigInvalid."""
        _set_threads(spec)
        for gpu in tf.config.list_physical_devices("GPU"):
            with contextlib.suppress(RuntimeError):  # it is in use already
                tf.config.experimental.set_memory_growth(gpu, True)
        functions: dict[str, Function] = {}
        instances = []
        for place in spec.placements:
            device = "/CPU:0" if place.gpu is None else f"/GPU:{place.gpu}"
            if device not in functions:
                with tf.device(device):
                    functions[device] = read_function(spec)
            instances.append(TensorflowInstance(functions[device], device))
        return TensorflowModel(next(iter(functions.values())).graph, instances)


def _set_threads(spec: LoadSpec) -> None:
    """TensorFlow has one pool for the whole process, so the first model decides."""
    for key, change in (
        ("TF_NUM_INTRA_THREADS", tf.config.threading.set_intra_op_parallelism_threads),
        ("TF_NUM_INTER_THREADS", tf.config.threading.set_inter_op_parallelism_threads),
    ):
        if key in spec.parameters:
            try:
                change(max(0, as_integer(spec.parameters[key])))
            except RuntimeError:
                logger.warning(
                    "model '%s': '%s' comes too late, TensorFlow has its threads already",
                    spec.name,
                    key,
                )


def _array(tensor: Any) -> Array:
    found = tensor.numpy()
    if isinstance(found, bytes):  # a scalar text
        scalar: Array = np.array(found, dtype=object)
        return scalar
    return np.asarray(found)
