"""Which installation is talked to, and that credentials stay private and with their own server."""

import json
import stat
from pathlib import Path

import pytest

from shoal.client import Installation, InstallationNotFound, ShoalError, find_installation
from shoal.client.discovery import save_login


def write(folder: Path, url: str, token: str = "t") -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "client.json").write_text(json.dumps({"url": url, "token": token, "ca_path": "/ca"}))


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    return {"HOME": str(tmp_path / "home")}


def test_the_nearest_parent_with_an_installation_wins(
    tmp_path: Path, environ: dict[str, str]
) -> None:
    write(tmp_path / ".shoal", "http://outer")
    write(tmp_path / "a" / ".shoal", "http://inner")
    deep = tmp_path / "a" / "b" / "c"
    deep.mkdir(parents=True)
    assert find_installation(environ, deep).url == "http://inner"
    assert find_installation(environ, tmp_path).url == "http://outer"


def test_a_named_home_is_the_only_one_looked_at(tmp_path: Path, environ: dict[str, str]) -> None:
    write(tmp_path / ".shoal", "http://here")
    write(tmp_path / "elsewhere", "http://elsewhere")
    environ["SHOAL_HOME"] = str(tmp_path / "elsewhere")
    assert find_installation(environ, tmp_path).url == "http://elsewhere"
    environ["SHOAL_HOME"] = str(tmp_path / "nowhere")
    with pytest.raises(InstallationNotFound):
        find_installation(environ, tmp_path)


def test_variables_override_but_a_token_never_goes_to_another_server(
    tmp_path: Path, environ: dict[str, str]
) -> None:
    write(tmp_path / ".shoal", "http://here", "secret")
    environ["SHOAL_URL"] = "http://other/"
    assert find_installation(environ, tmp_path) == Installation(
        url="http://other", source="SHOAL_URL"
    )
    environ["SHOAL_URL"] = "http://here/"
    assert find_installation(environ, tmp_path).token == "secret"
    environ["SHOAL_TOKEN"] = "mine"
    assert find_installation(environ, tmp_path).token == "mine"
    del environ["SHOAL_URL"]
    assert find_installation(environ, tmp_path).token == "mine"


def test_a_login_is_kept_private_and_used_where_no_installation_is(
    tmp_path: Path, environ: dict[str, str]
) -> None:
    path, _ = save_login(Installation(url="https://far", token="t", username="ada"), environ)
    assert path == tmp_path / "home" / ".config" / "shoal" / "client.json"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    found = find_installation(environ, tmp_path)
    assert (found.url, found.token, found.username) == ("https://far", "t", "ada")
    write(tmp_path / ".shoal", "http://here")
    assert find_installation(environ, tmp_path).url == "http://here"


def test_xdg_moves_the_login(tmp_path: Path, environ: dict[str, str]) -> None:
    environ["XDG_CONFIG_HOME"] = str(tmp_path / "xdg")
    path, _ = save_login(Installation(url="https://far", token="t"), environ)
    assert path.is_relative_to(tmp_path / "xdg")
    assert find_installation(environ, tmp_path).url == "https://far"


def test_nothing_found_says_where_it_looked(tmp_path: Path, environ: dict[str, str]) -> None:
    with pytest.raises(InstallationNotFound) as caught:
        find_installation(environ, tmp_path)
    assert "SHOAL_HOME" in caught.value.detail
    assert any("shoal login" in hint for hint in caught.value.hints)


@pytest.mark.parametrize("text", ["", "{", "[]", '{"token": "t"}'])
def test_a_damaged_file_is_named(tmp_path: Path, environ: dict[str, str], text: str) -> None:
    (tmp_path / ".shoal").mkdir()
    (tmp_path / ".shoal" / "client.json").write_text(text)
    with pytest.raises(ShoalError, match="damaged") as caught:
        find_installation(environ, tmp_path)
    assert "client.json" in caught.value.detail
