"""What operators see of a real server: log, tables, metrics, traces on disk and by OTLP."""

import json
import queue
import re
import signal
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tritonclient.grpc as grpc_client
import tritonclient.http as http_client
from prometheus_client.parser import text_string_to_metric_families
from tritonclient.utils import InferenceServerException

from tests.support import onnx_models as om
from tests.support.builtin_models import REPEAT, place
from tests.support.otlp import receiver
from tests.support.runtime_process import Runtime, runtime, wait_until

pytestmark = pytest.mark.integration
ENSEMBLE = """
platform: "ensemble"
max_batch_size: 4
input [
  { name: "INPUT0" data_type: TYPE_INT32 dims: [ 16 ] },
  { name: "INPUT1" data_type: TYPE_INT32 dims: [ 16 ] }
]
output [ { name: "OUTPUT0" data_type: TYPE_INT32 dims: [ 16 ] } ]
ensemble_scheduling {
  step [
    {
      model_name: "simple" model_version: -1
      input_map { key: "INPUT0" value: "INPUT0" }
      input_map { key: "INPUT1" value: "INPUT1" }
      output_map { key: "OUTPUT0" value: "OUTPUT0" }
    }
  ]
}
"""
TRACEPARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
PHASES = [
    "REQUEST_START",
    "QUEUE_START",
    "COMPUTE_START",
    "COMPUTE_INPUT_END",
    "COMPUTE_OUTPUT_START",
    "COMPUTE_END",
    "REQUEST_END",
]


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    root = tmp_path / "models"
    om.save(root, "simple", om.add_sub(), "max_batch_size: 4\n")
    (root / "whole" / "1").mkdir(parents=True)
    (root / "whole" / "config.pbtxt").write_text(ENSEMBLE)
    return root


def infer(server: Runtime, kind: str, model: str = "simple", name: str = "", **options: Any) -> Any:
    module = http_client if kind == "http" else grpc_client
    tensors = []
    for item in ("INPUT0", "INPUT1"):
        tensor = module.InferInput(item, [1, 16], "INT32")
        tensor.set_data_from_numpy(np.ones((1, 16), np.int32))
        tensors.append(tensor)
    with module.InferenceServerClient(getattr(server, kind)) as client:
        return client.infer(model, tensors, request_id=name, **options)


def test_traces_over_http_and_grpc_land_in_numbered_files(tmp_path: Path, repository: Path) -> None:
    file = tmp_path / "trace.json"
    flags = (
        "--trace-config",
        f"triton,file={file}",
        "--trace-config=triton,log-frequency=1",
        "--trace-config=rate=1",
        "--trace-config=level=TIMESTAMPS",
    )
    with runtime(repository, *flags) as server:
        for index, (kind, frontend) in enumerate(
            (
                ("http", ["HTTP_RECV_START", "HTTP_RECV_END", "HTTP_SEND_START", "HTTP_SEND_END"]),
                (
                    "grpc",
                    [
                        "GRPC_WAITREAD_START",
                        "GRPC_WAITREAD_END",
                        "GRPC_SEND_START",
                        "GRPC_SEND_END",
                    ],
                ),
            )
        ):
            infer(server, kind, name=f"id-{kind}")
            path = Path(f"{file}.{index}")
            wait_until(lambda path=path: path.exists() and path.read_text(), "the trace file")
            found = json.loads(path.read_text())
            times = {
                item["timestamps"][0]["name"]: item["timestamps"][0]["ns"]
                for item in found
                if "timestamps" in item
            }
            assert set(times) == {*PHASES, *frontend, "INFER_RESPONSE_COMPLETE"}
            order = [times[name] for name in (*frontend[:2], *PHASES[:-1], *frontend[2:])]
            assert order == sorted(order)
            (head,) = [item for item in found if "model_name" in item]
            assert (
                head.items()
                >= {
                    "model_name": "simple",
                    "model_version": 1,
                    "request_id": f"id-{kind}",
                }.items()
            )
        infer(server, "http", "whole")
        path = Path(f"{file}.2")
        wait_until(lambda: path.exists() and path.read_text(), "the trace of the ensemble")
        heads = [item for item in json.loads(path.read_text()) if "model_name" in item]
        assert [(h["model_name"], h.get("parent_id")) for h in heads] == [
            ("whole", None),
            ("simple", heads[0]["id"]),
        ]


