"""The data folder: private secrets, one owner, kept logs."""

import json
import os
import stat
from pathlib import Path

import pytest

from shoal.local.home import Home, HomeInUse, rotate, tail


def test_secrets_are_private_and_stay(tmp_path: Path) -> None:
    home = Home(tmp_path / "data")
    home.prepare()
    files = list((tmp_path / "data" / "secrets").iterdir())
    first = {file.name: file.read_text() for file in files}
    home.release()
    home.prepare()
    home.release()
    assert {file.name: file.read_text() for file in files} == first
    assert set(first) == {"secret_key", "gateway_token", "redis_password"}
    assert {stat.S_IMODE(file.stat().st_mode) for file in files} == {0o600}


def test_a_second_owner_is_told_who_the_first_is(tmp_path: Path) -> None:
    first, second = Home(tmp_path), Home(tmp_path)
    first.prepare()
    with pytest.raises(HomeInUse, match=rf"process {os.getpid()}.*SHOAL_HOME"):
        second.prepare()
    first.release()
    second.prepare()
    second.release()


def test_the_client_file_is_private(tmp_path: Path) -> None:
    home = Home(tmp_path)
    home.write_client({"url": "http://127.0.0.1:1", "token": "shoal_x"})
    file = tmp_path / "client.json"
    assert json.loads(file.read_text())["token"] == "shoal_x"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_logs_of_earlier_starts_are_kept(tmp_path: Path) -> None:
    log = tmp_path / "web.log"
    for text in ("first", "second", "third", "fourth", "fifth"):
        rotate(log)
        log.write_text(text)
    names = {path.name: path.read_text() for path in tmp_path.iterdir()}
    assert names == {
        "web.log": "fifth",
        "web.log.1": "fourth",
        "web.log.2": "third",
        "web.log.3": "second",
    }


def test_the_tail_of_a_log(tmp_path: Path) -> None:
    log = tmp_path / "web.log"
    assert tail(log) == ""
    log.write_text("\n".join(str(number) for number in range(100)))
    assert tail(log, 3) == "97\n98\n99"
