"""Requests and who answers them, with the methods that model authors know from Triton."""

import json
from typing import Any, Iterable, Optional, Union

from .responses import (
    InferenceResponse,
    ResponseIterator,
    awaited,
    checked_parameters,
    done,
    response_of,
    tensors_of,
)
from .session import Session
from .tensors import Tensor, TritonModelException, incompatible
from .values import InferenceTrace, PreferredMemory

SEQUENCE_START, SEQUENCE_END = 1, 2
RESPONSE_FINAL = 1
RELEASE_ALL, RELEASE_RESCHEDULE = 1, 2


_NO_TRACE = InferenceTrace()
SENT_TWICE = "Unable to send response. Non-decoupled model cannot send more than one response."


def _of(name: str, value: Any, *kinds: type) -> Any:
    if not isinstance(value, kinds):
        expected = " or ".join(kind.__name__ for kind in kinds)
        raise incompatible(f"{name} must be {expected}, got {type(value).__name__}")
    return value


class InferenceResponseSender:
    """Answers one request, any number of times when the model is decoupled."""

    def __init__(self, request: "InferenceRequest") -> None:
        self._request = request

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
        request, final = self._request, bool(flags)
        if request._number < 0:
            raise TritonModelException(
                "Unable to send response. Response sender has no reference to the decoupled state "
                "of the model."
            )
        ordinary = not request._session.decoupled
        with request._session.sending:
            if ordinary and response is None and not request._sent:
                raise TritonModelException(
                    "Unable to send response. Non-decoupled model cannot send complete final "
                    "before sending a response."
                )
            if ordinary and response is not None and request._sent:
                raise TritonModelException(SENT_TWICE)
            if request._closed:
                raise TritonModelException(
                    "Unable to send response. Response sender has been closed."
                )
            request._sent, request._closed = True, final
        if ordinary and response is None:
            return  # why: the one answer was the final one already
        request.answer(response, final=final or ordinary)

    def is_cancelled(self) -> bool:
        return self._request.is_cancelled()


class InferenceRequest:
    """A request: one that came in, or one that a model makes to call another (BLS)."""

    _windows: Any = None  # where on a device the client wants outputs, by name

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
        self._inputs = tensors_of("inputs", inputs, f"Input tensor {about} should not be empty.")
        names = _of("requested_output_names", requested_output_names, list, tuple, set)
        self._outputs = {_of("an element of requested_output_names", name, str) for name in names}
        if "" in self._outputs:
            raise TritonModelException(f"Requested output name {about} should not be empty.")
        self._model_version: int = _of("model_version", model_version, int)
        self._flags: int = _of("flags", flags, int)
        self._timeout: int = _of("timeout", timeout, int)
        self._trace: InferenceTrace = _of("trace", trace, InferenceTrace)
        given = {} if parameters is None else parameters
        self._parameters = json.dumps(checked_parameters(given))
        self._preferred_memory = preferred_memory
        self._release_flags = RELEASE_ALL
        self._number = -1
        self._sent = self._closed = False
        self._has_sender = False
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
        # why not kept: request and sender would hold one another, and what the request's tensors
        # take would stay taken until Python's collector comes by
        self._has_sender = True
        return InferenceResponseSender(self)

    def is_cancelled(self) -> bool:
        return self._number >= 0 and self._session.is_cancelled(self._number)

    def set_release_flags(self, flags: int) -> None:
        self._release_flags = flags

    # --- BLS ---------------------------------------------------------------------------------

    def exec(self, decoupled: bool = False) -> Any:
        """Call the model and wait: a response, or with ``decoupled`` an iterator of them."""
        session = self._session
        session.check_calls()
        number, call = session.call(self.described(), decoupled=decoupled)
        if decoupled:
            return ResponseIterator(session, number, call)
        return response_of(call.take())

    def async_exec(self, decoupled: bool = False) -> Any:
        """The same as an awaitable."""
        session = self._session
        session.check_calls()
        if decoupled:
            number, call = session.call(self.described(), decoupled=True)
            return done(ResponseIterator(session, number, call))
        return awaited(session.call_async(self.described()))

    # --- between the processes ---------------------------------------------------------------

    def answer(self, response: "Optional[InferenceResponse]", *, final: bool) -> None:
        session = self._session
        if session.decoupled:
            session.wait_for_room()
        data = response.described(session, self._windows) if response is not None else None
        session.respond(self._number, data, final=final)

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
    def read(data: "dict[str, Any]", session: Session) -> "InferenceRequest":
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
        made._sent = made._closed = False
        made._has_sender = False
        return made


_CURRENT: "list[Session]" = []


def use_session(session: Session) -> None:
    """Requests that models make belong to the process's one session."""
    _CURRENT[:] = [session]


def _session() -> Session:
    if not _CURRENT:
        raise TritonModelException("requests can only be made inside a running model")
    return _CURRENT[0]