def test_what_is_left_is_written_at_exit(tmp_path: Path, repository: Path) -> None:
    file = tmp_path / "trace.json"
    flags = (
        f"--trace-config=triton,file={file}",
        "--trace-config=rate=2",
        "--trace-config=level=TIMESTAMPS",
        "--trace-config=level=TENSORS",
    )
    with runtime(repository, *flags) as server:
        for _ in range(5):
            infer(server, "http")
        assert not file.exists()
        assert server.stop() == 0
    found = json.loads(file.read_text())
    assert {item["id"] for item in found} == {1, 2}
    shown = [item["tensor"] for item in found if item.get("activity") == "TENSOR_BACKEND_OUTPUT"]
    assert {tensor["name"] for tensor in shown} == {"OUTPUT0", "OUTPUT1"}
    assert shown[0]["data"] == ",".join(["2"] * 16)


def test_settings_change_through_both_protocols(tmp_path: Path, repository: Path) -> None:
    file = str(tmp_path / "t.json")
    flags = (f"--trace-config=triton,file={file}", "--trace-config=rate=1")
    with runtime(repository, *flags) as server:
        with http_client.InferenceServerClient(server.http) as client:
            start = {
                "trace_level": ["OFF"],
                "trace_rate": "1",
                "trace_count": "-1",
                "log_frequency": "0",
                "trace_file": file,
                "trace_mode": "triton",
            }
            assert client.get_trace_settings() == start
            changed = client.update_trace_settings(
                model_name="simple", settings={"trace_level": ["TIMESTAMPS"]}
            )
            assert changed == start | {"trace_level": ["TIMESTAMPS"]}
            with pytest.raises(InferenceServerException, match="can not be updated through"):
                client.update_trace_settings(settings={"trace_file": "x"})
            changed = client.update_log_settings({"log_verbose_level": 1, "log_info": False})
            assert (changed["log_verbose_level"], changed["log_info"]) == (1, False)
        with grpc_client.InferenceServerClient(server.grpc) as client:
            shown = client.get_trace_settings("simple", as_json=True)["settings"]
            assert shown["trace_level"] == {"value": ["TIMESTAMPS"]}
            cleared = client.update_trace_settings(
                "simple", settings={"trace_level": None}, as_json=True
            )
            assert cleared["settings"]["trace_level"] == {"value": ["OFF"]}
            with pytest.raises(InferenceServerException, match="Request for unknown model : no"):
                client.get_trace_settings("no")
            shown = client.get_log_settings(as_json=True)["settings"]
            assert shown["log_verbose_level"] == {"uint32_param": 1}
        assert server.stop() == 0


