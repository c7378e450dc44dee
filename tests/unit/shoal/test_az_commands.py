"""The az ml commands: each option accepted as az spells it, the same objects come out."""

import hashlib
import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from shoal.cli.main import main
from tests.support.shoal_server import FakeServer, refuse

Capture = pytest.CaptureFixture[str]
Az = Callable[..., int]

# Every verb of `az ml model|online-endpoint|online-deployment` and the options that public scripts
# use with it, cut short ones too: the same words, or a refusal that says why.
SURFACE = {
    "model create": ["--file", "-f", "--name", "-n", "--version", "-v", "--path", "-p", "--type",
                     "-t", "--description", "--tags", "--set", "--stage", "--registry-name"],
    "model list": ["--name", "-n", "--include-archived", "--archived-only", "--max-results"],
    "model show": ["--name", "-n", "--version", "-v", "--label", "-l", "--registry-name"],
    "model update": ["--name", "--version", "--label", "--set"],
    "model archive": ["--name", "-n", "--version", "-v", "--label", "-l"],
    "model restore": ["--name", "-n", "--version", "-v", "--label", "-l"],
    "model download": ["--name", "--version", "--download-path"],
    "model package": [],
    "model share": [],
    "online-endpoint create": ["--name", "-n", "--file", "-f", "--set", "--no-wait", "--local",
                               "--auth-mode"],
    "online-endpoint update": ["--name", "-n", "--file", "-f", "--set", "--no-wait", "--local",
                               "--traffic", "-r", "--mirror-traffic", "-m"],
    "online-endpoint show": ["--name", "-n", "--local"],
    "online-endpoint list": ["--local"],
    "online-endpoint delete": ["--name", "-n", "--yes", "-y", "--no-wait", "--local"],
    "online-endpoint get-credentials": ["--name", "-n"],
    "online-endpoint regenerate-keys": ["--name", "-n", "--key-type", "--yes"],
    "online-endpoint invoke": ["--name", "-n", "--request-file", "-r", "--deployment-name", "-d",
                               "--local"],
    "online-deployment create": ["--name", "-n", "--endpoint-name", "-e", "--file", "-f", "--set",
                                 "--all-traffic", "--no-wait", "--local", "--package-model",
                                 "--with-package", "--skip-script-validation"],
    "online-deployment update": ["--name", "-n", "--endpoint-name", "-e", "--file", "-f", "--set",
                                 "--no-wait", "--local"],
    "online-deployment show": ["--name", "-n", "--endpoint-name", "-e", "--local"],
    "online-deployment list": ["--endpoint-name", "-e", "--local"],
    "online-deployment delete": ["--name", "-n", "--endpoint-name", "-e", "--yes", "--no-wait"],
    "online-deployment get-logs": ["--name", "-n", "--endpoint-name", "-e", "--lines", "-l",
                                   "--container", "-c"],
}  # fmt: skip
EVERYWHERE = ["--resource-group", "-g", "--workspace-name", "-w", "--subscription", "--debug",
              "--only-show-errors", "--output", "-o", "--query"]  # fmt: skip


def deployment_of(files: Path) -> list[str]:
    file = str(files / "deployment.yml")
    return ["ml", "online-deployment", "create", "-e", "ep-1", "-f", file]


@pytest.fixture
def az(installed: FakeServer, monkeypatch: pytest.MonkeyPatch) -> Az:
    monkeypatch.setattr(sys, "argv", ["/usr/local/bin/az"])
    return lambda *arguments: main(list(arguments))


@pytest.fixture
def files(tmp_path: Path) -> Path:
    model = tmp_path / "models" / "model_1" / "1" / "model.onnx"
    model.parent.mkdir(parents=True)
    model.write_bytes(b"graph")
    deployment = {
        "name": "blue",
        "model": {"name": "net", "version": 1, "path": "./models", "type": "triton_model"},
        "instance_type": "Standard_NC6s_v3",
        "instance_count": 1,
    }
    (tmp_path / "deployment.yml").write_text(yaml.safe_dump(deployment))
    (tmp_path / "endpoint.yml").write_text("name: other\nauth_mode: Key\ntags: {team: vision}\n")
    return tmp_path


