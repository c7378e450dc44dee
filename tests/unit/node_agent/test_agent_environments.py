"""Lists of packages: which are installed for all replicas, once, and what becomes of failures."""

import asyncio
import os
import sys
import time
from pathlib import Path

import pytest

from node_agent import environments
from node_agent.environments import Environments, _is_plain
from node_agent.failure import ReplicaFailed
from node_agent.journal import ReplicaFolder
from node_agent.launcher.plan import load
from node_agent.sandbox import NOTHING, Sandbox, SandboxSettings
from wire.messages import DesiredReplica

# Stands for the runtime's builder: the list's first line says how it goes.
BUILDER = """
import sys, time
from pathlib import Path
requirements, made = map(Path, sys.argv[1:])
with (made.parents[1] / "runs").open("a") as runs:
    runs.write("x")
word = requirements.read_text().splitlines()[0]
print("Collecting", word, flush=True)
while word == "until told" and not (made.parents[1] / "go").exists():
    time.sleep(0.01)
if word == "endless":
    time.sleep(60)
if word == "missing":
    sys.exit("ERROR: No matching distribution found for missing")
(made / "bin").mkdir()
(made / "bin" / "tool").write_text("x")
(made / "bin" / "tool").chmod(0o4777)
(made / "link").symlink_to("/etc/passwd")
"""


class Node:
    def __init__(self, root: Path, mode: str = "auto") -> None:
        self.root = root
        self.told: list[str] = []
        builder = root / "builder.py"
        builder.write_text(BUILDER)
        settings = SandboxSettings(mode=mode, network="all")
        self.environments = Environments(
            root / "environments",
            Sandbox(settings, root, dict(os.environ), NOTHING),
            (sys.executable, str(builder)),
        )

    @property
    def runs(self) -> int:
        file = self.root / "environments" / "runs"
        return len(file.read_text()) if file.exists() else 0

    async def provide(
        self,
        text: str,
        replica_id: str = "r1",
        *,
        code: tuple[str, ...] | None = ("packages", "python"),
        timeout_s: float = 30.0,
        **environment: str,
    ) -> tuple[Path, ...]:
        """``told`` of the node is what was said about it meanwhile."""
        folder = ReplicaFolder(self.root / "replicas" / replica_id)
        file = folder.repository / "m" / "1" / "requirements.txt"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        replica = DesiredReplica(
            replica_id, 1, "e", "blue", (), code=code, environment=environment,
            load_timeout_s=timeout_s,
        )  # fmt: skip
        return await self.environments.provide(replica, folder, self.told.append)


async def test_one_installs_and_all_read(tmp_path: Path) -> None:
    node = Node(tmp_path)
    several = [node.provide("numpy==1\n", name) for name in ("r1", "r2", "r3")]
    (made,), *others = await asyncio.gather(*several)
    assert others == [(made,), (made,)]
    assert node.runs == 1
    assert await node.provide("numpy==2\n") != (made,)
    tool = made / "bin" / "tool"
    assert oct(tool.stat().st_mode & 0o7777) == "0o755", "nobody else's to write, no setuid"
    assert (made / "link").is_symlink()
    # whichever of them came first to the lock
    logs = [path.read_text() for path in (tmp_path / "replicas").glob("r?/runtime.log")]
    assert sum("Collecting numpy==1" in log for log in logs) == 1


@pytest.mark.parametrize(
    ("mode", "given"),
    [
        ("off", {}),
        ("auto", {"code": None}),
        ("auto", {"code": ("python",)}),
        ("auto", {"PIP_INDEX_URL": "https://elsewhere"}),
    ],
)
async def test_what_is_a_replicas_own_matter_it_installs_itself(
    tmp_path: Path, mode: str, given: dict[str, object]
) -> None:
    node = Node(tmp_path, mode)
    assert await node.provide("numpy==1\n", **given) == ()  # type: ignore[arg-type]
    assert node.runs == 0


