"""One scoring script: imported, initialised, and asked with what its ``run`` takes."""

import contextlib
import faulthandler
import importlib
import importlib.util
import inspect
import json
import os
import signal
import time
from collections.abc import Iterator, Sequence
from types import FrameType
from typing import Any, Callable, Optional

from .. import debugger
from ..faults import Misuse
from . import swagger
from .batching import is_batched
from .http import AMLRequest, AMLResponse, Headers, Refused, is_raw

_HEADERS = "request_headers"
# How long the route waits for this request, which gateways of Envoy tell.
_EXPECTED_MS = "x-envoy-expected-rq-timeout-ms"
_LONGEST_NUMBER = 9
_GRACE_S = 2.0  # for code that no signal interrupts
_POSITIONAL = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)


class ScoringTimeout(TimeoutError):
    """``run`` took longer than it may."""


class Script:
    """``timeout_ms`` bounds each ``run``, as does what the gateway waits; 0 is no bound.

    ``module`` has the functions where the file at ``path`` is no script.
    """

    def __init__(self, path: str, timeout_ms: int, module: Any = None) -> None:
        self._path = path
        self._timeout_ms = timeout_ms
        self._module = module or _imported(path)
        self._run: Callable[..., Any] = self._function("run")
        self._init: Callable[..., Any] = self._function("init")
        self._takes_headers, self._parameters = self._parameters_of(self._run)
        self._raw = is_raw(self._run) or is_raw(inspect.unwrap(self._run))
        self._schema = _is_schema_decorated(self._run)
        if self._raw and self._schema:
            raise Misuse(f"{path}: run() has both @rawhttp and @input_schema")
        self.batched = is_batched(self._run) or is_batched(inspect.unwrap(self._run))
        if self.batched and (self._raw or self._schema):
            other = "@rawhttp" if self._raw else "@input_schema"
            raise Misuse(f"{path}: run() has both @batched and {other}")

    def init(self) -> None:
        self._init()

    def answer(self, request: AMLRequest) -> Any:
        """The response: an ``AMLResponse``, or another object with Flask's attributes.

        Raises Refused for a request that ``run`` is not asked about, ScoringTimeout, Misuse for an
        answer that cannot be sent, and whatever ``run`` raises.
        """
        if request.path == swagger.PATH:
            told = swagger.document(request, self._run, os.path.dirname(self._path))
            answer = AMLResponse(told, json_str=not isinstance(told, str))
            answer.content_type = "application/json"
            return answer
        if not self._raw and request.method == "OPTIONS":
            return AMLResponse("")
        arguments = self._arguments(request)
        if self._takes_headers:
            arguments[_HEADERS] = _flasks(request.headers)
        found, taken_ms = self._timed(arguments, self._bound_ms(request))
        return self._response(found, taken_ms)

    def answer_together(self, requests: "Sequence[AMLRequest]") -> "list[Any]":
        """For each request the response, or the exception that it has failed with; ``run`` is asked
        once, with those that are for it."""
        answers: list[Any] = [None] * len(requests)
        data: dict[int, Any] = {}
        for place, request in enumerate(requests):
            try:
                if request.path == swagger.PATH or request.method == "OPTIONS":
                    answers[place] = self.answer(request)
                else:
                    (data[place],) = self._arguments(request).values()
            except Exception as error:  # its own: the others are asked
                answers[place] = error
        if not data:
            return answers
        arguments: dict[str, Any] = {self._parameters[0].name: list(data.values())}
        if self._takes_headers:
            arguments[_HEADERS] = [_flasks(requests[place].headers) for place in data]
        bounds = [self._bound_ms(requests[place]) for place in data]
        try:
            # why the longest: who waits for less must not take the answers of others
            found, taken_ms = self._timed(arguments, 0 if 0 in bounds else max(bounds))
            self._check_answers(found, len(data))
        except Exception as error:  # of the script: all that it was asked have failed
            found, taken_ms = [error] * len(data), 0.0
        for place, one in zip(data, found):
            answers[place] = self._answer_of(one, taken_ms)
        return answers

    def _answer_of(self, found: Any, taken_ms: float) -> Any:
        if isinstance(found, Exception):
            return found
        try:
            return self._response(found, taken_ms)
        except Exception as error:  # of an answer that is none: the others are
            return error

    def _check_answers(self, found: Any, count: int) -> None:
        """Raises Misuse unless there is one for each request."""
        told = f"{len(found)} answers" if isinstance(found, (list, tuple)) else type(found).__name__
        if told != f"{count} answers":
            raise Misuse(
                f"{self._place('run')}: run() returned {told} for {count} requests: with @batched "
                "it returns a list of as many"
            )

    def _timed(self, arguments: "dict[str, Any]", bound_ms: int) -> "tuple[Any, float]":
        began = time.perf_counter()
        with _bounded(bound_ms):
            found = self._run(**arguments)
        return found, (time.perf_counter() - began) * 1e3

    def _response(self, found: Any, taken_ms: float) -> Any:
        if not (hasattr(found, "status_code") and hasattr(found, "get_data")):
            found = self._as_json(found)
        found.headers["x-ms-run-fn-exec-ms"] = f"{taken_ms:.3f}"
        return found

    def bounded(self, work: "Callable[[], Any]") -> Any:
        """What comes of ``work``, which may take as long as ``run``. Raises ScoringTimeout."""
        with _bounded(self._timeout_ms):
            return work()

    def _bound_ms(self, request: AMLRequest) -> int:
        told = request.headers.get(_EXPECTED_MS, "")
        known = told.isascii() and told.isdecimal() and len(told) <= _LONGEST_NUMBER
        bounds = [self._timeout_ms, int(told) if known else 0]
        return min((bound for bound in bounds if bound), default=0)

    def _as_json(self, found: Any) -> AMLResponse:
        try:
            return AMLResponse(found, json_str=True)
        except (TypeError, ValueError, RecursionError) as error:
            raise Misuse(
                f"{self._place('run')}: run() returned {type(found).__name__}, which is no JSON: "
                f"{error}. Return lists, mappings, numbers and texts (array.tolist()), or an "
                "AMLResponse."
            ) from None

    # --- what run takes ----------------------------------------------------------------------

    def _arguments(self, request: AMLRequest) -> "dict[str, Any]":
        first = self._parameters[0].name
        if self._raw:
            return {first: request}
        if request.method == "GET":
            given = _query(request)
            return self._named(given) if self._schema else {first: json.dumps(given)}
        if request.method != "POST":
            raise Refused(405, "Method not allowed")
        if self._schema:
            return self._named(request.get_json(force=True))
        try:
            return {first: request.data.decode("utf-8")}
        except UnicodeDecodeError as error:
            raise Refused(400, f"The body is no UTF-8 text: {error}") from None

    def _named(self, given: Any) -> "dict[str, Any]":
        """The members of a JSON object by the names of the parameters. Raises Refused."""
        names = [item.name for item in self._parameters]
        if not isinstance(given, dict):
            raise Refused(400, f"Expected a JSON object with {', '.join(names)}")
        empty = inspect.Parameter.empty
        needed = [item.name for item in self._parameters if item.default is empty]
        missing = [name for name in needed if name not in given]
        unknown = [name for name in given if name not in names]
        if missing or unknown:
            what = [f"{name} is missing" for name in missing]
            what += [f"{name} is not a parameter of run()" for name in unknown]
            raise Refused(400, f"{'; '.join(what)}. Expected {', '.join(names)}.")
        return given

    def _parameters_of(
        self, function: "Callable[..., Any]"
    ) -> "tuple[bool, list[inspect.Parameter]]":
        """Whether it wants the headers, and its other parameters. Raises Misuse."""
        found = list(inspect.signature(function).parameters.values())
        if any(item.kind not in _POSITIONAL for item in found):
            raise Misuse(
                f"{self._place('run')}: run() cannot have positional-only parameters, *args or "
                "**kwargs"
            )
        others = [item for item in found if item.name != _HEADERS]
        if not others:
            raise Misuse(f"{self._place('run')}: run() has no parameter for the request's data")
        return len(others) < len(found), others

    def _function(self, name: str) -> "Callable[..., Any]":
        found = getattr(self._module, name, None)
        if not callable(found):
            raise Misuse(f"The scoring script {self._path} has no {name}() function")
        return found  # type: ignore[no-any-return]  # what callable() has told

    def _place(self, name: str) -> str:
        code = getattr(inspect.unwrap(getattr(self._module, name)), "__code__", None)
        return f"{self._path}({code.co_firstlineno})" if code is not None else self._path


