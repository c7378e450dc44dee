"""What the agent asks of the launcher, and what it says that it keeps."""

import dataclasses
import os
import subprocess
from pathlib import Path

import pytest

from node_agent import readable, settings
from node_agent.cgroup import Cgroup, Shares, delegated
from node_agent.failure import ReplicaFailed
from node_agent.journal import ReplicaFolder
from node_agent.launcher import landlock
from node_agent.launcher.plan import load
from node_agent.sandbox import NOTHING, Sandbox, SandboxSettings, prepared
from node_agent.scratch import Scratch, own_user
from tests.support.cuda_driver import cuda_driver, needs_compiler
from wire.messages import DesiredReplica

ALL = {**NOTHING, "landlock": 7, "seccomp": 1, "namespaces": 1, "loopback": 1}
WANTED = DesiredReplica("r1", 1, "digits", "blue", ())
SETTINGS = SandboxSettings(mode="auto", network="all")


def sandbox(tmp_path: Path, **offered: int) -> Sandbox:
    return Sandbox(SETTINGS, tmp_path, {"PATH": os.environ["PATH"]}, {**ALL, **offered})


@pytest.mark.parametrize(
    ("offered", "lost"),
    [
        ({}, set()),
        ({"landlock": 2}, {"signals"}),
        ({"landlock": 0}, {"files", "signals"}),
        ({"seccomp": 0}, {"files", "calls", "network"}),
        ({"namespaces": 0, "loopback": 0}, {"view"}),
    ],
)
def test_a_node_says_what_its_kernel_has(
    tmp_path: Path, offered: dict[str, int], lost: set[str]
) -> None:
    before, after = sandbox(tmp_path).holds, sandbox(tmp_path, **offered).holds
    gone = {name for name in before if before[name] and not after[name]}
    assert gone - {"proc", "processes"} == lost
    assert not after["memory"], "no cgroup was given"


def test_files_are_not_kept_where_the_data_folder_lies_in_what_all_read(tmp_path: Path) -> None:
    below = SandboxSettings(mode="auto", read=(str(tmp_path),))
    made = Sandbox(below, tmp_path / "home", {}, {**ALL, "namespaces": 0})
    assert not made.holds["files"]
    assert dataclasses.replace(made, offered=ALL).holds["files"], "the view hides it"


def test_require_starts_nothing_where_the_kernel_lacks_it(tmp_path: Path) -> None:
    strict = dataclasses.replace(SETTINGS, mode="require")
    folder = ReplicaFolder(tmp_path / "replicas" / "r1")
    with pytest.raises(ReplicaFailed, match="files") as caught:
        Sandbox(strict, tmp_path, {}, {**ALL, "landlock": 0}).launch(["x"], WANTED, folder)
    assert caught.value.problem.code == "SandboxMissing"
    Sandbox(strict, tmp_path, {}, ALL).launch(["x"], WANTED, folder)
    Sandbox(SETTINGS, tmp_path, {}, NOTHING).launch(["x"], WANTED, folder)


@pytest.mark.parametrize(
    ("asked", "code", "loopback", "given"),
    [
        ("all", None, 1, "all"),
        ("all", ("python",), 1, "all"),
        ("all", (), 1, "none"),
        ("loopback", ("python",), 1, "loopback"),
        ("loopback", ("python",), 0, "none"),
        ("none", ("python",), 1, "none"),
    ],
)
def test_the_network_is_never_more_than_was_asked_for(
    tmp_path: Path, asked: str, code: tuple[str, ...] | None, loopback: int, given: str
) -> None:
    made = dataclasses.replace(
        sandbox(tmp_path, loopback=loopback), settings=dataclasses.replace(SETTINGS, network=asked)
    )
    wanted = dataclasses.replace(WANTED, code=code)
    start = made.launch(["x"], wanted, ReplicaFolder(tmp_path / "replicas" / "r1"))
    assert load(start.given).network == given


