"""Which executor a loaded model needs."""

import asyncio
from collections.abc import Callable

from worker_runtime.backends.base import LoadedModel
from worker_runtime.core.execution.answers import Answers
from worker_runtime.core.execution.executor import BatchExecutor, Executor
from worker_runtime.core.execution.on_device import DeviceExecutor, takes_parts
from worker_runtime.core.execution.ragged import RaggedExecutor
from worker_runtime.core.execution.requests import RequestExecutor
from worker_runtime.types.signature import BatchTensors, Signature


def executor_for(
    signature: Signature,
    loaded: LoadedModel,
    answers: Answers,
    loop: asyncio.AbstractEventLoop,
    idle: Callable[[], None],
    *,
    decoupled: bool,
    tensors: BatchTensors | None = None,
) -> BatchExecutor:
    """``tensors`` are those about the batch, for models that take whole batches.

    ``idle`` is called in the loop when the last decoupled request has sent its final answer. A
    decoupled model whose backend takes whole batches answers each request once.
    """
    if takes_requests(loaded):
        return RequestExecutor(signature, answers, loop, idle, decoupled=decoupled)
    if on_device(signature, loaded, tensors):
        return DeviceExecutor(signature, answers)
    return whole_batches(signature, answers, tensors)


def whole_batches(signature: Signature, answers: Answers, tensors: BatchTensors | None) -> Executor:
    """The executor of models that take a batch as one."""
    if tensors is not None or any(spec.ragged for spec in signature.inputs):
        return RaggedExecutor(signature, answers, tensors or BatchTensors())
    return Executor(signature, answers)


def on_device(signature: Signature, loaded: LoadedModel, tensors: BatchTensors | None) -> bool:
    """Inputs may reach its instances, and outputs leave them, without passing through the host."""
    ragged = tensors is not None or any(spec.ragged for spec in signature.inputs)
    return takes_parts(loaded) and not ragged


def takes_requests(loaded: LoadedModel) -> bool:
    """Its instances are of the `RequestInstance` kind."""
    return any(hasattr(instance, "execute_requests") for instance in loaded.instances)
