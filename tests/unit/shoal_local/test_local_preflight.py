"""What stands in the way is said before anything starts, all of it, with the setting to change."""

import contextlib
import shutil
import socket
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from shoal.local import ports, preflight, settings
from shoal.local.preflight import PreflightFailed, WantedPort


@pytest.fixture
def held() -> Iterator[contextlib.ExitStack]:
    with contextlib.ExitStack() as stack:
        yield stack


def test_a_port_in_use_names_port_and_setting(tmp_path: Path, held: contextlib.ExitStack) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(PreflightFailed) as caught:
            preflight.check(tmp_path, [WantedPort("SHOAL_STUDIO_PORT", port)], held)
    assert caught.value.problems == [
        f"Port {port} is in use. Set SHOAL_STUDIO_PORT to another port, or 0 for a free one."
    ]


def test_every_problem_is_told_at_once(tmp_path: Path, held: contextlib.ExitStack) -> None:
    with (
        socket.create_server(("127.0.0.1", 0)) as one,
        socket.create_server(("127.0.0.1", 0)) as two,
    ):
        wanted = [
            WantedPort("SHOAL_STUDIO_PORT", one.getsockname()[1]),
            WantedPort("SHOAL_GATEWAY_PORT", two.getsockname()[1]),
        ]
        with pytest.raises(PreflightFailed) as caught:
            preflight.check(tmp_path, wanted, held)
    assert len(caught.value.problems) == 2


def test_zero_finds_free_ports_all_different(tmp_path: Path, held: contextlib.ExitStack) -> None:
    wanted = [WantedPort(name, 0) for name in "ABCD"]
    assert len(set(preflight.check(tmp_path, wanted, held).values())) == 4


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere ports are only looked up")
def test_a_reserved_port_is_for_those_who_ask_for_it(held: contextlib.ExitStack) -> None:
    port = ports.reserve(0, held)
    for _ in range(2):  # the program, and again after a restart
        with socket.create_server(("127.0.0.1", port)) as server:
            socket.create_connection(server.getsockname()).close()
            with pytest.raises(OSError, match="in use"):
                ports.reserve(port, held)
    assert ports.reserve(port, held) == port


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere ports are only looked up")
def test_what_was_checked_stays_reserved_until_it_is_given_up(tmp_path: Path) -> None:
    with contextlib.ExitStack() as held, socket.socket() as stranger:
        port = preflight.check(tmp_path, [WantedPort("A", 0)], held)["A"]
        with pytest.raises(OSError, match="in use"):
            stranger.bind(("127.0.0.1", port))
        held.close()
        stranger.bind(("127.0.0.1", port))


def test_one_port_cannot_serve_two(tmp_path: Path, held: contextlib.ExitStack) -> None:
    with contextlib.ExitStack() as before:
        port = preflight.check(tmp_path, [WantedPort("A", 0)], before)["A"]
    with pytest.raises(PreflightFailed, match="used twice"):
        preflight.check(tmp_path, [WantedPort("A", port), WantedPort("B", port)], held)


def test_a_full_disk_is_told_in_numbers(
    tmp_path: Path, held: contextlib.ExitStack, monkeypatch: pytest.MonkeyPatch
) -> None:
    usage = shutil.disk_usage(tmp_path)._replace(free=3 * 2**20)
    monkeypatch.setattr(preflight.shutil, "disk_usage", lambda _: usage)
    with pytest.raises(PreflightFailed, match=r"Only 3 MiB are free at .*512 MiB.*SHOAL_HOME"):
        preflight.check(tmp_path / "not" / "there", [], held)


@pytest.mark.parametrize("value", ["http", "-1", "70000", "8 0"])
def test_a_port_that_is_none_is_refused(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    monkeypatch.setenv("SHOAL_STUDIO_PORT", value)
    with pytest.raises(settings.SettingsError, match="SHOAL_STUDIO_PORT"):
        settings.load()