def test_a_deployment_s_variables_and_secrets_are_in_no_command_line(tmp_path: Path) -> None:
    wanted = dataclasses.replace(WANTED, environment={"KEY": "s3cret", "PYTHONPATH": "/evil"})
    folder = ReplicaFolder(tmp_path / "replicas" / "r1")
    start = sandbox(tmp_path).launch(["runtime", "--flag"], wanted, folder)
    assert "s3cret" not in str(start.argv)
    assert "PYTHONPATH" not in start.environment
    plan = load(start.given)
    assert plan.environment["KEY"] == "s3cret"
    assert plan.environment["HOME"] == str(folder.scratch / "home")
    assert start.argv[-2:] == ["runtime", "--flag"]


def test_a_link_in_the_place_of_its_folders_is_not_followed(tmp_path: Path) -> None:
    scratch = Scratch(tmp_path / "r1" / "scratch")
    scratch.make(0)
    secret = tmp_path / "secret"
    secret.mkdir()
    (secret / "kept").write_text("x")
    scratch.temporary.rmdir()
    scratch.temporary.symlink_to(secret)
    scratch.make(0)
    assert not scratch.temporary.is_symlink()
    assert (secret / "kept").exists()


def test_what_was_written_is_counted_and_links_are_not_followed(tmp_path: Path) -> None:
    scratch = Scratch(tmp_path / "r1" / "scratch")
    scratch.make(0)
    before = scratch.used_bytes()
    (scratch.home / "deep" / "er").mkdir(parents=True)
    (scratch.home / "deep" / "er" / "file").write_bytes(os.urandom(1 << 20))
    (scratch.home / "link").symlink_to("/usr")
    assert (1 << 20) <= scratch.used_bytes() - before < (2 << 20)
    scratch.clear()
    scratch.make(0)
    assert scratch.used_bytes() <= before


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
def test_each_replica_keeps_a_user_that_no_other_has(tmp_path: Path) -> None:
    users = range(1_900_100_000, 1_900_100_003)  # which no agent has
    found = []
    for name in ("r1", "r2", "r3"):
        scratch = Scratch(tmp_path / name / "scratch")
        found.append(own_user(scratch, users))
        scratch.make(found[-1])
        assert own_user(scratch, users) == found[-1]
    assert sorted(found) == list(users)


def stand_in(folder: Path, controllers: str) -> Path:
    folder.mkdir()
    (folder / "cgroup.controllers").write_text(controllers)
    return folder


def test_limits_are_written_for_the_controllers_that_are_there(tmp_path: Path) -> None:
    folder = stand_in(tmp_path / "cgroup", "cpuset memory pids")
    made = Cgroup(folder, Shares(memory_bytes=1 << 30, cpus=1.5, processes=100))
    assert made.take() == ("memory", "pids")
    assert (folder / "agent" / "cgroup.procs").read_text() == str(os.getpid())
    assert (folder / "cgroup.subtree_control").read_text() == "+memory +pids"
    part = made.part("r1")
    written = {path.name: path.read_text() for path in part.iterdir()}
    assert written == {
        "memory.max": str(1 << 30),
        "memory.oom.group": "1",
        "pids.max": "100",
    }


def test_a_folder_that_nobody_gave_us_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "mounts").write_text(f"cgroup2 {tmp_path} cgroup2 rw 0 0\n")
    (tmp_path / "cgroup").write_text("0::/part\n")
    (tmp_path / "part").mkdir()
    assert delegated(tmp_path / "mounts") is None
    try:
        os.setxattr(tmp_path / "part", "user.delegate", b"1")
    except OSError:
        pytest.skip("a file system without attributes of users")
    assert delegated(tmp_path / "mounts") == tmp_path / "part"


