"""What stands in the way is said before anything starts, all of it, with the setting to change."""

import shutil
import socket
from pathlib import Path

import pytest

from shoal.local import preflight, settings
from shoal.local.preflight import PreflightFailed, WantedPort


def test_a_port_in_use_names_port_and_setting(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(PreflightFailed) as caught:
            preflight.check(tmp_path, [WantedPort("SHOAL_STUDIO_PORT", port)])
    assert caught.value.problems == [
        f"Port {port} is in use. Set SHOAL_STUDIO_PORT to another port, or 0 for a free one."
    ]


def test_every_problem_is_told_at_once(tmp_path: Path) -> None:
    with (
        socket.create_server(("127.0.0.1", 0)) as one,
        socket.create_server(("127.0.0.1", 0)) as two,
    ):
        wanted = [
            WantedPort("SHOAL_STUDIO_PORT", one.getsockname()[1]),
            WantedPort("SHOAL_GATEWAY_PORT", two.getsockname()[1]),
        ]
        with pytest.raises(PreflightFailed) as caught:
            preflight.check(tmp_path, wanted)
    assert len(caught.value.problems) == 2


def test_zero_finds_free_ports_all_different(tmp_path: Path) -> None:
    wanted = [WantedPort(name, 0) for name in "ABCD"]
    assert len(set(preflight.check(tmp_path, wanted).values())) == 4


def test_one_port_cannot_serve_two(tmp_path: Path) -> None:
    port = preflight.check(tmp_path, [WantedPort("A", 0)])["A"]
    with pytest.raises(PreflightFailed, match="used twice"):
        preflight.check(tmp_path, [WantedPort("A", port), WantedPort("B", port)])


def test_a_full_disk_is_told_in_numbers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    usage = shutil.disk_usage(tmp_path)._replace(free=3 * 2**20)
    monkeypatch.setattr(preflight.shutil, "disk_usage", lambda _: usage)
    with pytest.raises(PreflightFailed, match=r"Only 3 MiB are free at .*512 MiB.*SHOAL_HOME"):
        preflight.check(tmp_path / "not" / "there", [])


@pytest.mark.parametrize("value", ["http", "-1", "70000", "8 0"])
def test_a_port_that_is_none_is_refused(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    monkeypatch.setenv("SHOAL_STUDIO_PORT", value)
    with pytest.raises(settings.SettingsError, match="SHOAL_STUDIO_PORT"):
        settings.load()
