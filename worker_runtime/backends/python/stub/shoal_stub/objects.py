"""Requests, responses and errors, with the methods that model authors know from Triton."""

import json
from typing import TYPE_CHECKING, Any, Iterable, Optional, Union

from .tensors import Tensor

if TYPE_CHECKING:
    from .session import Session

UNKNOWN, INTERNAL, NOT_FOUND, INVALID_ARG, UNAVAILABLE = 0, 1, 2, 3, 4
UNSUPPORTED, ALREADY_EXISTS, CANCELLED = 5, 6, 7

SEQUENCE_START, SEQUENCE_END = 1, 2
RESPONSE_FINAL = 1
RELEASE_ALL, RELEASE_RESCHEDULE = 1, 2


class TritonModelException(Exception):
    """What a model raises to fail the requests that it executes."""


class TritonError:
    """An error as part of a response."""

    UNKNOWN = UNKNOWN
    INTERNAL = INTERNAL
    NOT_FOUND = NOT_FOUND
    INVALID_ARG = INVALID_ARG
    UNAVAILABLE = UNAVAILABLE
    UNSUPPORTED = UNSUPPORTED
    ALREADY_EXISTS = ALREADY_EXISTS
    CANCELLED = CANCELLED

    def __init__(self, message: str, code: int = INTERNAL) -> None:
        self._message = str(message)
        self._code = int(code)

    def message(self) -> str:
        return self._message

    def code(self) -> int:
        return self._code

    def __str__(self) -> str:
        return self._message


class PreferredMemory:
    """Where a BLS caller would like the outputs; results are in host memory here."""

    def __init__(self, preferred_memory_type: int, preferred_device_id: int = 0) -> None:
        self.preferred_memory_type = preferred_memory_type
        self.preferred_device_id = preferred_device_id


class InferenceTrace:
    """The trace that a request belongs to."""

    def __init__(self, context: "Optional[str]" = None) -> None:
        self._context = context

    def get_context(self) -> "Optional[str]":
        """The OpenTelemetry context as JSON, None when the request is not traced so."""
        return self._context


class InferenceResponse:
    """The answer to one request. With an ``error`` the tensors are ignored."""

    def __init__(
        self,
        output_tensors: "Optional[Iterable[Tensor]]" = None,
        error: "Union[TritonError, str, None]" = None,
        parameters: "Optional[dict[str, Any]]" = None,
    ) -> None:
        self._tensors = list(output_tensors or ())
        if any(not isinstance(tensor, Tensor) for tensor in self._tensors):
            raise TritonModelException("An element of the output_tensors list is not a Tensor")
        self._error = (
            error if error is None or isinstance(error, TritonError) else TritonError(error)
        )
        self._parameters = _checked_parameters(parameters)

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

    def described(self, session: "Session") -> "dict[str, Any]":
        if self._error is not None:
            return {"error": [self._error.code(), self._error.message()]}
        tensors = [tensor.write(session.channel.arena) for tensor in self._tensors]
        found: dict[str, Any] = {"tensors": tensors}
        if self._parameters:
            found["parameters"] = self._parameters
        return found

    @staticmethod
    def read(data: "dict[str, Any]", session: "Session") -> "InferenceResponse":
        error = data.get("error")
        if error is not None:
            return InferenceResponse(error=TritonError(error[1], error[0]))
        tensors = [Tensor.read(item, session.channel.window) for item in data["tensors"]]
        return InferenceResponse(tensors, parameters=data.get("parameters"))


def _checked_parameters(parameters: "Optional[dict[str, Any]]") -> "dict[str, Any]":
    for key, value in (parameters or {}).items():
        if not isinstance(key, str):
            raise TypeError(f"Expect parameters keys to have type str, found type {type(key)!r}")
        if not isinstance(value, (bool, int, str)):
            raise TypeError(
                f"Expect parameters values to have type bool/int/str, found type {type(value)!r}"
            )
    return dict(parameters or {})


class InferenceResponseSender:
    """Answers one request, any number of times when the model is decoupled."""

    def __init__(self, request: "InferenceRequest") -> None:
        self._request = request
        self._closed = False
        self._sent = 0

    def send(self, response: "Optional[InferenceResponse]" = None, flags: int = 0) -> None:
        if flags not in (0, RESPONSE_FINAL):
            raise TritonModelException("Unable to send response. Unsupported flag provided.")
        if self._closed:
            raise TritonModelException("Unable to send response. Response sender has been closed.")
        if response is None and not flags:
            raise TritonModelException(
                "Inference Response object must be provided when the response flags is set to zero."
            )
        session = self._request._session
        if not session.decoupled and response is not None and self._sent:
            raise TritonModelException(
                "Unable to send response. Non-decoupled model cannot send more than one response."
            )
        self._sent += response is not None
        if flags:
            self._closed = True
            self._request._answered = True
        session.respond(self._request, response, final=bool(flags))

    def is_cancelled(self) -> bool:
        return self._request.is_cancelled()