@pytest.mark.parametrize(
    ("line", "plain"),
    [
        ("numpy", True),
        ("numpy==1.23.*  # pinned", True),
        ("inference-schema[numpy-support,pandas]>=1.5,<2; python_version > '3.8'", True),
        ("--extra-index-url https://x/simple", True),
        ("# nothing", True),
        ("./wheel.whl", False),
        ("wheels/a.whl", False),
        ("-r more.txt", False),
        ("-e .", False),
        ("--find-links wheels", False),
        ("--index-url file:///tmp/simple", False),
        ("--index-url https://$TOKEN@x/simple", False),
        ("a @ file:///tmp/a.whl", False),
        ("a @ https://x/a.whl", False),
        ("git+https://x/y.git", False),
    ],
)
def test_only_what_means_the_same_everywhere_is_shared(
    tmp_path: Path, line: str, plain: bool
) -> None:
    file = tmp_path / "requirements.txt"
    file.write_text(f"{line}\n")
    assert _is_plain(file) == plain


async def test_what_cannot_be_installed_is_told_and_tried_anew(tmp_path: Path) -> None:
    node = Node(tmp_path)
    for runs in (1, 2):
        with pytest.raises(ReplicaFailed) as caught:
            await node.provide("missing\n")
        assert caught.value.problem.message == (
            "The packages of m/1/requirements.txt cannot be installed: "
            "ERROR: No matching distribution found for missing"
        )
        assert node.runs == runs


async def test_what_the_installer_says_is_told_as_it_comes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(environments, "LOOK_S", 0.01)
    node = Node(tmp_path)
    first = asyncio.create_task(node.provide("until told\n", "r1"))
    async with asyncio.timeout(30):
        while "Collecting until told" not in node.told:
            await asyncio.sleep(0)
    second = asyncio.create_task(node.provide("until told\n", "r2"))
    async with asyncio.timeout(30):
        while len(node.told) < 3:
            await asyncio.sleep(0)
    (node.root / "environments" / "go").touch()
    assert await first == await second
    assert node.told == [
        "m/1/requirements.txt",
        "Collecting until told",
        "another replica of this node installs the same",
    ]
    node.told.clear()
    await node.provide("until told\n", "r3")
    assert node.told == [], "it is there"


async def test_what_a_model_left_in_its_home_says_nothing_to_pip(tmp_path: Path) -> None:
    node = Node(tmp_path)
    home = ReplicaFolder(tmp_path / "replicas" / "r1").scratch / "home"
    (home / ".config" / "pip").mkdir(parents=True)
    (home / ".config" / "pip" / "pip.conf").write_text("[global]\nindex-url = https://evil\n")
    await node.provide("numpy==1\n")
    assert list(home.iterdir()) == []


async def test_an_installation_without_end_is_ended(tmp_path: Path) -> None:
    with pytest.raises(ReplicaFailed) as caught:
        await Node(tmp_path).provide("endless\n", timeout_s=1.0)
    assert caught.value.problem.code == "LoadTimeout"


async def test_what_nobody_names_any_more_is_removed_after_a_while(tmp_path: Path) -> None:
    node = Node(tmp_path)
    (old,) = await node.provide("numpy==1\n")
    (kept,) = await node.provide("numpy==2\n", "r2")
    for made in (old, kept):
        os.utime(made.parent / "built", (time.time() - 8 * 86400,) * 2)
    (new,) = await node.provide("numpy==3\n")
    assert [made.exists() for made in (old, kept, new)] == [False, True, True]


def test_who_builds_writes_one_folder_more_and_who_serves_reads_it(tmp_path: Path) -> None:
    sandbox = Node(tmp_path).environments.sandbox
    replica, folder = DesiredReplica("r1", 1, "e", "b", ()), ReplicaFolder(tmp_path / "r" / "r1")
    made = tmp_path / "made"
    made.mkdir()
    builds = load(sandbox.launch(["x"], replica, folder, write=made).given)
    serves = load(sandbox.launch(["x"], replica, folder, read=(made,)).given)
    assert (str(made) in builds.write, str(made) in serves.read) == (True, True)
    assert str(made) not in serves.write