@pytest.mark.parametrize("command", sorted(SURFACE))
def test_each_command_has_az_s_options(command: str) -> None:
    import click

    from shoal.cli.main import cli

    group, verb = command.split()
    found: click.Command = cli.commands[group]
    assert isinstance(found, click.Group)
    known = {option for parameter in found.commands[verb].params for option in parameter.opts}
    wanted = SURFACE[command] + (EVERYWHERE if SURFACE[command] else [])
    assert set(wanted) <= known


def test_the_seed_s_commands_make_its_objects(az: Az, files: Path, capsys: Capture) -> None:
    deployment = str(files / "deployment.yml")
    assert (
        az("ml", "online-endpoint", "create", "-n", "ep-1", "-f", str(files / "endpoint.yml")) == 0
    )
    shown = json.loads(capsys.readouterr().out)  # JSON without asking, as az prints
    assert (shown["name"], shown["tags"], shown["auth_mode"]) == ("ep-1", {"team": "vision"}, "key")
    made = az("ml", "online-deployment", "create", "--name", "blue", "--endpoint", "ep-1",
              "-f", deployment, "--all-traffic")  # fmt: skip
    assert made == 0
    out, err = capsys.readouterr()
    assert json.loads(out)["model"] == "azureml:net:1"
    assert "Upload" in err
    query = ("--query", "provisioning_state", "-o", "tsv")
    assert az("ml", "online-deployment", "show", "--name", "blue", "-e", "ep-1", *query) == 0
    assert az("ml", "online-endpoint", "show", "-n", "ep-1", "--query", "traffic.blue") == 0
    token = ("--query", "accessToken", "-o", "tsv")
    assert az("ml", "online-endpoint", "get-credentials", "-n", "ep-1", *token) == 0
    assert capsys.readouterr().out == "Succeeded\n100\nep-1-1\n"
    assert az("ml", "online-endpoint", "delete", "-n", "ep-1", "--yes") == 0
    assert az("ml", "model", "archive", "--name", "net", "--version", "1") == 0
    assert az("ml", "online-endpoint", "show", "-n", "ep-1") == 3


def test_only_what_changed_is_sent_again(
    az: Az, files: Path, installed: FakeServer, capsys: Capture
) -> None:
    az("ml", "online-endpoint", "create", "-n", "ep-1")
    create = deployment_of(files)
    assert az(*create) == 0
    before = len(installed.uploads)
    installed.calls.clear()
    sha256 = hashlib.sha256(b"graph").hexdigest()
    installed.models["net"][0]["manifest"] = [
        {"path": "model_1/1/model.onnx", "size": 5, "sha256": sha256}
    ]
    assert az(*create, "--set", "instance_count=3", "tags.tier=gold") == 0
    assert len(installed.uploads) == before
    assert "PATCH /endpoints/ep-1/deployments/blue" in installed.calls
    row = installed.endpoints["ep-1"]["deployments"][0]
    assert (row["instance_count"], row["tags"]) == (3, {"tier": "gold"})
    capsys.readouterr()


def test_traffic_is_given_in_one_text_or_several(
    az: Az, files: Path, installed: FakeServer
) -> None:
    az("ml", "online-endpoint", "create", "-n", "ep-1")
    for name in ("blue", "green"):
        az("ml", "online-deployment", "create", "-n", name, "-e", "ep-1", "-f",
           str(files / "deployment.yml"))  # fmt: skip
    update = ("ml", "online-endpoint", "update", "--name", "ep-1")
    assert az(*update, "--traffic", "blue=90 green=10") == 0
    assert installed.endpoints["ep-1"]["traffic"] == {"blue": 90, "green": 10}
    assert az(*update, "--traffic", "blue=100", "green=0", "--mirror-traffic", "green=10") == 0
    assert installed.endpoints["ep-1"]["traffic"] == {"blue": 100}
    assert installed.endpoints["ep-1"]["mirror_traffic"] == {"green": 10}
    assert az(*update, "--traffic", "blue=half") == 2


