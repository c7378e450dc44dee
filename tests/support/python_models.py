"""Python models for tests: the code that users write, one string per model."""

from pathlib import Path

UTILS = "import numpy as np\nimport triton_python_backend_utils as pb_utils\n\n\n"


def add(
    root: Path,
    name: str,
    code: str,
    *,
    inputs: str = "INPUT0:FP32:-1",
    outputs: str = "OUTPUT0:FP32:-1",
    config: str = "",
    write_config: bool = True,
) -> Path:
    """Write a model; tensors as ``name:type:dims`` joined by blanks. Returns its folder."""
    folder = root / name
    (folder / "1").mkdir(parents=True)
    (folder / "1" / "model.py").write_text(UTILS + code)
    if write_config:
        text = 'backend: "python"\n' + _tensors("input", inputs) + _tensors("output", outputs)
        text += "instance_group { count: 1 kind: KIND_CPU }\n" + config
        (folder / "config.pbtxt").write_text(text)
    return folder


def _tensors(kind: str, items: str) -> str:
    lines = []
    for item in items.split():
        name, datatype, dims = item.split(":")
        lines.append(f'{kind} {{ name: "{name}" data_type: TYPE_{datatype} dims: [{dims}] }}\n')
    return "".join(lines)


ECHO = """
class TritonPythonModel:
    def execute(self, requests):
        answers = []
        for request in requests:
            tensors = [
                pb_utils.Tensor(t.name().replace("INPUT", "OUTPUT"), t.as_numpy())
                for t in request.inputs()
            ]
            answers.append(pb_utils.InferenceResponse(tensors))
        return answers
"""

# What a request looks like from inside, as texts.
ABOUT = """
import json
import helper
from . import beside


class TritonPythonModel:
    def initialize(self, args):
        self.args = args
        self.config = json.loads(args["model_config"])
        pb_utils.Logger.log_info("initialized " + args["model_name"])

    def execute(self, requests):
        answers = []
        for request in requests:
            facts = {
                "id": request.request_id(),
                "correlation": request.correlation_id(),
                "flags": request.flags(),
                "timeout": request.timeout(),
                "parameters": json.loads(request.parameters()),
                "outputs": sorted(request.requested_output_names()),
                "args": self.args,
                "decoupled": pb_utils.using_decoupled_model_transaction_policy(self.config),
                "output_type": str(
                    np.dtype(
                        pb_utils.triton_string_to_numpy(
                            pb_utils.get_output_config_by_name(self.config, "OUTPUT0")["data_type"]
                        )
                    )
                ),
                "batch": len(requests),
                "helper": helper.VALUE + beside.VALUE,
            }
            text = np.array([json.dumps(facts).encode()], dtype=object)
            answers.append(
                pb_utils.InferenceResponse(
                    [pb_utils.Tensor("OUTPUT0", text)], parameters={"a": 1, "b": "x", "c": True}
                )
            )
        return answers
"""

FAULTS = """
import os


class TritonPythonModel:
    def execute(self, requests):
        what = pb_utils.get_input_tensor_by_name(requests[0], "INPUT0").as_numpy()[0].decode()
        if what == "raise":
            raise ValueError("boom")
        if what == "die":
            print("last words of the model", flush=True)
            os._exit(3)
        if what == "none":
            return None
        if what == "few":
            return []
        if what == "wrong":
            return [5]
        if what.startswith("code:"):
            error = pb_utils.TritonError("told", int(what[5:]))
            return [pb_utils.InferenceResponse(error=error) for _ in requests]
        if what == "hang":
            import time
            time.sleep(600)
        if what == "pid":
            what = str(os.getpid())
        return [
            pb_utils.InferenceResponse(
                [pb_utils.Tensor("OUTPUT0", np.array([what.encode()], dtype=object))]
            )
            for _ in requests
        ]
"""