def test_no_file_of_the_agent_s_user_is_among_what_all_read() -> None:
    read, listed = readable.programs({})
    assert str(Path.home()) not in read
    assert "/" not in read and "/etc" not in read and "/tmp" not in read
    assert str(Path.cwd()) not in read or str(Path.cwd()) in listed


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("SHOAL_SANDBOX", "maybe", "expected one of auto, require, off"),
        ("SHOAL_SANDBOX_NETWORK", "some", "expected one of all, loopback, none"),
        ("SHOAL_SANDBOX_READ", "models", "expected absolute paths"),
        ("SHOAL_SANDBOX_READ", "/", "expected absolute paths"),
        ("SHOAL_SANDBOX_USERS", "0-10", "none of them 0"),
        ("SHOAL_SANDBOX_USERS", "10", "expected two user ids"),
        ("SHOAL_SANDBOX_CPUS", "nan", "expected a number"),
    ],
)
def test_a_bad_setting_is_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str, value: str, expected: str
) -> None:
    monkeypatch.setenv("SHOAL_HOME", str(tmp_path))
    monkeypatch.setenv(name, value)
    with pytest.raises(settings.SettingsError, match=expected) as caught:
        settings.load()
    assert name in str(caught.value)


def test_replicas_read_where_pip_is_told_to_take_packages_from(tmp_path: Path) -> None:
    wheels, index = tmp_path / "wheels", tmp_path / "index" / "simple"
    wheels.mkdir()
    index.mkdir(parents=True)
    told = {
        "PATH": os.environ["PATH"],
        "PIP_CONFIG_FILE": os.devnull,
        "PIP_FIND_LINKS": f"{wheels} {tmp_path / 'gone'} https://wheels.example/",
        "PIP_INDEX_URL": f"file://{index}",
        "PIP_CACHE_DIR": str(tmp_path),
    }
    assert readable.package_folders(told) == [str(index.parent), str(wheels)]


@pytest.fixture
def nvidia(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine with a card, as far as names below /dev tell."""
    monkeypatch.setattr(readable, "gpu_devices", lambda: ["/dev/null-nvidia0", "/dev/nvidia0"])
    monkeypatch.setattr(readable, "gpu_groups", lambda _: ())


@needs_compiler
@pytest.mark.skipif(os.geteuid() != 0, reason="only root makes users")
@pytest.mark.usefixtures("nvidia")
def test_cuda_starts_in_the_whole_sandbox(
    tmp_path_factory: pytest.TempPathFactory, caplog: pytest.LogCaptureFixture
) -> None:
    """By a driver that asks for what real ones do. Where it cannot, the node says so."""
    root = tmp_path_factory.mktemp("cuda")
    settings = dataclasses.replace(SETTINGS, users=range(200_000, 200_010))
    with cuda_driver(root):
        made = prepared(
            settings, home=root / "home", folder=root / "probe", inherited=dict(os.environ)
        )
    assert made.offered["cuda"], made.offered
    assert made.offered["landlock"] == landlock.abi()
    assert "CUDA" not in caplog.text
    folder = ReplicaFolder(root / "home" / "r1")
    folder.path.mkdir(parents=True)
    assert load(made.launch(["x"], WANTED, folder).given).cuda
    alone = dataclasses.replace(settings, users=range(0))  # replicas would be root
    with cuda_driver(tmp_path_factory.mktemp("again")):
        made = prepared(
            alone, home=root / "home", folder=root / "probe", inherited=dict(os.environ)
        )
    assert not made.offered["cuda"]
    assert "CUDA does not start in the sandbox of replicas" in caplog.text
    assert not load(made.launch(["x"], WANTED, folder).given).cuda


@pytest.mark.skipif(os.geteuid() != 0, reason="only root starts processes of others")
def test_a_user_of_whom_something_runs_is_nobody_else_s(tmp_path: Path) -> None:
    """Another agent of this machine may have given it out: to start under it ends all of its."""
    users = range(1_900_200_000, 1_900_200_002)  # which no other test has
    with subprocess.Popen(["/bin/cat"], stdin=subprocess.PIPE, user=users[0]) as other:
        for name in ("r1", "r2", "r3", "r4"):
            scratch = Scratch(tmp_path / name / "scratch")
            scratch.path.mkdir(parents=True)
            assert own_user(scratch, users) == users[1]
        other.communicate()
