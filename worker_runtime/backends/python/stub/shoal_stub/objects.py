"""Requests, responses and errors, with the methods that model authors know from Triton."""

import json
from typing import TYPE_CHECKING, Any, Iterable, Optional, Union

from .tensors import Tensor, TritonModelException, incompatible
from .values import InferenceTrace, PreferredMemory, TritonError

if TYPE_CHECKING:
    from .session import Session

SEQUENCE_START, SEQUENCE_END = 1, 2
RESPONSE_FINAL = 1
RELEASE_ALL, RELEASE_RESCHEDULE = 1, 2


_NO_TRACE = InferenceTrace()


class InferenceResponse:
    """The answer to one request. With an ``error`` the tensors are ignored."""

    def __init__(
        self,
        output_tensors: "Iterable[Tensor]" = (),
        error: "Optional[TritonError]" = None,
        parameters: "Optional[dict[str, Any]]" = None,
    ) -> None:
        self._tensors = _tensors(
            "output_tensors",
            output_tensors,
            "Output tensor for inference response should not be empty.",
        )
        if error is not None and not isinstance(error, TritonError):
            raise incompatible(f"error is no TritonError but {type(error).__name__}")
        self._error = error
        self._parameters = _checked_parameters(parameters) if parameters is not None else {}

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


def _tensors(name: str, items: Any, empty: str) -> "list[Tensor]":
    """``items`` as a list of tensors; ``empty`` is what is said of one that is None."""
    if not isinstance(items, (list, tuple)):
        raise incompatible(f"{name} must be a list of Tensor, got {type(items).__name__}")
    for item in items:
        if item is None:
            raise TritonModelException(empty)
        if not isinstance(item, Tensor):
            raise incompatible(f"{name} must be a list of Tensor, found {type(item).__name__}")
    return list(items)


def _of(name: str, value: Any, *kinds: type) -> Any:
    if not isinstance(value, kinds):
        expected = " or ".join(kind.__name__ for kind in kinds)
        raise incompatible(f"{name} must be {expected}, got {type(value).__name__}")
    return value


def _checked_parameters(parameters: Any) -> "dict[str, Any]":
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


class InferenceResponseSender:
    """Answers one request, any number of times when the model is decoupled."""

    def __init__(self, request: "InferenceRequest") -> None:
        self._request = request
        self._closed = False
        self._sent = 0

    def send(self, response: "Optional[InferenceResponse]" = None, flags: int = 0) -> None:
        if response is not None and not isinstance(response, InferenceResponse):
            raise TypeError(
                "send(): incompatible function arguments: response must be an InferenceResponse, "
                f"got {type(response).__name__}"
            )
        if flags not in (0, RESPONSE_FINAL):
            raise TritonModelException("Unable to send response. Unsupported flag provided.")
        if response is None and not flags:
            raise TritonModelException(
                "Inference Response object must be provided when the response flags is set to zero."
            )
        session = self._request._session
        if self._request._number < 0:
            raise TritonModelException(
                "Unable to send response. Response sender has no reference to the decoupled state "
                "of the model."
            )
        if not session.decoupled and response is not None and self._sent:
            raise TritonModelException(
                "Unable to send response. Non-decoupled model cannot send more than one response."
            )
        if not session.decoupled and response is None and not self._sent:
            raise TritonModelException(
                "Unable to send response. Non-decoupled model cannot send complete final before "
                "sending a response."
            )
        if self._closed:
            raise TritonModelException("Unable to send response. Response sender has been closed.")
        self._sent += 1
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
        model_name: "Optional[str]" = None,
        model_version: int = -1,
        flags: int = 0,
        timeout: int = 0,
        preferred_memory: "Optional[PreferredMemory]" = None,
        trace: "Union[InferenceTrace, None]" = _NO_TRACE,
        parameters: "Optional[dict[str, Any]]" = None,
    ) -> None:
        self._id: str = _of("request_id", request_id, str)
        self._correlation_id: Union[int, str] = _of("correlation_id", correlation_id, int, str)
        self._model_name: str = _of("model_name", model_name, str)
        about = f"for request with id '{request_id}' and model name '{model_name}'"
        self._inputs = _tensors("inputs", inputs, f"Input tensor {about} should not be empty.")
        names = _of("requested_output_names", requested_output_names, list, tuple, set)
        self._outputs = {_of("an element of requested_output_names", name, str) for name in names}
        if "" in self._outputs:
            raise TritonModelException(f"Requested output name {about} should not be empty.")
        self._model_version: int = _of("model_version", model_version, int)
        self._flags: int = _of("flags", flags, int)
        self._timeout: int = _of("timeout", timeout, int)
        self._trace: InferenceTrace = _of("trace", trace, InferenceTrace)
        given = {} if parameters is None else parameters
        self._parameters = json.dumps(_checked_parameters(given))
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

    def requested_output_names(self) -> "set[str]":
        return self._outputs

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

    def get_response_sender(self) -> InferenceResponseSender:
        if self._sender is None:
            self._sender = InferenceResponseSender(self)
        return self._sender

    def is_cancelled(self) -> bool:
        return self._number >= 0 and self._session.is_cancelled(self._number)

    def set_release_flags(self, flags: int) -> None:
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
            "outputs": list(self._outputs),
            "parameters": self._parameters,
            "trace": self._trace._number,
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
        made._outputs = set(data["outputs"])
        made._correlation_id = data.get("corr", 0)
        made._flags = data.get("flags", 0)
        made._timeout = data.get("timeout", 0)
        made._parameters = data.get("parameters", "{}")
        made._trace = InferenceTrace(data.get("trace"), data["n"])
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
