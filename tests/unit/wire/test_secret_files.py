"""A secret that is empty is none: every program says so when it starts."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from django.core.exceptions import ImproperlyConfigured

from controlplane.config import env
from controlplane.gateway import settings as gateway
from node_agent import settings as node
from wire.secret_files import EmptySecret, secret

PROGRAMS: list[tuple[str, Callable[[], object], type[Exception]]] = [
    ("SHOAL_GATEWAY_TOKEN", gateway.load, gateway.SettingsError),
    ("SHOAL_JOIN_TOKEN", node.load, node.SettingsError),
    ("SHOAL_GATEWAY_TOKEN", lambda: env.secret("SHOAL_GATEWAY_TOKEN"), ImproperlyConfigured),
    ("SHOAL_SECRET_KEY", lambda: env.secret("SHOAL_SECRET_KEY"), ImproperlyConfigured),
    (
        "SHOAL_NODE_TOKEN",
        lambda: env.optional_secret("SHOAL_NODE_TOKEN", least=32),
        ImproperlyConfigured,
    ),
]


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("SHOAL_GATEWAY_TOKEN", "SHOAL_JOIN_TOKEN", "SHOAL_SECRET_KEY", "SHOAL_NODE_TOKEN"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(f"{name}_FILE", raising=False)
    monkeypatch.setenv("SHOAL_HOME", str(tmp_path / "home"))


@pytest.mark.parametrize(("name", "start", "kind"), PROGRAMS)
@pytest.mark.parametrize("content", ["", "\n", " \t\r\n"])
def test_an_empty_file_is_refused_at_the_start(
    name: str,
    start: Callable[[], object],
    kind: type[Exception],
    content: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    file = tmp_path / "secret"
    file.write_text(content)
    monkeypatch.setenv(f"{name}_FILE", str(file))
    with pytest.raises(kind, match=f"{name}_FILE='.*secret' is an empty file: expected a secret"):
        start()


def test_a_token_of_all_nodes_is_none_or_long(monkeypatch: pytest.MonkeyPatch) -> None:
    def told() -> str:
        return env.optional_secret("SHOAL_NODE_TOKEN", least=32)

    assert told() == ""
    monkeypatch.setenv("SHOAL_NODE_TOKEN", 32 * "x")
    assert told() == 32 * "x"
    monkeypatch.setenv("SHOAL_NODE_TOKEN", 31 * "x")
    with pytest.raises(ImproperlyConfigured, match=r"SHOAL_NODE_TOKEN has 31 .* 32 or more"):
        told()


@pytest.mark.parametrize("value", [" ", "\n"])
def test_a_blank_variable_is_refused(value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHOAL_GATEWAY_TOKEN", value)
    with pytest.raises(EmptySecret, match="SHOAL_GATEWAY_TOKEN is blank"):
        secret(os.environ, "SHOAL_GATEWAY_TOKEN")


def test_the_variable_comes_before_files_and_the_default_file_last(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    named, default = tmp_path / "named", tmp_path / "default"
    assert secret(os.environ, "SHOAL_JOIN_TOKEN", default) is None
    default.write_text("from the default\n")
    assert secret(os.environ, "SHOAL_JOIN_TOKEN", default) == "from the default"
    named.write_text("from the file\n")
    monkeypatch.setenv("SHOAL_JOIN_TOKEN_FILE", str(named))
    assert secret(os.environ, "SHOAL_JOIN_TOKEN", default) == "from the file"
    monkeypatch.setenv("SHOAL_JOIN_TOKEN", "from the variable")
    assert secret(os.environ, "SHOAL_JOIN_TOKEN", default) == "from the variable"
