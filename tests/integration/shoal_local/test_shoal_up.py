"""`shoal up` as a person meets it: it comes up, heals, refuses a second owner, leaves nothing."""

import json
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import psutil
import pytest

from tests.support.reaper import clean_environment

DEADLINE_S = 120
PORTS = (
    "SHOAL_STUDIO_PORT",
    "SHOAL_AGENT_PORT",
    "SHOAL_GATEWAY_TLS_PORT",
    "SHOAL_GATEWAY_PORT",
)


def until(condition: Callable[[], object], what: Callable[[], str]) -> None:
    deadline = time.monotonic() + DEADLINE_S
    while not condition():
        assert time.monotonic() < deadline, what()
        signal.sigtimedwait([], 0.1)


class Installation:
    def __init__(self, home: Path) -> None:
        self.home = home
        self.environment = {
            **clean_environment(),
            **dict.fromkeys(PORTS, "0"),
            "SHOAL_HOME": str(home),
        }
        self._output = home.with_name(f"{home.name}.out")
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    def start(self) -> None:
        with self._output.open("wb") as output:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "shoal.local"],
                env=self.environment,
                stdout=output,
                stderr=output,
            )
        until(lambda: "Ctrl-C stops" in self.text or self._ended(), lambda: self.text)
        assert not self._ended(), self.text

    @property
    def text(self) -> str:
        return self._output.read_text()

    def client(self) -> dict[str, str]:
        return json.loads((self.home / "client.json").read_text())

    def child(self, word: str) -> psutil.Process:
        """The child whose command line has `word`."""
        children = psutil.Process(self.pid).children()
        return next(child for child in children if word in " ".join(child.cmdline()))

    def interrupt(self) -> int:
        assert self._process is not None
        self._process.send_signal(signal.SIGINT)
        return self._process.wait(DEADLINE_S)

    def end(self) -> None:
        if self._process is not None and self._process.poll() is None:
            self.interrupt()

    def _ended(self) -> bool:
        return self._process is not None and self._process.poll() is not None


@pytest.fixture(scope="module")
def installation(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installation]:
    installation = Installation(tmp_path_factory.mktemp("up") / "home")
    installation.start()
    yield installation
    installation.end()


def answers(url: str) -> bool:
    try:
        return httpx.get(f"{url}/readyz", trust_env=False).status_code == 200
    except httpx.HTTPError:
        return False


def of_this_home(home: Path) -> list[str]:
    """Command lines of the living processes that were started for `home`."""
    found = []
    for process in psutil.process_iter():
        try:
            if process.environ().get("SHOAL_HOME") == str(home):
                found.append(" ".join(process.cmdline()))
        except psutil.Error:
            continue
    return found


def test_it_tells_where_everything_is_and_how_to_enter(installation: Installation) -> None:
    client = installation.client()
    password = re.search(r"Password +(\S+)", installation.text)
    assert password is not None
    login = httpx.post(
        f"{client['url']}/api/v1/session",
        json={"username": client["username"], "password": password[1]},
        trust_env=False,
    )
    assert login.status_code == 200, login.text
    nodes = httpx.get(
        f"{client['url']}/api/v1/nodes",
        headers={"Authorization": f"Bearer {client['token']}"},
        trust_env=False,
    )
    assert [node["state"] for node in nodes.json()["items"]] == ["online"]
    assert Path(client["ca_path"]).exists()
    assert client["gateway_url"] in installation.text


def test_nothing_in_its_folder_is_open_to_others(installation: Installation) -> None:
    assert installation.home.stat().st_mode & 0o777 == 0o700
    files = [path for path in installation.home.rglob("*") if not path.is_symlink()]
    found = {path: path.stat().st_mode & 0o777 for path in files if path.exists()}
    assert {path.name for path in found} >= {"main.db", "main.db-wal", "client.json", "web.log"}
    # blobs say by their mode that nobody writes them; their folder is closed
    open_ones = {p: oct(mode) for p, mode in found.items() if mode & 0o077 and mode != 0o444}
    assert open_ones == {}


def test_the_node_agent_is_told_no_way_to_redis(installation: Installation) -> None:
    assert "SHOAL_REDIS_URL" in installation.child("web_server").environ()
    assert "SHOAL_REDIS_URL" not in installation.child("node_agent").environ()


def test_a_second_one_on_the_same_folder_is_refused(installation: Installation) -> None:
    second = subprocess.run(
        [sys.executable, "-m", "shoal.local"],
        env=installation.environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert second.returncode == 1
    assert f"already running on {installation.home} (process {installation.pid})" in second.stdout


@pytest.mark.parametrize(("word", "name"), [("web_server", "web"), ("redis-server", "redis")])
def test_what_is_killed_comes_back(installation: Installation, word: str, name: str) -> None:
    url = installation.client()["url"]
    until(lambda: answers(url), lambda: "the studio was not up before")
    told = installation.text.count(f"{name} is back")
    installation.child(word).kill()
    until(lambda: installation.text.count(f"{name} is back") > told, lambda: installation.text)
    assert f"{name} was killed by SIGKILL; restarting" in installation.text
    until(lambda: answers(url), lambda: f"no answer after {name} was killed")


def test_an_interrupt_leaves_nothing_and_the_next_start_keeps_the_data(tmp_path: Path) -> None:
    installation = Installation(tmp_path / "home")
    try:
        installation.start()
        secrets = (installation.home / "secrets" / "secret_key").read_text()
        assert installation.interrupt() == 0
        assert of_this_home(installation.home) == []
        installation.start()
        assert "Password" not in installation.text
        assert (installation.home / "secrets" / "secret_key").read_text() == secrets
        assert answers(installation.client()["url"])
    finally:
        installation.end()
    assert of_this_home(installation.home) == []
