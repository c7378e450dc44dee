"""A requirements.txt on a real node: installed once, in the sandbox, and read by both replicas."""

import zipfile
from pathlib import Path

import httpx
import pytest

from tests.support import scoring_models as sm
from tests.support.agent_node import DEADLINE_S, Node
from tests.support.fake_control_plane import FakeControlPlane
from wire.messages import DesiredReplica

ABOUT = "tiny_extra-1.0.dist-info"
FILES = {
    "tiny_extra.py": "VALUE = 41\n",
    f"{ABOUT}/METADATA": "Metadata-Version: 2.1\nName: tiny-extra\nVersion: 1.0\n",
    f"{ABOUT}/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    f"{ABOUT}/RECORD": "",
}
SCRIPT = """
import tiny_extra


def init():
    pass


def run(data):
    try:
        with open(tiny_extra.__file__, "w"):
            return "written"
    except OSError:
        return [tiny_extra.VALUE, tiny_extra.__file__]
"""


@pytest.fixture
def wheels(tmp_path: Path) -> Path:
    folder = tmp_path / "wheels"
    folder.mkdir(mode=0o755)
    with zipfile.ZipFile(folder / "tiny_extra-1.0-py3-none-any.whl", "w") as wheel:
        for name, text in FILES.items():
            wheel.writestr(name, text)
    return folder


def replica(plane: FakeControlPlane, replica_id: str, repository: Path) -> DesiredReplica:
    files = sorted(path for path in repository.rglob("*") if path.is_file())
    return DesiredReplica(
        replica_id=replica_id,
        generation=1,
        endpoint="e",
        deployment="blue",
        files=tuple(
            plane.file(path.relative_to(repository).as_posix(), path.read_bytes()) for path in files
        ),
        models=("m",),
        load_timeout_s=DEADLINE_S,
        code=("packages", "python"),
    )


def test_packages_are_installed_once_and_nobody_may_change_them(
    tmp_path: Path, wheels: Path
) -> None:
    of_the_model = {
        f"{module}.py": b"raise SystemExit('code of the model')\n"
        for module in ("venv", "pip", "site", "sitecustomize", "hashlib")
    }
    files = {"requirements.txt": b"tiny-extra==1.0\n", **of_the_model}
    sm.add(tmp_path / "models", "m", SCRIPT, files=files)
    plane = FakeControlPlane()
    (tmp_path / "home").mkdir()
    pip = {"PIP_FIND_LINKS": str(wheels), "PIP_NO_INDEX": "1", "PIP_CONFIG_FILE": "/dev/null"}
    with plane.serve(), Node(tmp_path / "home", plane, **pip) as node:
        plane.desire(*(replica(plane, name, tmp_path / "models") for name in ("r1", "r2")))
        node.start()
        answers = [
            httpx.post(f"http://127.0.0.1:{node.ready(name).http_port}/score", json={}).json()
            for name in ("r1", "r2")
        ]
        seen = [one for report in plane.reports for one in report.replicas]
        notes = "".join(node.folder(name).agent_log.read_text() for name in ("r1", "r2"))
        logs = "".join(node.folder(name).runtime_log.read_text() for name in ("r1", "r2"))
    assert notes.count("installing m/1/requirements.txt") == 1, notes
    assert logs.count("Successfully installed tiny-extra-1.0") == 1, logs
    told = {one.installing for one in seen if one.state == "starting"}
    assert "m/1/requirements.txt" in told, told
    assert max(one.install_seconds for one in seen if one.state == "ready") > 0
    assert not any(one.installing for one in seen if one.state != "starting")
    value, place = answers[0]
    assert value == 41
    assert Path(place).is_relative_to(tmp_path / "home" / "node" / "environments")
    assert answers[1] == answers[0]