@pytest.mark.parametrize(
    ("setting", "field", "expected"),
    [
        ('cors_origins=["https://a.example"]', "cors_origins", ["https://a.example"]),
        ("max_request_bytes=1024", "max_request_bytes", 1024),
        ('rate_limit={"requests_per_second":5,"per":"key"}', "rate_limit",
         {"requests_per_second": 5, "per": "key"}),
        ("cors_origins=[]", "cors_origins", []),
        ("max_request_bytes=0", "max_request_bytes", None),
        ("rate_limit={}", "rate_limit", None),
    ],
)  # fmt: skip
def test_limits_are_set_and_taken_away(
    az: Az, installed: FakeServer, setting: str, field: str, expected: object
) -> None:
    az("ml", "online-endpoint", "create", "-n", "ep-1", "--set", "max_request_bytes=7")
    update = ("ml", "online-endpoint", "update", "--name", "ep-1")
    assert az(*update, "--set", 'cors_origins=["http://old"]', "rate_limit.burst=9") == 0
    assert az(*update, "--set", setting) == 0
    row = installed.endpoints["ep-1"]
    old = {"cors_origins": ["http://old"], "max_request_bytes": 7, "rate_limit": {"burst": 9}}
    assert {name: row[name] for name in old} == {**old, field: expected}


def test_show_tells_the_limits(az: Az, files: Path, capsys: Capture) -> None:
    (files / "limits.yml").write_text(
        "name: ep-1\ncors_origins: [https://shop.example]\nmax_request_bytes: 1048576\n"
        "rate_limit: {requests_per_second: 5, burst: 20, per: key}\n"
    )
    show = ("ml", "online-endpoint", "show", "-n", "ep-1", "-o", "table")
    assert az("ml", "online-endpoint", "create", "-n", "ep-1", "-o", "none") == 0
    assert az(*show) == 0
    assert "Rate" not in capsys.readouterr().out
    update = ("ml", "online-endpoint", "update", "-f", str(files / "limits.yml"), "-o", "none")
    assert az(*update) == 0
    assert az(*show) == 0
    shown = dict(line.split(None, 1) for line in capsys.readouterr().out.splitlines())
    assert shown["CORS"] == "origins     https://shop.example"
    assert shown["Largest"] == "request  1.00 MiB"
    assert shown["Rate"].strip() == "5 requests/s, 20 at once, each key"


def test_a_deployment_is_stopped_and_started(
    az: Az, files: Path, installed: FakeServer, capsys: Capture
) -> None:
    az("ml", "online-endpoint", "create", "-n", "ep-1")
    create = ("ml", "online-deployment", "create", "-n", "blue", "-e", "ep-1", "--all-traffic")
    assert az(*create, "-f", str(files / "deployment.yml")) == 0
    which = ("--name", "blue", "--endpoint-name", "ep-1")
    query = ("--query", "serving_state", "-o", "tsv")
    capsys.readouterr()
    assert az("ml", "online-deployment", "stop", *which) == 1
    assert "blue answers 100 %" in capsys.readouterr().err
    assert az("ml", "online-deployment", "stop", *which, "--force", *query) == 0
    assert az("ml", "online-deployment", "start", *which, "--no-wait", *query) == 0
    assert az("ml", "online-deployment", "restart", *which, *query) == 0
    bodies = []
    installed.fail_next(".*/rollback", lambda request: bodies.append(json.loads(request.content)))
    assert az("ml", "online-deployment", "rollback", *which, "--revision", "1", *query) == 0
    assert bodies == [{"revision": 1}]
    assert capsys.readouterr().out == "Stopped\nHealthy\nHealthy\nHealthy\n"
    verbs = ("/stop", "/start", "/restart", "/rollback")
    asked = [call for call in installed.calls if call.endswith(verbs)]
    assert asked[-3:] == [f"POST /endpoints/ep-1/deployments/blue{verb}" for verb in verbs[1:]]


