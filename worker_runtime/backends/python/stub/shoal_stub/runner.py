"""The main thread of a model's process: import, initialize, execute, finalize."""

import asyncio
import importlib
import inspect
import json
import os
import sys
import traceback
from typing import Any, Optional

from . import debugger, objects, service
from .channel import Channel, Closed
from .faults import Misuse, described, missing_execute
from .model_config import ModelConfig
from .objects import RELEASE_RESCHEDULE, SENT_TWICE, InferenceRequest
from .regions import Regions
from .responses import InferenceResponse
from .session import Session
from .tensors import TritonModelException
from .values import TritonError

_READY_TIMEOUT_S = 5.0
_NOT_AGAIN = "Requests of a decoupled model with 'async def execute' cannot be rescheduled."


class Runner:
    """Works off the messages that the session's receiver puts aside."""

    def __init__(self, channel: Channel) -> None:
        self._session = Session(channel)
        self._channel = channel
        self._model: Any = None
        self._execute: Any = None
        self._is_async = False
        self._tasks: set[asyncio.Task[Any]] = set()
        self._regions: Optional[Regions] = None  # of an instance on a GPU
        self._read = InferenceRequest.read
        objects.use_session(self._session)
        service.use_session(self._session)

    def run(self) -> int:
        self._session.start()
        self._channel.send({"op": "hello"})
        while True:
            message = self._session.next_work()
            if message is None:
                return 0
            try:
                if not self._handle(message):
                    return 0
            except Closed:
                return 0

    def _handle(self, message: "dict[str, Any]") -> bool:
        kind = message["op"]
        if kind == "execute":
            self._run_batch(message)
        elif kind == "initialize":
            self._initialize(message)
        elif kind == "auto_complete":
            self._auto_complete(message)
        elif kind == "is_ready":
            self._is_ready(message)
        elif kind == "region_leaves" and self._regions is not None:
            self._regions.leaves(message["region"])
        elif kind == "finalize":
            self._finalize()
            return False
        return True

    # --- life --------------------------------------------------------------------------------

    def _import(self, message: "dict[str, Any]") -> Any:
        """The model's class; sibling imports work by name and relatively, as in Triton."""
        path, file, shared = message["path"], message["file"], message["shared"]
        sys.path[:0] = [*([shared] if shared else []), path, os.path.dirname(path)]
        name = file[:-3] if file.endswith(".py") else file
        if not shared:
            name = f"{os.path.basename(path)}.{name}"
        package = importlib.import_module(name)
        if not hasattr(package, "TritonPythonModel"):
            raise Misuse(f"AttributeError: module '{name}' has no attribute 'TritonPythonModel'")
        return package.TritonPythonModel

    def _auto_complete(self, message: "dict[str, Any]") -> None:
        try:
            found = self._import(message)
            complete = getattr(found, "auto_complete_config", None)
            config: Optional[dict[str, Any]] = None
            if complete is not None:
                result = complete(ModelConfig(json.loads(message["config"])))
                if not isinstance(result, ModelConfig):
                    raise Misuse(
                        f"auto_complete_config function in model '{message['model']}' must return "
                        "a valid pb.ModelConfig object."
                    )
                config = result.as_dict()
        except Exception as error:
            self._channel.send({"op": "failed", "message": described(error)})
        else:
            self._channel.send({"op": "completed", "config": config})

    def _initialize(self, message: "dict[str, Any]") -> None:
        session = self._session
        args = message["args"]
        session.model_name = args["model_name"]
        session.instance_name = args["model_instance_name"]
        session.model_version = int(args["model_version"])
        session.decoupled = message["decoupled"]
        if message["on_gpu"]:
            self._regions = Regions(self._channel)
            self._read = self._regions.read
        try:
            if message["debug_port"]:
                debugger.listen(message["debug_port"], session.instance_name)
            self._model = self._import(message)()
            file = os.path.join(message["shared"] or message["path"], message["file"])
            self._execute = getattr(self._model, "execute", missing_execute(file))
            self._is_async = inspect.iscoroutinefunction(self._execute)
            if hasattr(self._model, "initialize"):
                self._model.initialize(args)
        except Exception as error:
            self._channel.send({"op": "failed", "message": described(error)})
            return
        session.allow_calls()
        if self._is_async:
            session.loop = asyncio.new_event_loop()
        has_ready = hasattr(self._model, "is_ready")
        self._channel.send({"op": "initialized", "is_ready": has_ready})
        if session.loop is not None:
            session.loop.run_until_complete(self._serve_async())

    def _finalize(self) -> None:
        if self._model is not None and hasattr(self._model, "finalize"):
            try:
                self._model.finalize()
            except Exception:
                traceback.print_exc()
        self._model = self._execute = None
        self._channel.send({"op": "finalized"})

    def _is_ready(self, message: "dict[str, Any]") -> None:
        asyncio.run(self._send_ready(message))

    async def _send_ready(self, message: "dict[str, Any]") -> None:
        try:
            ready = self._model.is_ready()
            if inspect.isawaitable(ready):
                ready = await asyncio.wait_for(ready, _READY_TIMEOUT_S)
            if not isinstance(ready, bool):
                raise TritonModelException("is_ready() must return a boolean value")
            answer = {"ready": ready, "error": ""}
        except Exception as error:
            answer = {"ready": False, "error": described(error)}
        self._channel.send({"op": "is_ready", "n": message["n"], **answer})

    # --- execution ---------------------------------------------------------------------------

    def _run_batch(self, message: "dict[str, Any]") -> None:
        session = self._session
        requests = [self._read(item, session) for item in message["requests"]]
        result: Any = None
        error = ""
        try:
            result = self._execute(requests)
            answers = self._answers(requests, result)
        except BaseException as failure:  # sys.exit() in a model fails its batch, no more
            answers, error = [], described(failure)
        data = self._outcome(requests, answers, error)
        # why before sending: memory that only these names hold is free for the server again.
        del requests, result
        message.clear()
        self._channel.send(data)

    def _outcome(
        self, requests: "list[InferenceRequest]", answers: "list[Any]", error: str
    ) -> "dict[str, Any]":
        """The message that ends a batch."""
        data: dict[str, Any] = {"op": "done"}
        if error:
            data["error"] = error
            with self._session.sending:
                for request in requests:
                    request._closed = True
        elif len(answers) < len(requests):
            again = [r._number for r in requests if r._release_flags == RELEASE_RESCHEDULE]
            if again:
                data["again"] = again
            if not self._session.decoupled:
                data["late"] = [r._number for r in requests if _is_late(r)]
        if answers:
            data["answers"] = answers
        return data

    def _answers(self, requests: "list[InferenceRequest]", result: Any) -> "list[Any]":
        """Numbers and answers that came back from execute. Raises for what no model may return."""
        session = self._session
        if session.decoupled:
            if result is not None:
                raise Misuse(
                    "Python model '"
                    + session.instance_name
                    + "' is using the decoupled mode and the "
                    "execute function must return None."
                )
            return []
        if result is None and all(_answers_itself(request) for request in requests):
            return []
        if not isinstance(result, list):
            raise Misuse(f"Expected a list in the execute return, found type '{type(result)}'.")
        if len(result) != len(requests):
            raise Misuse(
                "Number of InferenceResponse objects do not match the number of "
                f"InferenceRequest objects. InferenceRequest(s) size is:{len(requests)}, and "
                f"InferenceResponse(s) size is:{len(result)}\n"
            )
        with session.sending:
            returned = self._checked(requests, result)
        return [
            [request._number, response.described(session, request._windows)]
            for request, response in returned
        ]

    def _checked(
        self, requests: "list[InferenceRequest]", result: "list[Any]"
    ) -> "list[tuple[InferenceRequest, InferenceResponse]]":
        """Requests with what was returned for them, which are answered now."""
        found = []
        for request, response in zip(requests, result):
            if response is not None and request._release_flags == RELEASE_RESCHEDULE:
                raise Misuse(
                    "Expected a None object in the execute function return list for reschduled "
                    f"request, found type '{type(response)}'."
                )
            if response is None:
                if not _answers_itself(request):
                    raise Misuse(
                        "Expected an 'InferenceResponse' object in the execute function return "
                        "list, found type 'NoneType'."
                    )
                continue
            if not isinstance(response, InferenceResponse):
                raise Misuse(
                    "Expected an 'InferenceResponse' object in the execute function return list, "
                    f"found type '{type(response)}'."
                )
            if request._sent:
                raise Misuse(SENT_TWICE)
            request._sent = request._closed = True
            found.append((request, response))
        return found

    # --- coroutines --------------------------------------------------------------------------

    async def _serve_async(self) -> None:
        """Batches of a model with ``async def execute``: decoupled ones may overlap."""
        loop = asyncio.get_running_loop()
        while True:
            message = await loop.run_in_executor(None, self._session.next_work)
            if message is None:
                return
            if message["op"] == "is_ready":
                await self._send_ready(message)
                continue
            if message["op"] != "execute":
                if not self._handle(message):
                    self._session.work.put(None)
                    return
                continue
            task = loop.create_task(self._run_async(message))
            if self._session.decoupled:
                self._tasks.add(task)
                task.add_done_callback(self._tasks.discard)
                self._channel.send({"op": "done"})
            else:
                await task

    async def _run_async(self, message: "dict[str, Any]") -> None:
        session = self._session
        requests = [self._read(item, session) for item in message["requests"]]
        result: Any = None
        error = ""
        try:
            result = await self._execute(requests)
            answers = self._answers(requests, result)
        except BaseException as failure:  # sys.exit() in a model fails its batch, no more
            answers, error = [], described(failure)
        if session.decoupled:
            if error:
                name = session.instance_name
                error = f"Failed to process the request(s) for model '{name}', message: {error}"
            for request in requests:
                again = request._release_flags == RELEASE_RESCHEDULE
                text = error or (_NOT_AGAIN if again else "")
                if text and not request._closed:
                    request._closed = True
                    request.answer(InferenceResponse(error=TritonError(text)), final=True)
            return
        data = self._outcome(requests, answers, error)
        del requests, result
        message.clear()
        self._channel.send(data)


def _answers_itself(request: InferenceRequest) -> bool:
    """It comes again, or its sender answers it, perhaps from another thread after execute."""
    return request._release_flags == RELEASE_RESCHEDULE or request._has_sender


def _is_late(request: InferenceRequest) -> bool:
    """Its sender has yet to answer it."""
    return (
        request._has_sender and not request._sent and request._release_flags != RELEASE_RESCHEDULE
    )