class InferenceRequest:
    """A request: one that came in, or one that a model makes to call another (BLS)."""

    def __init__(
        self,
        request_id: str = "",
        correlation_id: "Union[int, str]" = 0,
        inputs: "Optional[Iterable[Tensor]]" = None,
        requested_output_names: "Optional[Iterable[str]]" = None,
        model_name: str = "",
        model_version: int = -1,
        flags: int = 0,
        timeout: int = 0,
        preferred_memory: "Optional[PreferredMemory]" = None,
        trace: "Optional[InferenceTrace]" = None,
        parameters: "Optional[dict[str, Any]]" = None,
    ) -> None:
        self._inputs = list(inputs or ())
        if any(not isinstance(item, Tensor) for item in self._inputs):
            raise TritonModelException("An element of the inputs list is not a Tensor")
        self._outputs = list(requested_output_names or ())
        if not all(self._outputs) or not all(isinstance(n, str) for n in self._outputs):
            raise TritonModelException(
                "An element of the requested_output_names list is not a name"
            )
        self._id = request_id
        self._correlation_id = correlation_id
        self._model_name = model_name
        self._model_version = int(model_version)
        self._flags = int(flags)
        self._timeout = int(timeout)
        self._trace = trace or InferenceTrace()
        self._parameters = json.dumps(_checked_parameters(parameters))
        self._preferred_memory = preferred_memory
        self._release_flags = RELEASE_ALL
        self._number = -1
        self._answered = False
        self._sender: Optional[InferenceResponseSender] = None
        self._session: Session = _session()

    def inputs(self) -> "list[Tensor]":
        return self._inputs

    def request_id(self) -> str:
        return self._id

    def correlation_id(self) -> "Union[int, str]":
        return self._correlation_id

    def requested_output_names(self) -> "list[str]":
        return self._outputs

    def model_name(self) -> str:
        return self._model_name

    def flags(self) -> int:
        return self._flags

    def set_flags(self, flags: int) -> None:
        self._flags = int(flags)

    def timeout(self) -> int:
        """Microseconds; 0 for none."""
        return self._timeout

    def parameters(self) -> str:
        """As JSON text."""
        return self._parameters

    def trace(self) -> InferenceTrace:
        return self._trace

    def preferred_memory(self) -> "Optional[PreferredMemory]":
        return self._preferred_memory

    def get_response_sender(self) -> InferenceResponseSender:
        if self._sender is None:
            self._sender = InferenceResponseSender(self)
        return self._sender

    def is_cancelled(self) -> bool:
        return self._session.is_cancelled(self._number)

    def set_release_flags(self, flags: int) -> None:
        if flags not in (RELEASE_ALL, RELEASE_RESCHEDULE):
            raise TritonModelException("Unable to set release flags. Unsupported flag provided.")
        self._release_flags = flags

    # --- BLS ---------------------------------------------------------------------------------

    def exec(self, decoupled: bool = False) -> Any:
        """Call the model and wait: a response, or with ``decoupled`` an iterator of them."""
        return self._session.call(self, decoupled=decoupled)

    def async_exec(self, decoupled: bool = False) -> Any:
        """The same as an awaitable."""
        return self._session.call_async(self, decoupled=decoupled)

    # --- between the processes ---------------------------------------------------------------

    def described(self) -> "dict[str, Any]":
        arena = self._session.channel.arena
        return {
            "id": self._id,
            "corr": self._correlation_id,
            "flags": self._flags,
            "timeout": self._timeout,
            "model": self._model_name,
            "version": self._model_version,
            "outputs": self._outputs,
            "parameters": self._parameters,
            "inputs": [tensor.write(arena) for tensor in self._inputs],
        }

    @staticmethod
    def read(data: "dict[str, Any]", session: "Session") -> "InferenceRequest":
        made = InferenceRequest.__new__(InferenceRequest)
        window = session.channel.window
        made._session = session
        made._number = data["n"]
        made._id = data["id"]
        made._inputs = [Tensor.read(item, window) for item in data["inputs"]]
        made._outputs = data["outputs"]
        made._correlation_id = data.get("corr", 0)
        made._flags = data.get("flags", 0)
        made._timeout = data.get("timeout", 0)
        made._parameters = data.get("parameters", "{}")
        made._trace = InferenceTrace(data.get("trace"))
        made._model_name = session.model_name
        made._model_version = session.model_version
        made._preferred_memory = None
        made._release_flags = RELEASE_ALL
        made._answered = False
        made._sender = None
        return made


_CURRENT: "list[Session]" = []


def use_session(session: "Session") -> None:
    """Requests that models make belong to the process's one session."""
    _CURRENT[:] = [session]


def _session() -> "Session":
    if not _CURRENT:
        raise TritonModelException("requests can only be made inside a running model")
    return _CURRENT[0]
