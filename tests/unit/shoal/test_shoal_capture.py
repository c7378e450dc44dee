"""``shoal capture``, the SDK's, and Azure's ``data_collector``."""

from pathlib import Path
from typing import Any

import pytest

from shoal import MLClient
from shoal.cli.main import main
from shoal.client import Client
from shoal.entities.errors import EntityInvalid
from shoal.entities.loading import load_online_deployment
from shoal.sdk.shapes import deployment_body, deployment_of
from tests.support.shoal_server import FakeServer
from tests.unit.shoal.test_shoal_administration import Sent, page

Capture = pytest.CaptureFixture[str]
AT = "2026-01-05T10:00:00Z"
BASE = "/endpoints/net/deployments/blue"
FILE: dict[str, Any] = {
    "id": "a" * 32, "replica": "r1", "size": 10, "records": 1200, "dropped": 3,
    "first_at": AT, "last_at": AT, "expires_at": AT,
}  # fmt: skip
SKETCH: dict[str, Any] = {
    "kind": "number", "rows": 600, "values": 600, "missing": 6, "min": 0.0, "max": 9.0,
    "mean": 4.5, "shapes": {"1x2": 600},
}  # fmt: skip
FEATURE: dict[str, Any] = {
    "name": "x[0]", "collection": "model_inputs", "now": SKETCH, "baseline": SKETCH,
    "verdict": "drift", "told": "", "psi": 0.5123, "ks": 0.4, "p_value": 1e-9, "bars": [],
}  # fmt: skip
STATISTICS: dict[str, Any] = {
    "endpoint": "net", "deployment": "blue", "capturing": True, "hours": 24, "records": 600,
    "left_out": 1200,
    "dropped": 3, "least_rows": 300, "untold_features": 0,
    "baseline": {"source": "a file (abc)", "records": 900, "set_by": "dora", "set_at": AT,
                 "begins_at": None, "ends_at": None, "window_hours": 6},
    "features": [
        FEATURE,
        {**FEATURE, "name": "who", "now": None, "psi": None, "p_value": None,
         "verdict": "too_little_data", "told": "the window has 0 of 300 rows"},
    ],
}  # fmt: skip
BASELINE: dict[str, Any] = STATISTICS["baseline"]


def test_files_are_listed(installed: FakeServer, capsys: Capture) -> None:
    Sent(installed, f"GET {BASE}/captured", page(FILE))
    assert main(["capture", "list", "net", "blue"]) == 0
    out = capsys.readouterr().out
    assert "1,200" in out
    assert "aaaaaaaaaaaa" in out


def test_statistics_are_shown_with_their_verdicts(installed: FakeServer, capsys: Capture) -> None:
    Sent(installed, f"GET {BASE}/data", STATISTICS)
    assert main(["capture", "stats", "net", "blue"]) == 0
    out = capsys.readouterr().out
    for text in ("inputs/x[0]", "0.512", "drift", "1.0 %", "600 requests in 24 h, 3 dropped",
                 "too little data (the window has 0 of 300 rows)", "a file (abc)",
                 "the last 6 h are held against it",
                 "1,200 requests, of which the baseline was made"):  # fmt: skip
        assert text in out


def test_a_baseline_is_set_from_a_file_or_a_window_and_removed(
    installed: FakeServer, tmp_path: Path
) -> None:
    file = tmp_path / "training.jsonl"
    file.write_bytes(b"{}\n")
    Sent(installed, f"PUT {BASE}/data/baseline/file", BASELINE)
    assert main(["capture", "baseline", "net", "blue", "--file", str(file)]) == 0
    sent = Sent(installed, f"PUT {BASE}/data/baseline", BASELINE)
    assert main(["capture", "baseline", "net", "blue", "--hours", "2"]) == 0
    assert set(sent.bodies[0]) == {"begin"}
    Sent(installed, f"DELETE {BASE}/data/baseline", None, status=204)
    assert main(["capture", "baseline", "net", "blue", "--remove"]) == 0


