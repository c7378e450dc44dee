"""Answers, one or many, with the methods that model authors know from Triton."""

import asyncio
import json
from typing import Any, Iterable, Optional

from .memory import elsewhere
from .session import Awaited, Queued, Session
from .tensors import Tensor, TritonModelException, incompatible
from .values import TritonError


class InferenceResponse:
    """The answer to one request. With an ``error`` the tensors are ignored."""

    def __init__(
        self,
        output_tensors: "Iterable[Tensor]" = (),
        error: "Optional[TritonError]" = None,
        parameters: "Optional[dict[str, Any]]" = None,
    ) -> None:
        self._tensors = tensors_of(
            "output_tensors",
            output_tensors,
            "Output tensor for inference response should not be empty.",
        )
        if error is not None and not isinstance(error, TritonError):
            raise incompatible(f"error is no TritonError but {type(error).__name__}")
        self._error = error
        self._parameters = checked_parameters(parameters) if parameters is not None else {}

    def output_tensors(self) -> "list[Tensor]":
        return self._tensors

    def has_error(self) -> bool:
        return self._error is not None

    def error(self) -> "Optional[TritonError]":
        return self._error

    def parameters(self) -> str:
        """As JSON text."""
        return json.dumps(self._parameters)

    # --- between the processes ---------------------------------------------------------------

    def described(self, session: Session, windows: "Any" = None) -> "dict[str, Any]":
        """``windows``: where on a device outputs are wanted, by name."""
        if self._error is not None:
            return {"error": [self._error.code(), self._error.message()]}
        found: dict[str, Any] = {}
        if windows:
            self._put(session, windows, found)
        else:
            found["tensors"] = [tensor.write(session.channel.arena) for tensor in self._tensors]
        if self._parameters:
            found["parameters"] = self._parameters
        return found

    def _put(self, session: Session, windows: "dict[str, Any]", found: "dict[str, Any]") -> None:
        """Describe the tensors, of which some go to their windows at once."""
        found["tensors"], found["placed"] = tensors, names = [], []
        for tensor in self._tensors:
            window = windows.get(tensor._name)
            size = -1 if window is None else window.fill(tensor)
            if size < 0:
                tensors.append(tensor.write(session.channel.arena))
            else:
                tensors.append([tensor._name, tensor._datatype, tensor._shape, elsewhere(size)])
                names.append(tensor._name)

    @staticmethod
    def read(data: "dict[str, Any]") -> "InferenceResponse":
        error = data.get("error")
        if error is not None:
            return InferenceResponse(error=TritonError(error[1], error[0]))
        tensors = [Tensor.from_memory(*item) for item in data["tensors"]]
        return InferenceResponse(tensors, parameters=data.get("parameters"))


def tensors_of(name: str, items: Any, empty: str) -> "list[Tensor]":
    """``items`` as a list of tensors; ``empty`` is what is said of one that is None."""
    if not isinstance(items, (list, tuple)):
        raise incompatible(f"{name} must be a list of Tensor, got {type(items).__name__}")
    for item in items:
        if item is None:
            raise TritonModelException(empty)
        if not isinstance(item, Tensor):
            raise incompatible(f"{name} must be a list of Tensor, found {type(item).__name__}")
    return list(items)


def checked_parameters(parameters: Any) -> "dict[str, Any]":
    if not isinstance(parameters, dict):
        raise TritonModelException(f"Expect a dict of parameters, got {type(parameters)!r}")
    for key, value in parameters.items():
        if not isinstance(key, str):
            raise TritonModelException(
                f"Expect parameters keys to have type str, found type {type(key)!r}"
            )
        if not isinstance(value, (bool, int, str)):
            raise TritonModelException(
                f"Expect parameters values to have type bool/int/str, found type {type(value)!r}"
            )
    return dict(parameters)


class ResponseIterator:
    """The answers of a decoupled model as they come, for ``for`` and ``async for``."""

    def __init__(self, session: Session, number: int, call: Queued) -> None:
        self._session = session
        self._number = number
        self._call = call
        self._over = False

    def __iter__(self) -> "ResponseIterator":
        return self

    def __next__(self) -> InferenceResponse:
        if self._over:
            raise StopIteration("Iteration is done for the responses.")
        message = self._call.take()
        self._over = message["final"]
        return response_of(message)

    def __aiter__(self) -> "ResponseIterator":
        return self

    async def __anext__(self) -> InferenceResponse:
        if self._over:
            raise StopAsyncIteration("Iteration is done for the responses.")
        loop = asyncio.get_running_loop()
        message = await loop.run_in_executor(None, self._call.take)
        self._over = message["final"]
        return response_of(message)

    def cancel(self) -> None:
        """Stop caring about the rest."""
        self._session.cancel_call(self._number)


def response_of(message: "dict[str, Any]") -> InferenceResponse:
    data = message["response"]
    if data is None:
        return InferenceResponse()
    return InferenceResponse.read(data)


async def awaited(call: Awaited) -> InferenceResponse:
    return response_of(await call.take())


async def done(value: Any) -> Any:
    return value