def _flasks(headers: Headers) -> "dict[str, str]":
    """By the names that Flask's server gives them, however they were written."""
    return {name.title(): value for name, value in headers.items()}


def _imported(path: str) -> Any:
    """The module of the script, by its own name. Raises what the import raises."""
    name = os.path.splitext(os.path.basename(path))[0]
    spec = importlib.util.spec_from_file_location(f"scoring_script_{name}", path)
    if spec is None or spec.loader is None:
        raise Misuse(f"The scoring script {path} is no Python file")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _is_schema_decorated(function: Any) -> bool:
    """As the package says where the model's environment has it, or what stands for it."""
    schema_util = importlib.import_module("inference_schema.schema_util")
    return bool(schema_util.is_schema_decorated(function))


def _query(request: AMLRequest) -> "dict[str, Any]":
    """Each value as JSON if it is some, else as text; a name that comes twice is a list."""
    found = {}
    for name in request.args:
        values = [_read(value) for value in request.args.getlist(name)]
        found[name] = values[0] if len(values) == 1 else values
    return found


def _read(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


@contextlib.contextmanager
def _bounded(timeout_ms: int) -> "Iterator[None]":
    """Raise ScoringTimeout at the line that runs when the time is over. In the main thread.

    Where nothing comes of that (in C, or when somebody catches it), print where it is and end the
    process: the server starts another.
    """
    if not timeout_ms or debugger.is_attached():
        yield
        return

    def over(_number: int, _frame: "Optional[FrameType]") -> None:
        raise ScoringTimeout(f"run() took longer than {timeout_ms} ms")

    before = signal.signal(signal.SIGALRM, over)
    faulthandler.dump_traceback_later(timeout_ms / 1000 + _GRACE_S, exit=True)
    signal.setitimer(signal.ITIMER_REAL, timeout_ms / 1000)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        faulthandler.cancel_dump_traceback_later()
        signal.signal(signal.SIGALRM, before)
