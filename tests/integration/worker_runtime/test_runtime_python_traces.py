"""Traces and Python models: what a model learns of its trace, and calls that belong to it."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tritonclient.http as http_client

from tests.support import python_models as pm
from tests.support.otlp import receiver
from tests.support.runtime_process import Runtime, runtime, wait_until

pytestmark = pytest.mark.integration
TRACEPARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
# Says what it knows of its trace, and calls `echo` inside it (x = 1) or outside (x = 0).
CALLER = """
class TritonPythonModel:
    def execute(self, requests):
        answers = []
        for request in requests:
            x = pb_utils.get_input_tensor_by_name(request, "INPUT0")
            traced = {"trace": request.trace()} if x.as_numpy()[0] else {}
            reply = pb_utils.InferenceRequest(
                model_name="echo", requested_output_names=["OUTPUT0"], inputs=[x], **traced
            ).exec()
            assert not reply.has_error(), reply.error().message()
            text = request.trace().get_context() or "none"
            answers.append(
                pb_utils.InferenceResponse(
                    [pb_utils.Tensor("OUTPUT0", np.array([text], np.object_))]
                )
            )
        return answers
"""


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    root = tmp_path / "models"
    pm.add(root, "echo", pm.ECHO)
    pm.add(root, "caller", CALLER, outputs="OUTPUT0:STRING:1")
    return root


def ask(server: Runtime, value: float, **headers: str) -> str:
    given = http_client.InferInput("INPUT0", [1], "FP32")
    given.set_data_from_numpy(np.array([value], np.float32))
    with http_client.InferenceServerClient(server.http) as client:
        result = client.infer("caller", [given], headers=headers)
    text: str = result.as_numpy("OUTPUT0")[0].decode()
    return text


def test_spans_of_a_model_and_of_what_it_calls(repository: Path) -> None:
    with receiver() as otlp:
        flags = (
            "--trace-config=mode=opentelemetry",
            f"--trace-config=opentelemetry,url={otlp.url}",
            "--trace-config=opentelemetry,bsp_schedule_delay=50",
            "--trace-config=rate=1000000",
            "--trace-config=level=TIMESTAMPS",
        )
        with runtime(repository, *flags) as server:
            assert ask(server, 1) == "none"  # not its turn
            context = json.loads(ask(server, 1, traceparent=TRACEPARENT, tracestate="a=b"))
            alone = json.loads(ask(server, 0, traceparent=TRACEPARENT))
            wait_until(lambda: len(otlp.spans) >= 8, "eight spans")
            assert server.stop() == 0
    spans = {span.span_id.hex(): span for span in otlp.spans}
    assert len(spans) == 8
    assert {span.trace_id.hex() for span in otlp.spans} == {TRACEPARENT.split("-")[1]}
    assert context["tracestate"] == "a=b"
    own = spans[_span_of(context)]
    assert own.name == "caller"
    assert spans[own.parent_span_id.hex()].name == "InferRequest"
    (called,) = [span for span in otlp.spans if span.name == "echo"]
    assert called.parent_span_id.hex() == _span_of(context)
    assert spans[_span_of(alone)].name == "caller"


def _span_of(context: dict[str, Any]) -> str:
    version, trace, span, flags = context["traceparent"].split("-")
    assert (version, trace, flags) == ("00", TRACEPARENT.split("-")[1], "01")
    return str(span)


def test_calls_are_children_in_a_file_of_traces(tmp_path: Path, repository: Path) -> None:
    file = tmp_path / "trace.json"
    flags = (f"--trace-config=triton,file={file}", "--trace-config=rate=1")
    with runtime(repository, *flags, "--trace-config=level=TIMESTAMPS") as server:
        assert ask(server, 1) == "none"  # there is no context outside of OpenTelemetry
        assert ask(server, 0) == "none"
        assert server.stop() == 0
    members = [item for item in json.loads(file.read_text()) if "model_name" in item]
    assert [(item["model_name"], item.get("parent_id")) for item in members] == [
        ("caller", None),
        ("echo", members[0]["id"]),
        ("caller", None),
    ]