@pytest.mark.parametrize(
    ("options", "call", "said"),
    [
        (["--window", "6"], f"PATCH {BASE}/data/baseline", {"window_hours": 6}),
        (["--hours", "2", "--window", "6"], f"PUT {BASE}/data/baseline", {"window_hours": 6}),
        (["--file", "training.jsonl", "--window", "6"], f"PUT {BASE}/data/baseline/file", None),
    ],
)
def test_the_window_of_drift_is_said_with_a_baseline_or_alone(
    installed: FakeServer,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: Capture,
    options: list[str],
    call: str,
    said: dict[str, Any] | None,
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("training.jsonl").write_bytes(b"{}\n")
    sent = Sent(installed, call, BASELINE)
    assert main(["capture", "baseline", "net", "blue", *options]) == 0
    assert "The last 6 h are compared with a file (abc)" in capsys.readouterr().err
    if said is None:
        assert sent.queries == ["window_hours=6"]
    else:
        assert said.items() <= sent.bodies[0].items()


@pytest.mark.parametrize(
    "options",
    [
        [],
        ["--hours", "1", "--remove"],
        ["--hours", "999"],
        ["--window", "0"],
        ["--window", "169"],
        ["--window", "6", "--remove"],
    ],
)
def test_a_baseline_is_one_of_three(installed: FakeServer, options: list[str]) -> None:
    assert main(["capture", "baseline", "net", "blue", *options]) == 2
    assert installed.calls == []


def test_the_sdk_says_the_same(client: Client, server: FakeServer) -> None:
    ml_client = MLClient(client=client, show_progress=False)
    Sent(server, f"GET {BASE}/captured", page(FILE))
    assert [file["id"] for file in ml_client.capture.list("net", "blue")] == [FILE["id"]]
    Sent(server, f"GET {BASE}/data", STATISTICS)
    assert ml_client.capture.statistics("net", "blue")["records"] == 600
    with pytest.raises(ValueError, match="expected one of the two"):
        ml_client.capture.set_baseline("net", "blue")


def test_the_client_opens_a_request(client: Client, server: FakeServer) -> None:
    found = {"id": "a/b", "inputs": [], "told": "inputs are not captured"}
    Sent(server, f"GET {BASE}/captured-requests/a/b", found)
    assert client.captured_request("net", "blue", "a/b", at=1.5) == found


def deployment(tmp_path: Path, text: str) -> Any:
    file = tmp_path / "blue.yml"
    file.write_text(f"name: blue\nendpoint_name: net\nmodel: azureml:net:1\n{text}")
    return load_online_deployment(file)


@pytest.mark.parametrize(
    ("text", "capture"),
    [
        ("", None),
        ("capture: {sampling_rate: 0.1, drop: [name]}", {"sampling_rate": 0.1, "drop": ["name"]}),
        ("capture: {}", {}),
        (
            "data_collector: {sampling_rate: 0.5, rolling_rate: hour, collections: {model_inputs: "
            "{enabled: 'True'}, model_outputs: {enabled: 'true'}}}",
            {"sampling_rate": 0.5, "roll_seconds": 3600,
             "collections": ["model_inputs", "model_outputs"]},
        ),
        (
            "data_collector: {collections: {model_inputs: {enabled: 'True'}, request: {enabled: "
            "'False'}}}",
            {"sampling_rate": 1.0, "collections": ["model_inputs"]},
        ),
        ("data_collector: {collections: {model_inputs: {enabled: 'False'}}}", {}),
    ],
)  # fmt: skip
def test_files_say_what_is_captured(tmp_path: Path, text: str, capture: Any) -> None:
    body = deployment_body(deployment(tmp_path, text))
    assert body.get("capture", "unsaid") == ("unsaid" if capture is None else capture or None)


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ("collections: {request: {enabled: 'True'}}", "data_collector.collections.request"),
        (
            "collections: {model_inputs: {enabled: 'True'}}\n  request_logging: "
            "{capture_headers: [x-id]}",
            "data_collector.request_logging.capture_headers",
        ),
        (
            "rolling_rate: day\n  collections: {model_inputs: {enabled: 'True'}}",
            "data_collector.rolling_rate",
        ),
    ],
)
def test_what_is_not_collected_is_refused_by_name(tmp_path: Path, text: str, where: str) -> None:
    with pytest.raises(EntityInvalid) as caught:
        deployment_body(deployment(tmp_path, f"data_collector:\n  {text}"))
    assert [fault.where for fault in caught.value.faults] == [where]


def test_what_is_captured_is_shown_with_the_deployment() -> None:
    shown: Any = {
        "name": "blue", "endpoint": "net", "model": "net", "version": 1, "instance_count": 1,
        "provisioning_state": "Succeeded", "capture": {"sampling_rate": 0.2},
    }  # fmt: skip
    assert deployment_of(shown).capture == {"sampling_rate": 0.2}
