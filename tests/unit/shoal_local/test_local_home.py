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


def test_a_folder_that_was_open_to_others_is_closed(tmp_path: Path) -> None:
    larger_disk, stranger = tmp_path / "disk", tmp_path / "stranger"
    larger_disk.mkdir()
    stranger.write_text("not ours")
    home = tmp_path / "data"
    files = [
        *("db/main.db", "db/main.db-wal", "db/main.db-shm", "db/metrics.db", "secrets/secret_key"),
        *("redis/appendonlydir/appendonly.aof.1.incr.aof", "redis/redis.conf", "tls/ca-key.pem"),
        *("node/credential.json", "logs/web.log", "logs/web.log.1", "gateway/ads/.clusters.json"),
        *("client.json", "beat/schedule"),
    ]
    for name in files:
        file = home / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("x")
        file.chmod(0o666)
    (home / "gateway" / "run").mkdir()
    (home / "gateway" / "run").chmod(0o777)
    (home / "blobs").symlink_to(larger_disk)
    (home / "db" / "link").symlink_to(stranger)
    (home / "logs" / "gone").symlink_to(tmp_path / "gone")
    for folder in (home, larger_disk, *(path for path in home.iterdir() if path.is_dir())):
        folder.chmod(0o755)
    stranger.chmod(0o644)
    data = Home(home)
    data.prepare()
    data.release()
    found = {path: stat.S_IMODE(path.stat().st_mode) for path in [home, *home.rglob("[!g]*")]
             if not path.is_symlink()}  # fmt: skip
    assert {path: mode for path, mode in found.items() if mode & 0o077} == {}
    assert stat.S_IMODE((home / "db" / "main.db").stat().st_mode) == 0o600
    assert stat.S_IMODE((home / "db").stat().st_mode) == 0o700
    assert stat.S_IMODE((home / "gateway" / "run").stat().st_mode) == 0o700
    assert stat.S_IMODE(larger_disk.stat().st_mode) == 0o700
    assert stat.S_IMODE(stranger.stat().st_mode) == 0o644


def test_a_folder_that_all_users_share_is_refused_and_left_alone(tmp_path: Path) -> None:
    tmp_path.chmod(0o1777)
    with pytest.raises(OSError, match=r"all users share it\. Set SHOAL_HOME to a folder"):
        Home(tmp_path).prepare()
    assert stat.S_IMODE(tmp_path.stat().st_mode) == 0o1777
    assert not list(tmp_path.iterdir())


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
