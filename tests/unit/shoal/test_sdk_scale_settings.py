"""`scale_settings`: kept, told, and the count that it begins with taken, as nothing scales here."""

import json
from pathlib import Path

import pytest

from shoal.cli.main import main
from tests.support.shoal_server import FakeServer

SCALED = "{type: target_utilization, min_instances: 2, max_instances: 5}"


@pytest.mark.parametrize(
    ("settings", "count", "told"),
    [
        (f"scale_settings: {SCALED}", 2, True),
        (f"scale_settings: {SCALED}\ninstance_count: 3", 3, True),
        ("scale_settings: {type: default}", 1, False),
        ("scale_settings: {type: default}\ninstance_count: 4", 4, False),
        ("scale_settings: {type: target_utilization}", 1, True),
    ],
)
def test_a_new_deployment_has_the_count_that_is_said_or_the_least(
    installed: FakeServer,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    settings: str,
    count: int,
    told: bool,
) -> None:
    model = tmp_path / "models" / "net" / "1" / "model.onnx"
    model.parent.mkdir(parents=True)
    model.write_bytes(b"graph")
    file = tmp_path / "blue.yml"
    file.write_text(f"model: {{name: net, version: 1, path: ./models}}\n{settings}\n")
    assert main(["online-endpoint", "create", "-n", "ep-1"]) == 0
    which = ("-n", "blue", "-e", "ep-1")
    capsys.readouterr()
    assert main(["online-deployment", "create", *which, "-f", str(file), "-o", "json"]) == 0
    out, err = capsys.readouterr()
    assert ("scale_settings: nothing here scales by itself" in err) == told
    shown = json.loads(out)
    assert (shown["instance_count"], shown["scale_settings"]["type"] in settings) == (count, True)
    changed = ("online-deployment", "update", *which, "--set", "instance_count=6")
    assert main(list(changed)) == 0
    assert main(["online-deployment", "update", *which, "-f", str(file)]) == 0
    (row,) = installed.endpoints["ep-1"]["deployments"]
    assert row["instance_count"] == (count if "instance_count" in settings else 6)