# INPUT0[0] answers, each with its number; INPUT0[1] ms between them.
COUNT = """
import threading
import time


class TritonPythonModel:
    def execute(self, requests):
        for request in requests:
            threading.Thread(target=self.answer, args=(request,), daemon=True).start()

    def answer(self, request):
        count, pause = pb_utils.get_input_tensor_by_name(request, "INPUT0").as_numpy()[:2]
        sender = request.get_response_sender()
        for number in range(int(count)):
            if sender.is_cancelled():
                break
            out = pb_utils.Tensor("OUTPUT0", np.array([number], np.int32))
            sender.send(pb_utils.InferenceResponse([out]))
            time.sleep(int(pause) / 1000)
        sender.send(flags=pb_utils.TRITONSERVER_RESPONSE_COMPLETE_FINAL)
"""

# Calls other models: sync, async and decoupled ones.
CALLER = """
import asyncio


class TritonPythonModel:
    def execute(self, requests):
        return [self.one(request) for request in requests]

    def one(self, request):
        x = pb_utils.get_input_tensor_by_name(request, "INPUT0")
        mode = pb_utils.get_input_tensor_by_name(request, "MODE").as_numpy()[0].decode()
        if mode == "count":
            count = pb_utils.Tensor("INPUT0", np.array([3, 0], np.int32))
            call = pb_utils.InferenceRequest(
                model_name="count", requested_output_names=["OUTPUT0"], inputs=[count]
            )
            found = []
            for answer in call.exec(decoupled=True):
                if answer.has_error():
                    raise pb_utils.TritonModelException(answer.error().message())
                for tensor in answer.output_tensors():
                    found.append(float(tensor.as_numpy()[0]))
            return self.response(np.array(found, np.float32))
        call = pb_utils.InferenceRequest(
            model_name="nope" if mode == "missing" else "echo",
            requested_output_names=["OUTPUT0"],
            inputs=[x],
            request_id="inner",
        )
        if mode == "async":
            answers = asyncio.run(self.several(call))
            return self.response(sum(a.output_tensors()[0].as_numpy() for a in answers))
        answer = call.exec()
        if answer.has_error():
            return pb_utils.InferenceResponse(error=answer.error())
        return self.response(pb_utils.get_output_tensor_by_name(answer, "OUTPUT0").as_numpy())

    async def several(self, call):
        return await asyncio.gather(*(call.async_exec() for _ in range(3)))

    def response(self, array):
        return pb_utils.InferenceResponse([pb_utils.Tensor("OUTPUT0", array)])
"""

COROUTINE = """
import asyncio


class TritonPythonModel:
    async def execute(self, requests):
        await asyncio.sleep(0.01)
        return [
            pb_utils.InferenceResponse(
                [pb_utils.Tensor("OUTPUT0", r.inputs()[0].as_numpy() + np.float32(1))]
            )
            for r in requests
        ]
"""

COMPLETES = """
class TritonPythonModel:
    @staticmethod
    def auto_complete_config(config):
        config.add_input({"name": "INPUT0", "data_type": "TYPE_FP32", "dims": [-1]})
        config.add_output({"name": "OUTPUT0", "data_type": "TYPE_FP32", "dims": [-1]})
        config.set_max_batch_size(4)
        config.set_dynamic_batching()
        return config

    def execute(self, requests):
        return [
            pb_utils.InferenceResponse([pb_utils.Tensor("OUTPUT0", r.inputs()[0].as_numpy())])
            for r in requests
        ]
"""

METRICS = """
class TritonPythonModel:
    def initialize(self, args):
        self.calls = pb_utils.MetricFamily(
            name="test_calls", description="calls seen", kind=pb_utils.MetricFamily.COUNTER
        ).Metric(labels={"model": "metrics"})
        self.level = pb_utils.MetricFamily(
            name="test_level", description="a level", kind=pb_utils.MetricFamily.GAUGE
        ).Metric(labels={"model": "metrics"})
        self.sizes = pb_utils.MetricFamily(
            name="test_sizes", description="sizes", kind=pb_utils.MetricFamily.HISTOGRAM
        ).Metric(labels={"model": "metrics"}, buckets=[1, 10])

    def execute(self, requests):
        answers = []
        for request in requests:
            x = request.inputs()[0].as_numpy()
            self.calls.increment(1)
            self.level.set(float(x[0]))
            self.sizes.observe(float(x[0]))
            found = np.array([self.calls.value(), self.level.value()], np.float32)
            answers.append(pb_utils.InferenceResponse([pb_utils.Tensor("OUTPUT0", found)]))
        return answers
"""

