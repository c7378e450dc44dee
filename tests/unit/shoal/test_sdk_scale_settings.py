"""`scale_settings` and `autoscale`: made into the policy that REST takes, kept, shown again."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from shoal.cli.main import main
from tests.support.shoal_server import FakeServer

AZURE = "{type: target_utilization, min_instances: 2, max_instances: 5"
CPU = {"enabled": True, "min": 2, "max": 5, "interval_s": 2, "targets": {"cpu_percent": 70}}
WHICH = ("-n", "blue", "-e", "ep-1")
Written = Callable[[str], str]


@pytest.fixture
def written(installed: FakeServer, tmp_path: Path) -> Written:
    model = tmp_path / "models" / "net" / "1" / "model.onnx"
    model.parent.mkdir(parents=True)
    model.write_bytes(b"graph")
    assert main(["online-endpoint", "create", "-n", "ep-1"]) == 0

    def write(settings: str) -> str:
        file = tmp_path / "blue.yml"
        file.write_text(f"model: {{name: net, version: 1, path: ./models}}\n{settings}\n")
        return str(file)

    return write


def row(installed: FakeServer) -> dict[str, Any]:
    (found,) = installed.endpoints["ep-1"]["deployments"]
    return found


@pytest.mark.parametrize(
    ("settings", "policy"),
    [
        ("", "unsaid"),
        ("scale_settings: {type: default}", None),
        (f"scale_settings: {AZURE}}}", CPU),
        (
            f"scale_settings: {AZURE}, polling_interval: 10, target_utilization_percentage: 50}}",
            {**CPU, "interval_s": 10, "targets": {"cpu_percent": 50}},
        ),
        (
            f"request_settings: {{max_concurrent_requests_per_instance: 4}}\n"
            f"scale_settings: {AZURE}, target_utilization_percentage: 75}}",
            {**CPU, "targets": {"in_flight": 3.0}},
        ),
        (
            "scale_settings: {type: target_utilization}",
            {"enabled": True, "min": 1, "max": 1, "interval_s": 2, "targets": {"cpu_percent": 70}},
        ),
        (
            "autoscale:\n  max: 4\n  targets: {in_flight: 2.5}\n  down: {window_s: 60}\n"
            "  schedules: [{start: 0 8 * * 1-5, end: 0 18 * * 1-5, min: 2}]",
            {
                "enabled": True,
                "min": 1,
                "max": 4,
                "targets": {"in_flight": 2.5},
                "down": {"window_s": 60},
                "schedules": [{"start": "0 8 * * 1-5", "end": "0 18 * * 1-5", "min": 2}],
            },
        ),
    ],
)
def test_a_file_says_the_policy(
    installed: FakeServer, written: Written, settings: str, policy: Any
) -> None:
    assert main(["online-deployment", "create", *WHICH, "-f", written(settings)]) == 0
    found = row(installed)
    assert found.get("autoscale", "unsaid") == policy
    assert "autoscale" not in found["declared"]
    assert found["instance_count"] == 1  # left to REST, which begins with the least


def test_what_was_changed_goes_before_what_was_read(
    installed: FakeServer, written: Written, capsys: pytest.CaptureFixture[str]
) -> None:
    file = written(f"scale_settings: {AZURE}}}")
    assert main(["online-deployment", "create", *WHICH, "-f", file]) == 0
    shown = {**CPU, "schedules": []}  # completed, as REST does
    row(installed)["autoscale"] = shown
    update = ["online-deployment", "update", *WHICH, "--set"]
    assert main([*update, "instance_count=3"]) == 0
    assert row(installed)["autoscale"] == shown
    assert main([*update, "autoscale.enabled=false"]) == 0
    assert row(installed)["autoscale"] == {**shown, "enabled": False}
    assert main([*update, "scale_settings.max_instances=9"]) == 0
    assert row(installed)["autoscale"] == {**CPU, "max": 9}
    assert main([*update, "autoscale={}"]) == 0
    assert row(installed)["autoscale"] is None
    assert "nothing here scales" not in capsys.readouterr().err


def test_show_says_how_many_are_wanted_and_why(
    installed: FakeServer, written: Written, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["online-deployment", "create", *WHICH, "-f", written("")]) == 0
    row(installed)["autoscale"] = CPU
    row(installed)["autoscaling"] = {
        "wanted": 4, "reason": "4 replicas: 90 % of them.", "blocked": "No node can take 1.",
    }  # fmt: skip
    capsys.readouterr()
    assert main(["online-deployment", "show", *WHICH]) == 0
    out = capsys.readouterr().out
    for words in ("2 to 5; 4 wanted", "4 replicas: 90 % of them.", "No node can take 1."):
        assert words in out
    assert main(["online-deployment", "show", *WHICH, "-o", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["autoscaling"]["wanted"] == 4


def test_a_key_that_there_is_not_is_named(
    installed: FakeServer, written: Written, capsys: pytest.CaptureFixture[str]
) -> None:
    file = written("autoscale: {max: 4, target: {in_flight: 2}}")
    assert main(["online-deployment", "create", *WHICH, "-f", file]) == 1
    assert "autoscale.target" in capsys.readouterr().err