def test_spans_are_sent_by_otlp(repository: Path) -> None:
    with receiver() as otlp:
        flags = (
            "--trace-config=mode=opentelemetry",
            f"--trace-config=opentelemetry,url={otlp.url}",
            "--trace-config=opentelemetry,resource=test.key=test.value",
            "--trace-config=opentelemetry,bsp_schedule_delay=50",
            "--trace-config=rate=1000",
            "--trace-config=level=TIMESTAMPS",
        )
        with runtime(repository, *flags) as server:
            infer(server, "http")  # not its turn
            traced = {"traceparent": TRACEPARENT}
            infer(server, "http", "whole", "r1", headers={**traced})  # its caller traces it
            infer(server, "grpc", name="r2", headers={**traced})
            wait_until(lambda: len(otlp.spans) >= 7, "seven spans")
            assert server.stop() == 0
    assert len(otlp.spans) == 7
    assert otlp.resources[0]["service.name"] == "triton-inference-server"
    assert otlp.resources[0]["test.key"] == "test.value"
    by_id = {span.span_id: span for span in otlp.spans}
    assert {span.trace_id.hex() for span in otlp.spans} == {TRACEPARENT.split("-")[1]}

    def path(span: Any) -> str:
        above = by_id.get(span.parent_span_id)
        return span.name if above is None else f"{path(above)}/{span.name}"

    assert sorted(map(path, otlp.spans)) == sorted(
        [
            "InferRequest",
            "InferRequest/whole",
            "InferRequest/whole/simple",
            "InferRequest/whole/simple/compute",
            "InferRequest",
            "InferRequest/simple",
            "InferRequest/simple/compute",
        ]
    )
    roots = [span for span in otlp.spans if span.name == "InferRequest"]
    assert {span.parent_span_id.hex() for span in roots} == {TRACEPARENT.split("-")[2]}
    assert {span.kind for span in otlp.spans} == {2}
    events = {tuple(event.name for event in span.events) for span in roots}
    assert events == {
        (
            f"{prefix}_{read}_START",
            f"{prefix}_{read}_END",
            "INFER_RESPONSE_COMPLETE",
            f"{prefix}_SEND_START",
            f"{prefix}_SEND_END",
        )
        for prefix, read in (("HTTP", "RECV"), ("GRPC", "WAITREAD"))
    }
    (whole,) = [span for span in otlp.spans if span.name == "whole"]
    attributes = {item.key: item.value for item in whole.attributes}
    assert attributes["triton.model_name"].string_value == "whole"
    assert attributes["triton.model_version"].int_value == 1
    assert attributes["triton.request_id"].string_value == "r1"
    for span in otlp.spans:
        assert span.start_time_unix_nano <= span.end_time_unix_nano


def test_the_start_is_told_as_in_triton(tmp_path: Path, repository: Path) -> None:
    om.save(repository, "garbage", b"no model")
    with runtime(repository, "--exit-on-error=false", ready=False) as server:
        wait_until(lambda: "Started Metrics Service at" in server.log.read_text(), "the last line")
        text = server.log.read_text()
    assert re.search(r"^\| garbage +\| 1 +\| UNAVAILABLE: .* \|$", text, re.MULTILINE)
    assert re.search(r"^\| simple +\| 1 +\| READY +\|$", text, re.MULTILINE)
    assert re.search(r"^\| model_control_mode +\| MODE_NONE +\|$", text, re.MULTILINE)
    for service in ("GRPCInferenceService", "HTTPService", "Metrics Service"):
        assert re.search(rf'^I.*\] "Started {service} at 127.0.0.1:\d+"$', text, re.MULTILINE)


def test_a_failed_start_says_so_and_exits_with_1(repository: Path) -> None:
    om.save(repository, "garbage", b"no model")
    with runtime(repository, ready=False) as server:
        assert server.process.wait(30) == 1
        text = server.log.read_text()
    assert "error: creating server: Internal - failed to load all models" in text
    assert "Started HTTPService" not in text


def test_metrics_of_ones_choice(repository: Path) -> None:
    flags = (
        "--metrics-config=summary_latencies=true",
        "--metrics-config=summary_quantiles=0.5:0.05,0.9:0.01",
        "--metrics-config=counter_latencies=false",
    )
    with runtime(repository, *flags) as server:
        infer(server, "http")
        families = {f.name: f for f in text_string_to_metric_families(server.metrics())}
        summary = families["nv_inference_request_summary_us"]
        count = next(s for s in summary.samples if s.name.endswith("_count"))
        assert (count.labels["model"], count.value) == ("simple", 1)
        quantiles = {s.labels["quantile"] for s in summary.samples if "quantile" in s.labels}
        assert quantiles == {"0.5", "0.9"}
        assert "nv_inference_request_duration_us" not in families
        assert families["nv_inference_request_success"].samples[0].value == 0
        # Nothing is pinned without a GPU; the pool is as large as Triton's flag says.
        assert families["nv_pinned_memory_pool_total_bytes"].samples[0].value == 1 << 28
        assert families["nv_pinned_memory_pool_used_bytes"].samples[0].value == 0
        status, _, body = server.call("nothing", port=server.metrics_port)
        assert (status, body) == (200, b"")