DLPACK = """
import torch


class TritonPythonModel:
    def execute(self, requests):
        answers = []
        for request in requests:
            x = pb_utils.get_input_tensor_by_name(request, "INPUT0")
            tensor = torch.utils.dlpack.from_dlpack(x.to_dlpack()) * 2
            made = pb_utils.Tensor.from_dlpack("OUTPUT0", torch.utils.dlpack.to_dlpack(tensor))
            answers.append(pb_utils.InferenceResponse([made]))
        return answers
"""

READY = """
import os


class TritonPythonModel:
    def initialize(self, args):
        self.flag = os.path.join(args["model_repository"], "not-ready")

    def is_ready(self):
        return not os.path.exists(self.flag)

    def execute(self, requests):
        return [
            pb_utils.InferenceResponse([pb_utils.Tensor("OUTPUT0", r.inputs()[0].as_numpy())])
            for r in requests
        ]
"""

LIFE = """
import os


class TritonPythonModel:
    def initialize(self, args):
        self.mark = os.path.join(args["model_repository"], "finalized")
        if os.path.exists(os.path.join(args["model_repository"], "refuse")):
            raise pb_utils.TritonModelException("not today")

    def execute(self, requests):
        return [
            pb_utils.InferenceResponse([pb_utils.Tensor("OUTPUT0", r.inputs()[0].as_numpy())])
            for r in requests
        ]

    def finalize(self):
        with open(self.mark, "w") as file:
            file.write("yes")
"""

# Comes round again and again: each time one more, until INPUT0 has come to 3.
ITERATIVE = """
class TritonPythonModel:
    def initialize(self, args):
        self.rounds = {}

    def execute(self, requests):
        answers = []
        for request in requests:
            key = request.correlation_id()
            seen = self.rounds[key] = self.rounds.get(key, 0) + 1
            if seen < 3:
                request.set_release_flags(pb_utils.TRITONSERVER_REQUEST_RELEASE_RESCHEDULE)
                answers.append(None)
                continue
            del self.rounds[key]
            found = pb_utils.Tensor("OUTPUT0", np.array([seen], np.float32))
            answers.append(pb_utils.InferenceResponse([found]))
        return answers
"""

# Sums what a sequence brings; says its correlation id and flags.
SUMS = """
class TritonPythonModel:
    def initialize(self, args):
        self.sums = {}

    def execute(self, requests):
        answers = []
        for request in requests:
            key, flags = request.correlation_id(), request.flags()
            if flags & pb_utils.TRITONSERVER_REQUEST_FLAG_SEQUENCE_START:
                self.sums[key] = 0.0
            self.sums[key] += float(request.inputs()[0].as_numpy().sum())
            found = np.array([self.sums[key], flags], np.float32)
            answers.append(pb_utils.InferenceResponse([pb_utils.Tensor("OUTPUT0", found)]))
        return answers
"""

# INPUT0[0] says how: sender and list, as texts of what went wrong.
SENDER = """
import threading


class TritonPythonModel:
    def execute(self, requests):
        (request,) = requests
        what = int(request.inputs()[0].as_numpy()[0])
        sender = request.get_response_sender()
        answer = pb_utils.InferenceResponse(
            [pb_utils.Tensor("OUTPUT0", np.array([what], np.float32))]
        )
        final = pb_utils.TRITONSERVER_RESPONSE_COMPLETE_FINAL
        if what == 0:
            sender.send(answer, flags=final)
            return None
        if what == 1:
            sender.send(answer)
            sender.send(flags=final)
            return [None]
        if what == 2:
            sender.send(flags=final)
        if what == 3:
            sender.send(answer)
            sender.send(answer)
        if what == 4:
            sender.send(answer, flags=final)
            raise ValueError("too late to matter")
        if what == 5:
            request.set_release_flags(pb_utils.TRITONSERVER_REQUEST_RELEASE_RESCHEDULE)
            return [answer]
        if what == 6:
            sender.send(flags=7)
        if what == 7:
            sender.send("no response")
        if what in (9, 10):
            threading.Timer(0.05, sender.send, (answer, final)).start()
            return None if what == 9 else [None]
        if what == 8:
            return [pb_utils.InferenceResponse([pb_utils.Tensor("OUTPUT0", np.array([8], "i4"))])]
        return [answer]
"""

