"""Users, instance types and trials on a terminal: what is sent, what is printed, exit codes."""

import io
import json
from typing import Any

import httpx
import pytest

from shoal.cli.main import main
from shoal.client.discovery import project_option
from tests.support.shoal_server import FakeServer, problem

Capture = pytest.CaptureFixture[str]
ADA: dict[str, Any] = {"username": "ada", "role": "deployer", "active": True, "created_at": "",
                       "last_login": None, "sign_in": "oidc"}  # fmt: skip
CI: dict[str, Any] = {
    "name": "ci", "role": "deployer", "created_at": "2026-01-01T00:00:00Z",
    "tokens": [{"prefix": "shoal_abc", "created_at": "2026-01-01T00:00:00Z",
                "expires_at": "2026-04-01T00:00:00Z", "last_used_at": None}],
}  # fmt: skip
GPU: dict[str, Any] = {
    "name": "gpu", "aliases": ["Standard_NC6s_v3"], "description": "One.", "gpu_count": 1,
    "gpu_policy": "preferred", "gpu_model": "T4", "gpu_memory_bytes": 0, "cpu_count": 4,
    "memory_bytes": 1 << 30, "node_labels": {}, "used_by": 2, "nodes": ["one"],
}  # fmt: skip
TRIAL: dict[str, Any] = {
    "id": "t1", "state": "Running", "model": "net", "version": 2, "node": "", "phase": "placing",
    "load_seconds": None, "memory_bytes": 0, "effective": {}, "log": "", "error": None,
}  # fmt: skip


class Sent:
    """Answers, and remembers the bodies it was sent."""

    def __init__(self, server: FakeServer, call: str, *bodies: Any, status: int = 200) -> None:
        self.bodies: list[Any] = []
        self.queries: list[str] = []
        left = list(bodies)

        def answer(request: httpx.Request) -> httpx.Response:
            said = request.headers.get("Content-Type") == "application/json"
            self.bodies.append(json.loads(request.content) if said else None)
            self.queries.append(request.url.query.decode())
            return httpx.Response(status, json=left.pop(0))

        server.fail_next(call, answer, times=len(bodies))


def page(*items: Any) -> dict[str, Any]:
    return {"items": list(items), "next_cursor": None}


def test_users_are_listed_and_added(installed: FakeServer, capsys: Capture) -> None:
    Sent(installed, "GET /users", page(ADA))
    assert main(["user", "list"]) == 0
    assert capsys.readouterr().out.split()[-6:] == ["ada", "deployer", "yes", "oidc", "no", "–"]
    sent = Sent(installed, "POST /users", ADA | {"password": "made-up"}, status=201)
    assert main(["user", "add", "ada", "--role", "deployer"]) == 0
    assert sent.bodies == [{"username": "ada", "role": "deployer", "password": None}]
    assert "made-up" in capsys.readouterr().out


def test_a_given_password_comes_from_stdin(
    installed: FakeServer, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("secret words\n"))
    sent = Sent(installed, "POST /users/ada/password", {"password": None})
    assert main(["user", "reset-password", "ada", "--password-stdin"]) == 0
    assert sent.bodies == [{"password": "secret words"}]
    out = capsys.readouterr().out
    assert "as given" in out and "secret" not in out


def test_only_what_is_said_changes(installed: FakeServer, capsys: Capture) -> None:
    sent = Sent(installed, "PATCH /users/ada", ADA | {"active": False}, ADA)
    assert main(["user", "update", "ada", "--inactive"]) == 0
    assert sent.bodies == [{"active": False}]
    assert main(["user", "update", "ada", "--sign-in", "oidc"]) == 0
    assert sent.bodies[1:] == [{"sign_in": "oidc"}]
    assert main(["user", "update", "ada"]) == 2
    assert main(["user", "update", "ada", "--role", "king"]) == 2
    assert "--role" in capsys.readouterr().err
    installed.fail_next("PATCH /users/eve", lambda _: problem(404, "UserNotFound", "No eve"))
    assert main(["user", "update", "eve", "--active"]) == 3
    installed.fail_next("GET /users", lambda _: problem(403, "Forbidden", "Needs the role admin"))
    assert main(["user", "list"]) == 1


def test_service_accounts(installed: FakeServer, capsys: Capture) -> None:
    sent = Sent(installed, "POST /service-accounts", CI | {"token": "shoal_once"}, status=201)
    assert main(["service-account", "create", "ci", "--role", "deployer", "--days", "7"]) == 0
    assert sent.bodies == [{"name": "ci", "role": "deployer", "days": 7}]
    assert "shoal_once" in capsys.readouterr().out
    sent = Sent(installed, "POST /service-accounts/ci/rotate", CI | {"token": "again"}, status=201)
    assert main(["service-account", "rotate", "ci", "--overlap-hours", "2"]) == 0
    assert sent.bodies == [{"days": None, "overlap_s": 7200}]
    assert "again" in capsys.readouterr().out
    Sent(installed, "GET /service-accounts", page(CI))
    assert main(["service-account", "list", "--query", "[].tokens[].prefix", "-o", "json"]) == 0
    assert "shoal_abc" in capsys.readouterr().out
    sent = Sent(installed, "PATCH /service-accounts/ci", CI)
    assert main(["service-account", "update", "ci", "--role", "viewer"]) == 0
    assert sent.bodies == [{"role": "viewer"}]
    Sent(installed, "DELETE /service-accounts/ci", None, status=204)
    assert main(["service-account", "delete", "ci", "--yes"]) == 0