def test_listeners_report_connections_and_requests(repository: Path) -> None:
    with runtime(repository) as server:
        with grpc_client.InferenceServerClient(server.grpc) as client:
            assert client.is_server_live()
            text = server.metrics()
    assert 'shoal_connections{protocol="grpc"} 1\n' in text
    assert 'shoal_in_flight_requests{protocol="grpc"} 0\n' in text
    assert 'shoal_in_flight_requests{protocol="http"} 0\n' in text


def test_metrics_follow_models(repository: Path) -> None:
    config = repository / "simple" / "config.pbtxt"
    config.write_text(config.read_text() + 'metric_tags { key: "team" value: "a" }\n')
    flags = ("--model-control-mode=explicit", "--load-model=simple")
    with runtime(repository, *flags) as server:
        infer(server, "http")
        line = 'nv_inference_request_success{_team="a",model="simple",version="1"} '
        assert f"\n{line}1\n" in server.metrics()
        assert server.json("v2/repository/models/simple/unload", {})[0] == 200
        wait_until(lambda: "nv_inference" not in server.metrics(), "no families of models")
        assert server.json("v2/repository/models/simple/load", {})[0] == 200
        assert f"\n{line}0\n" in server.metrics()


def test_the_log_can_be_json_and_have_a_line_for_each_request(
    tmp_path: Path, repository: Path
) -> None:
    log, access = tmp_path / "server.log", tmp_path / "access.log"
    flags = ("--log-format=json", f"--log-file={log}", f"--access-log={access}")
    with runtime(repository, *flags) as server:
        infer(server, "http", name="a")
        infer(server, "grpc", "whole", name="b")
        wait_until(lambda: access.read_text().count("\n") == 2, "two lines")
        assert server.stop() == 0
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    assert any("Started HTTPService" in line["message"] for line in lines)
    assert any("READY" in line.get("table", "") for line in lines)
    first, second = [json.loads(line) for line in access.read_text().splitlines()]
    assert (first["id"], first["model"], first["protocol"], first["status"]) == (
        "a",
        "simple",
        "HTTP",
        "OK",
    )
    assert (first["request_bytes"], first["response_bytes"]) == (128, 128)
    assert first["total_us"] >= first["compute_infer_us"]
    assert (second["id"], second["model"], second["protocol"]) == ("b", "whole", "GRPC")


def test_a_second_signal_is_not_needed(repository: Path) -> None:
    with runtime(repository, "--exit-timeout-secs=0") as server:
        server.process.send_signal(signal.SIGINT)
        assert server.process.wait(20) == 0


def test_first_responses_of_decoupled_models_have_a_histogram(tmp_path: Path) -> None:
    root = tmp_path / "models"
    control = (
        "model_metrics { metric_control { "
        'metric_identifier { family: "nv_inference_first_response_histogram_ms" } '
        "histogram_options { buckets: [ 1, 60000 ] } } }\n"
    )
    place(root, "repeat", REPEAT + control)
    with runtime(root, "--metrics-config=histogram_latencies=true") as server:
        tensors = []
        for name, datatype, value in (
            ("IN", "INT32", np.array([1, 2, 3], np.int32)),
            ("DELAY", "UINT32", np.zeros(3, np.uint32)),
            ("WAIT", "UINT32", np.zeros(1, np.uint32)),
        ):
            tensor = grpc_client.InferInput(name, value.shape, datatype)
            tensor.set_data_from_numpy(value)
            tensors.append(tensor)
        answers: queue.Queue[Any] = queue.Queue()
        with grpc_client.InferenceServerClient(server.grpc) as client:
            client.start_stream(lambda result, error: answers.put((result, error)))
            client.async_stream_infer("repeat", tensors)
            for _ in range(3):
                assert answers.get(timeout=30)[1] is None
            client.stop_stream()
        text = server.metrics()
    name, labels = "nv_inference_first_response_histogram_ms", 'model="repeat",version="1"'
    assert f"{name}_count{{{labels}}} 1\n" in text
    assert f'{name}_bucket{{{labels},le="60000"}} 1\n' in text
    assert f'{name}_bucket{{{labels},le="+Inf"}} 1\n' in text
