"""The link of the first run: shown by one start, kept privately until it was used."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from shoal.local import up
from shoal.local.programs import Plan


@pytest.fixture
def plan(tmp_path: Path) -> Plan:
    (tmp_path / "secrets").mkdir()
    home = SimpleNamespace(path=tmp_path)
    return cast(Plan, SimpleNamespace(home=home, studio_url="http://127.0.0.1:8080"))


def shown(plan: Plan, **installation: Any) -> str:
    return up.first_visit(plan, installation).get("First visit", "")


def test_one_start_shows_it_and_later_ones_say_where_it_lies(plan: Plan) -> None:
    file = plan.home.path / "secrets" / "setup-link"
    first = shown(plan, setup_open=True, setup_token="shoal_t")
    assert first.startswith("http://127.0.0.1:8080/setup#shoal_t ")
    assert file.read_text() == "http://127.0.0.1:8080/setup#shoal_t\n"
    assert file.stat().st_mode & 0o777 == 0o600
    assert shown(plan, setup_open=True) == f"the link in {file}"


def test_once_it_was_used_it_is_gone(plan: Plan) -> None:
    file = plan.home.path / "secrets" / "setup-link"
    shown(plan, setup_open=True, setup_token="shoal_t")
    assert shown(plan, setup_open=False) == ""
    assert not file.exists()


def test_an_unread_token_of_a_finished_set_up_is_not_shown(plan: Plan) -> None:
    assert shown(plan, setup_open=False, setup_token="shoal_t") == ""


def test_an_installation_from_before_there_were_links_has_none(plan: Plan) -> None:
    assert shown(plan, setup_open=True) == ""