def test_instance_types(installed: FakeServer, capsys: Capture) -> None:
    Sent(installed, "GET /instance-types", page(GPU))
    assert main(["instance-type", "list"]) == 0
    assert "1 T4 (preferred)" in capsys.readouterr().out
    Sent(installed, "GET /instance-types/Standard_NC6s_v3", GPU)
    assert main(["instance-type", "show", "Standard_NC6s_v3", "--query", "name"]) == 0
    assert "gpu" in capsys.readouterr().out


def test_a_trial_is_followed_to_its_end(installed: FakeServer, capsys: Capture) -> None:
    sent = Sent(installed, "POST /try-loads", TRIAL, status=202)
    loading = TRIAL | {"node": "one", "phase": "loading"}
    done = loading | {"state": "Succeeded", "load_seconds": 1.5, "memory_bytes": 3 << 20}
    Sent(installed, "GET /try-loads/t1", loading, loading, done)
    assert main(["model", "try-load", "net:2", "--node", "one"]) == 0
    assert sent.bodies == [{"model": "net", "version": "2", "node": "one"}]
    shown = capsys.readouterr()
    assert shown.err.count("loading on one") == 1
    assert "1.50 s" in shown.out and "3.00 MiB" in shown.out


def test_a_trial_that_fails_says_why_and_exits_1(installed: FakeServer, capsys: Capture) -> None:
    error = {"code": "ModelLoadFailed", "message": "It does not load.", "detail": "no such op",
             "hints": ["Export it again."]}  # fmt: skip
    Sent(installed, "POST /try-loads", TRIAL | {"state": "Failed", "error": error}, status=202)
    assert main(["model", "try-load", "net"]) == 1
    out = capsys.readouterr().out
    for words in ("It does not load.", "no such op", "Export it again."):
        assert words in out


def test_ctrl_c_ends_the_trial(
    installed: FakeServer, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(_: httpx.Request) -> httpx.Response:
        raise KeyboardInterrupt

    Sent(installed, "POST /try-loads", TRIAL, status=202)
    installed.fail_next("GET /try-loads/t1", interrupted)
    Sent(installed, "POST /try-loads/t1/cancel", TRIAL | {"state": "Canceled"})
    assert main(["model", "try-load", "net"]) == 130
    assert installed.calls[-1] == "POST /try-loads/t1/cancel"


VISION = {
    "name": "vision", "display_name": "Computer vision", "archived": False, "max_replicas": None,
    "max_gpus": 4, "max_bytes": 2 << 30, "used_replicas": 3, "used_gpus": 2, "used_bytes": 1 << 30,
    "created_by": "ada", "created_at": "2026-11-26T12:00:00Z",
}  # fmt: skip


def test_projects_and_their_members(installed: FakeServer, capsys: Capture) -> None:
    sent = Sent(installed, "POST /projects", VISION, status=201)
    assert main(["project", "create", "vision", "--max-gpus", "4", "--max-bytes", "none"]) == 0
    assert sent.bodies == [{"name": "vision", "max_gpus": 4, "max_bytes": None}]
    Sent(installed, "GET /projects", page(VISION))
    assert main(["project", "list"]) == 0
    out = capsys.readouterr().out
    for words in ("vision", "2 of 4", "1.00 GiB of 2.00 GiB"):
        assert words in out
    sent = Sent(installed, "PATCH /projects/vision", VISION)
    assert main(["project", "update", "vision", "--max-replicas", "0"]) == 0
    assert sent.bodies == [{"max_replicas": 0}]
    for verb in ("archive", "restore"):
        Sent(installed, f"POST /projects/vision/{verb}", VISION)
        assert main(["project", verb, "vision"]) == 0
    mia = {"username": "mia", "role": "deployer", "created_at": VISION["created_at"]}
    sent = Sent(installed, "PUT /projects/vision/members/mia", mia)
    assert main(["project", "add-member", "vision", "mia", "--role", "deployer"]) == 0
    assert sent.bodies == [{"role": "deployer"}]
    Sent(installed, "GET /projects/vision/members", page(mia))
    assert main(["project", "members", "vision"]) == 0
    assert "deployer" in capsys.readouterr().out
    Sent(installed, "DELETE /projects/vision/members/mia", None, status=204)
    assert main(["project", "remove-member", "vision", "mia"]) == 0


@pytest.mark.parametrize("said", ["-1", "many", "1.5"])
def test_a_limit_that_is_no_number_is_refused_with_what_was_expected(
    installed: FakeServer, capsys: Capture, said: str
) -> None:
    assert main(["project", "create", "vision", f"--max-gpus={said}"]) == 2
    err = capsys.readouterr().err
    assert said in err and "expected a whole number, or none" in err
    assert main(["project", "update", "vision"]) == 2


@pytest.mark.parametrize("by", ["option", "environment"])
def test_a_project_that_is_chosen_filters_lists_and_takes_what_is_new(
    installed: FakeServer, monkeypatch: pytest.MonkeyPatch, by: str
) -> None:
    chosen = ["--project", "vision"]
    if by == "environment":
        monkeypatch.setenv("SHOAL_PROJECT", "vision")
        chosen = []
    queries: list[str] = []

    def listed(request: httpx.Request) -> httpx.Response:
        queries.append(request.url.params.get("project", ""))
        return httpx.Response(200, json=page())

    for path in ("/models", "/endpoints", "/environments", "/operations"):
        installed.fail_next(f"GET {path}", listed)
    for command in ("model", "endpoint", "environment", "operation"):
        assert main([*chosen, command, "list"]) == 0
    assert queries == ["vision"] * 4
    assert project_option.get() == ""
