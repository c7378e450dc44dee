"""`shoal model approve`: what is asked, what is printed, and the refusal as the server words it."""

from typing import Any

import httpx
import pytest

from shoal.cli.main import main
from tests.support.shoal_server import FakeServer, problem

Capture = pytest.CaptureFixture[str]
CODE: dict[str, Any] = {
    "state": "allowed",
    "reasons": [{"file": "m/1/model.py", "kind": "python", "message": "m/1/model.py is Python."}],
    "approved_by": "ada",
    "approved_at": "2026-01-01T00:00:00Z",
}


def answer(code: dict[str, Any]) -> Any:
    return lambda _: httpx.Response(200, json={"model": "m", "version": 3, "code": code})


def test_a_version_is_approved_by_its_number(installed: FakeServer, capsys: Capture) -> None:
    installed.fail_next("POST /models/m/versions/3/approve", answer(CODE))
    assert main(["model", "approve", "--name", "m", "--version", "3"]) == 0
    said = capsys.readouterr()
    assert "m/1/model.py is Python." in said.out
    assert "Model m version 3 may run" in said.err


def test_what_needs_no_approval_is_told(installed: FakeServer, capsys: Capture) -> None:
    none = {"state": "none", "reasons": [], "approved_by": None, "approved_at": None}
    installed.fail_next("POST /models/m/versions/3/approve", answer(none))
    assert main(["model", "approve", "--name", "m", "--version", "3"]) == 0
    assert "needs no approval" in capsys.readouterr().err


def test_the_version_must_be_said(installed: FakeServer, capsys: Capture) -> None:
    assert main(["model", "approve", "--name", "m"]) == 2
    assert "Missing option '--version'" in capsys.readouterr().err
    assert installed.calls == []


def test_who_may_not_is_told_who_may(installed: FakeServer, capsys: Capture) -> None:
    refusal = problem(403, "Forbidden", "This needs the role admin; vera is viewer.")
    installed.fail_next("POST /models/m/versions/3/approve", lambda _: refusal)
    assert main(["model", "approve", "--name", "m", "--version", "3"]) == 1
    assert "role admin" in capsys.readouterr().err