# Calls SUMS with a sequence of its own, by every way of calling.
SEQUENCE_CALLER = """
import asyncio
import threading


class TritonPythonModel:
    def initialize(self, args):
        self.early = ""
        try:
            self.call("sums", 1, 0).exec()
        except pb_utils.TritonModelException as error:
            self.early = str(error)

    def call(self, model, value, flags, correlation_id=7, **more):
        return pb_utils.InferenceRequest(
            model_name=model,
            requested_output_names=["OUTPUT0"],
            inputs=[pb_utils.Tensor("INPUT0", np.array([value], np.float32))],
            correlation_id=correlation_id,
            flags=flags,
            **more,
        )

    def execute(self, requests):
        start = pb_utils.TRITONSERVER_REQUEST_FLAG_SEQUENCE_START
        end = pb_utils.TRITONSERVER_REQUEST_FLAG_SEQUENCE_END
        found = [self.text(self.call("sums", 1, start).exec())]
        found.append(self.text(asyncio.run(self.later(self.call("sums", 2, 0)))))
        worker = threading.Thread(
            target=lambda: found.append(self.text(self.call("sums", 3, end).exec()))
        )
        worker.start()
        worker.join()
        found.append(self.text(self.call("sums", 5, start | end, "text").exec()))
        found.append(self.text(self.call("sums", 5, 0, 0).exec()))
        found.append(self.text(self.call("iterative", 1, start, 9).exec()))
        try:
            self.call("nope", 1, 0).get_response_sender().send(flags=1)
        except pb_utils.TritonModelException as error:
            found.append(str(error))
        found.append(self.early)
        text = np.array([text.encode() for text in found], object)
        return [pb_utils.InferenceResponse([pb_utils.Tensor("OUTPUT0", text)]) for _ in requests]

    async def later(self, call):
        return (await asyncio.gather(call.async_exec()))[0]

    def text(self, answer):
        if answer.has_error():
            return answer.error().message()
        return str(pb_utils.get_output_tensor_by_name(answer, "OUTPUT0").as_numpy().tolist())
"""

# What model.py's authors get wrong, and what they are told: INPUT0 is Python, OUTPUT0 its result.
PROBE = """
class TritonPythonModel:
    def execute(self, requests):
        answers = []
        for request in requests:
            code = request.inputs()[0].as_numpy()[0].decode()
            try:
                found = repr(eval(code, {"pb": pb_utils, "np": np, "r": request}))
            except Exception as error:
                found = f"{type(error).__name__}: {error}"
            text = pb_utils.Tensor("OUTPUT0", np.array([found.encode()], object))
            answers.append(pb_utils.InferenceResponse([text]))
        return answers
"""

# async def everything.
ASYNC_READY = """
import asyncio
import threading


class TritonPythonModel:
    async def is_ready(self):
        await asyncio.sleep(0.01)
        return True

    async def execute(self, requests):
        for request in requests:
            found = pb_utils.Tensor("OUTPUT0", request.inputs()[0].as_numpy())
            answer = pb_utils.InferenceResponse([found])
            sender = request.get_response_sender()
            threading.Timer(0.02, sender.send, (answer, 1)).start()
"""

# BF16 without numpy: tensors are handed on as they came, straight or through a call.
HANDS_ON = """
class TritonPythonModel:
    def initialize(self, args):
        self.calls = args["model_name"] != "bf16"

    def execute(self, requests):
        answers = []
        for request in requests:
            tensors = request.inputs()
            if self.calls:
                call = pb_utils.InferenceRequest(
                    model_name="bf16", requested_output_names=["X"], inputs=tensors
                )
                tensors = call.exec().output_tensors()
            answers.append(pb_utils.InferenceResponse(tensors))
        return answers
"""