def test_a_token_endpoint_gives_tokens(az: Az, capsys: Capture) -> None:
    az("ml", "online-endpoint", "create", "-n", "ep-1", "--auth-mode", "aml_token", "-o", "none")
    assert az("ml", "online-endpoint", "get-credentials", "-n", "ep-1") == 0
    assert json.loads(capsys.readouterr().out) == {
        "accessToken": "ep-1-token",
        "expiryTimeUtc": 2000,
        "refreshAfterTimeUtc": 1000,
        "tokenType": "Bearer",
    }


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["ml", "online-endpoint", "show"], "--name"),
        (["ml", "online-endpoint", "show", "-n", "x", "--colour", "red"], "--colour"),
        (["ml", "online-endpoint", "create", "--n", "x"], "ambiguous option: --n"),
        (["ml", "online-endpoint", "create"], "--name, or --file"),
        (["ml", "model", "package", "-n", "x"], "no package"),
        (["ml", "model", "show", "-n", "x", "--registry-name", "r"], "own registry"),
        (["ml", "online-endpoint", "delete", "-n", "ep-1"], "--yes"),
        (["vm", "create"], "No such command 'vm'"),
    ],
)
def test_wrong_usage_is_2_and_says_what(
    az: Az, capsys: Capture, arguments: list[str], said: str
) -> None:
    az("ml", "online-endpoint", "create", "-n", "ep-1")
    assert az(*arguments) == 2
    assert said in capsys.readouterr().err


def test_stand_ins_for_the_rest_of_az(az: Az, capsys: Capture) -> None:
    assert az("account", "show", "--query", "name", "-o", "tsv") == 0
    assert capsys.readouterr().out == "shoal\n"
    assert az("configure", "--defaults", "group=g", "workspace=w") == 0
    assert az("extension", "add", "-n", "ml", "-y") == 0


def test_bad_files_are_1_with_every_fault_and_a_suggestion(
    az: Az, files: Path, capsys: Capture
) -> None:
    bad = files / "bad.yml"
    bad.write_text("name: my_endpoint\nauth_mod: key\ntraffic: {blue: 120}\n")
    assert az("ml", "online-endpoint", "create", "-f", str(bad)) == 1
    err = capsys.readouterr().err
    for said in ("BadArgument", "did you mean auth_mode", "my-endpoint", "120 is no percentage"):
        assert said in err
    bad.write_text("name: [")
    assert az("ml", "online-endpoint", "create", "-f", str(bad)) == 1
    assert "is not YAML" in capsys.readouterr().err
    assert az("ml", "online-endpoint", "create", "-f", str(files / "none.yml")) == 2


def test_missing_scripts_and_images_are_refused_before_anything_is_sent(
    az: Az, files: Path, installed: FakeServer, capsys: Capture
) -> None:
    az("ml", "online-endpoint", "create", "-n", "ep-1")
    create = deployment_of(files)
    assert az(*create, "--set", "code_configuration.scoring_script=score.py") == 1
    assert "code_configuration.scoring_script: score.py is no file" in capsys.readouterr().err
    assert az(*create, "--set", "environment.image=img:1") == 1
    assert installed.uploads == {}


def test_a_lost_connection_in_an_upload_is_gone_on_with(
    az: Az, files: Path, installed: FakeServer
) -> None:
    installed.fail_next(r"PATCH /uploads/u1", refuse, times=2)
    create = ("ml", "model", "create", "-n", "net", "-p", str(files / "models"))
    assert az(*create) == 0
    assert [row["version"] for row in installed.models["net"]] == [1]


def test_a_version_that_is_no_number_is_refused(az: Az, files: Path, capsys: Capture) -> None:
    path = str(files / "models")
    assert az("ml", "model", "create", "-n", "net", "-v", "1.2-beta", "-p", path) == 1
    assert "whole numbers" in capsys.readouterr().err


def test_a_model_s_words_are_changed_and_kept(az: Az, files: Path, capsys: Capture) -> None:
    path = str(files / "models")
    create = ("ml", "model", "create", "-n", "net", "-p", path, "--tags", "a=1", "b=2", "-s", "Dev")
    assert az(*create) == 0
    shown = json.loads(capsys.readouterr().out)
    assert (shown["tags"], shown["stage"], shown["version"]) == ({"a": "1", "b": "2"}, "Dev", "1")
    update = ("ml", "model", "update", "-n", "net", "-v", "1", "--set", "description=better")
    assert az(*update) == 0
    assert json.loads(capsys.readouterr().out)["description"] == "better"
