"""The command line's contract: clean JSON on stdout, progress on stderr, meaningful exit codes."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml

from shoal.cli.main import main
from tests.support.shoal_server import FakeServer, problem, refuse

Capture = pytest.CaptureFixture[str]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "my net.onnx"
    path.write_bytes(b"graph" * 1000)
    return path


def test_deploy_prints_everything_a_caller_needs_as_clean_json(
    installed: FakeServer, file: Path, capsys: Capture
) -> None:
    assert main(["deploy", str(file), "--name", "net", "--wait", "-o", "json"]) == 0
    out, err = capsys.readouterr()
    result = json.loads(out)
    assert result["endpoint"] == result["model"] == "net"
    assert result["deployment"] == "blue"
    assert result["primaryKey"] == "net-1"
    assert result["provisioning_state"] == "Succeeded"
    assert (result["version"], result["model_name"], result["models"]) == (1, "net", ["net"])
    assert result["scoring_uri"].endswith("/endpoints/net/")
    for wanted in ("Upload", "Inspect", "Load"):
        assert wanted in err


def test_the_name_comes_from_the_file(installed: FakeServer, file: Path, capsys: Capture) -> None:
    assert main(["deploy", str(file), "-o", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["endpoint"] == "my-net"


def test_a_folder_goes_as_a_list_of_its_files(
    installed: FakeServer, tmp_path: Path, capsys: Capture
) -> None:
    (tmp_path / "vision" / "1").mkdir(parents=True)
    (tmp_path / "vision" / "1" / "model.onnx").write_bytes(b"graph")
    assert main(["deploy", str(tmp_path / "vision"), "-o", "json"]) == 0
    (sent,) = installed.uploads["u1"]["files"]
    assert sent["path"] == "vision/1/model.onnx"
    assert "Hash" in capsys.readouterr().err


def test_a_second_deploy_goes_to_the_other_slot_and_says_so(
    installed: FakeServer, file: Path, capsys: Capture
) -> None:
    main(["deploy", str(file), "--name", "net"])
    file.write_bytes(b"better graph")
    capsys.readouterr()
    assert main(["deploy", str(file), "--name", "net", "-o", "json"]) == 0
    out, err = capsys.readouterr()
    assert (json.loads(out)["deployment"], json.loads(out)["version"]) == ("green", 2)
    assert "exists (now blue 100 %)" in err
    assert "Version 2 is deployed beside it as green" in err


def test_a_new_version_gets_as_many_replicas_as_the_one_it_takes_over_from(
    installed: FakeServer, file: Path
) -> None:
    main(["deploy", str(file), "--name", "net", "--instance-count", "3"])
    file.write_bytes(b"better graph")
    main(["deploy", str(file), "--name", "net"])
    assert [d["instance_count"] for d in installed.endpoints["net"]["deployments"]] == [3, 3]


def test_deploying_over_an_endpoint_at_zero_leaves_the_count_to_the_server(
    installed: FakeServer, tmp_path: Path
) -> None:
    source = tmp_path / "net.onnx"
    source.write_bytes(b"graph")
    assert main(["deploy", str(source)]) == 0
    installed.endpoints["net"]["deployments"][0]["instance_count"] = 0
    source.write_bytes(b"another graph")
    bodies: list[dict[str, Any]] = []

    def seen(request: httpx.Request) -> None:
        bodies.append(json.loads(request.content))

    installed.fail_next("POST /deploy", seen)
    assert main(["deploy", str(source)]) == 0
    assert [("instance_count" in body, body["version"]) for body in bodies] == [(False, 2)]


def test_the_same_file_again_is_the_same_version(
    installed: FakeServer, file: Path, capsys: Capture
) -> None:
    main(["deploy", str(file), "--name", "net"])
    capsys.readouterr()
    assert main(["deploy", str(file), "--name", "net", "-o", "json"]) == 0
    out, err = capsys.readouterr()
    assert (json.loads(out)["version"], json.loads(out)["deployment"]) == (1, "blue")
    assert "same content" in err
    assert "runs there already as blue" in err


def test_wrong_configurations_are_mended_when_asked_to(
    installed: FakeServer, file: Path, capsys: Capture
) -> None:
    sent: list[dict[str, object]] = []

    def wrong_name(request: httpx.Request) -> httpx.Response:
        sent.append(json.loads(request.content))
        hint = "Send apply_fixes: true to have it mended as proposed."
        return problem(400, "ConfigInvalid", "The name is wrong", hints=[hint])

    installed.fail_next("POST /models", wrong_name, times=2)
    assert main(["deploy", str(file), "--name", "net"]) == 1
    assert "--apply-fixes" in capsys.readouterr().err
    assert main(["deploy", str(file), "--name", "net", "--apply-fixes"]) == 1
    assert [body.get("apply_fixes") for body in sent] == [None, True]


def test_a_failed_operation_exits_1_with_reason_and_hints(
    installed: FakeServer, file: Path, capsys: Capture
) -> None:
    installed.operation_error = {
        "code": "ModelLoadFailed",
        "message": "The model did not load",
        "detail": "opset 99 is not supported",
        "hints": ["Export with opset 20."],
    }
    assert main(["deploy", str(file), "--name", "net", "-o", "json"]) == 1
    out, err = capsys.readouterr()
    assert out == ""
    for wanted in ("The model did not load", "ModelLoadFailed", "opset 99", "Export with opset 20"):
        assert wanted in err


def test_no_wait_returns_while_it_runs(installed: FakeServer, file: Path, capsys: Capture) -> None:
    assert main(["deploy", str(file), "--name", "net", "--no-wait", "-o", "json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert result["provisioning_state"] == "Creating"
    assert "GET /operations/o1" not in installed.calls


def test_a_name_that_cannot_be_is_wrong_usage_and_one_that_can_is_offered(
    installed: FakeServer, file: Path, capsys: Capture
) -> None:
    assert main(["deploy", str(file), "--name", "my_net"]) == 2
    assert "my-net" in capsys.readouterr().err
    assert installed.calls == []


@pytest.mark.parametrize(
    "arguments",
    [["deploy"], ["deploy", "no-such-file.onnx"], ["nonsense"], ["endpoint", "show"],
     ["logs", "net", "--follow", "-o", "json"]],
)  # fmt: skip
def test_wrong_usage_exits_2(installed: FakeServer, arguments: list[str]) -> None:
    assert main(arguments) == 2


@pytest.mark.parametrize(
    "arguments",
    [["endpoint", "show", "none"], ["endpoint", "delete", "none"], ["model", "show", "none"],
     ["operation", "show", "none"], ["logs", "none"]],
)  # fmt: skip
def test_not_found_exits_3(installed: FakeServer, arguments: list[str], capsys: Capture) -> None:
    assert main(arguments) == 3
    out, err = capsys.readouterr()
    assert out == ""
    assert "Look again." in err


def test_an_absent_server_exits_1_and_says_how_to_start_one(
    installed: FakeServer, capsys: Capture
) -> None:
    installed.fail_next(".*", refuse)
    assert main(["endpoint", "list"]) == 1
    assert "make up" in capsys.readouterr().err


@pytest.mark.parametrize("output", ["json", "yaml", "table"])
def test_lists_come_in_every_form(
    installed: FakeServer, file: Path, capsys: Capture, output: str
) -> None:
    main(["deploy", str(file), "--name", "net"])
    capsys.readouterr()
    assert main(["endpoint", "list", "-o", output]) == 0
    out = capsys.readouterr().out
    if output == "table":
        assert "SCORING URI" in out and "blue 100 %" in out
    else:
        parsed = json.loads(out) if output == "json" else yaml.safe_load(out)
        assert [item["name"] for item in parsed] == ["net"]


def test_an_empty_list_is_still_json(installed: FakeServer, capsys: Capture) -> None:
    assert main(["endpoint", "list", "-o", "json"]) == 0
    assert json.loads(capsys.readouterr().out) == []


def test_credentials_and_deletion(installed: FakeServer, file: Path, capsys: Capture) -> None:
    main(["deploy", str(file), "--name", "net"])
    capsys.readouterr()
    assert main(["endpoint", "get-credentials", "net", "-o", "json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"primaryKey": "net-1", "secondaryKey": "net-2"}
    assert main(["endpoint", "delete", "net", "--yes"]) == 0
    assert installed.endpoints == {}


def test_help_and_usage_do_not_load_http_or_terminal_libraries() -> None:
    script = (
        "import sys; from shoal.cli.main import main; code = main(['deploy', '--help']); "
        "assert code == 0; print(sorted({'httpx', 'rich', 'yaml'} & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines()[-1] == "[]"


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["endpoint", "lst"], 2, "Did you mean 'list'"),
        (["endpoint", "show"], 2, "NAME"),
        (["deploy", "net.onnx", "--nam", "x"], 2, "--name"),
        (["online-endpoint", "show", "-n", "nowhere"], 3, "nowhere"),
        (["online-endpoint", "create", "-f", "bad.yml"], 1, "auth_mode"),
        (["online-endpoint", "create", "-f", "none.yml"], 2, "none.yml"),
        (["online-endpoint", "create", "-n", "Not A Name"], 1, "Not A Name"),
        (["model", "show", "-n", "nowhere", "-v", "1"], 3, "nowhere"),
    ],
)
def test_what_is_wrong_is_named_and_counted_by_its_kind(
    installed: FakeServer,
    file: Path,
    capsys: Capture,
    arguments: list[str],
    code: int,
    said: str,
) -> None:
    Path("bad.yml").write_text("name: net\nauth_mod: key\n")
    assert main(arguments) == code
    err = capsys.readouterr().err
    assert said in err
    assert "Traceback" not in err


def test_a_token_that_has_expired_is_a_failure_with_a_way_out(
    installed: FakeServer, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHOAL_TOKEN", "expired")
    assert main(["endpoint", "list"]) == 1
    err = capsys.readouterr().err
    assert "expired or revoked" in err and "shoal login" in err
