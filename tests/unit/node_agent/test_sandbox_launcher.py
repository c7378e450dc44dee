"""The launcher: the program that it becomes has what its plan says, and nothing else."""

import contextlib
import dataclasses
import os
import socket
import subprocess
import sys
import textwrap
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Final, Protocol

import pytest

from node_agent import fork_server, launch, readable
from node_agent.launcher import FAILED, landlock
from node_agent.launcher.plan import Limits, Plan, dump, load
from node_agent.sandbox import LAUNCH
from node_agent.scratch import Scratch

SUPPORT: Final = "tests.support"
pytestmark = pytest.mark.skipif(not landlock.abi(), reason="a kernel without Landlock")


@pytest.fixture
def plan(tmp_path: Path) -> Plan:
    """As this user, without namespaces: what every machine with Landlock has."""
    home = tmp_path / "scratch" / "home"
    home.mkdir(parents=True)
    read, _ = readable.programs(os.environ)
    return Plan(
        environment={"PATH": os.environ["PATH"]},
        folder=str(home),
        read=tuple(read),
        write=(str(home),),
        devices=readable.DEVICES,
        namespaces=False,
        network="none",
        limits=Limits(file_bytes=1 << 20),
    )


class Run(Protocol):
    def __call__(
        self, plan: Plan, code: str, *descriptors: int
    ) -> subprocess.CompletedProcess[str]: ...


def launched(plan: Plan, code: str, *descriptors: int) -> subprocess.CompletedProcess[str]:
    with subprocess.Popen(
        [*LAUNCH, sys.executable, "-I", "-c", code],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        pass_fds=descriptors,
    ) as process:
        said, complained = process.communicate(dump(plan), timeout=60)
    return subprocess.CompletedProcess([], process.returncode, said.decode(), complained.decode())


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[socket.socket]:
    """A fork server, of a program that runs the code which it is given."""
    log = tmp_path_factory.mktemp("fork-server") / "log"
    program = f"{SUPPORT}.forked_code"
    environment = {**os.environ, "PYTHONPATH": str(readable.SOURCE)}
    ours, identity = fork_server.begun([*fork_server.COMMAND[:-1], program], environment, log)
    with ours:
        assert ours.recv(fork_server.SAID_BYTES) == fork_server.READY, log.read_text()
        yield ours
    assert os.waitstatus_to_exitcode(os.waitpid(identity.pid, 0)[1]) == 0, log.read_text()


@pytest.fixture(params=["launched", "forked"])
def run(request: pytest.FixtureRequest, tmp_path: Path) -> Run:
    """Code in a process that is confined by a plan, in both ways by which replicas start."""

    def forked(plan: Plan, code: str, *descriptors: int) -> subprocess.CompletedProcess[str]:
        command = ["python", "-m", f"{SUPPORT}.forked_code", "-c", code]
        with (tmp_path / "output").open("w+b") as said:
            number = said.fileno()
            identity = fork_server.forked(asked, command, dump(plan), number, descriptors)
            status = os.waitstatus_to_exitcode(os.waitpid(identity.pid, 0)[1])
            said.seek(0)
            text = said.read().decode()
        # why twice: what it prints and what it complains about go to one log
        return subprocess.CompletedProcess([], status, text, text)

    if request.param == "forked":
        asked: socket.socket = request.getfixturevalue("asked")
    way = {"launched": launched, "forked": forked}[request.param]
    return lambda plan, code, *descriptors: way(plan, textwrap.dedent(code), *descriptors)


def test_a_plan_comes_back_as_it_was_sent(plan: Plan) -> None:
    assert load(dump(plan)) == plan


def test_what_is_given_can_be_read_and_what_is_its_own_written(
    run: Run, plan: Plan, tmp_path: Path
) -> None:
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "weights").write_text("1 2 3")
    (tmp_path / "secret").write_text("x")
    given = dataclasses.replace(plan, read=(*plan.read, str(tmp_path / "model")))
    done = run(
        given,
        f"""
        from pathlib import Path
        print(Path({str(tmp_path / "model" / "weights")!r}).read_text())
        Path("written").write_text("y")
        try:
            Path({str(tmp_path / "secret")!r}).read_text()
        except PermissionError:
            print("kept")
        try:
            Path({str(tmp_path / "model" / "weights")!r}).open("a")
        except PermissionError:
            print("kept")
        """,
    )
    assert (done.stdout.split("\n")[:3], done.returncode) == (["1 2 3", "kept", "kept"], 0), done
    assert Path(plan.folder, "written").read_text() == "y"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root makes users")
def test_its_own_user_gets_to_what_is_shown_whatever_the_mask_of_its_parent(
    run: Run, plan: Plan, tmp_path: Path
) -> None:
    """The agent has the mask 077: folders on the way were made closed, and no user could be had."""
    user = 1_900_000_123
    scratch = Scratch(tmp_path / "node" / "scratch")
    scratch.make(user)
    tmp_path.chmod(0o700)
    own = dataclasses.replace(
        plan,
        folder=str(scratch.home),
        write=(str(scratch.home), str(scratch.temporary)),
        temporary=str(scratch.temporary),
        hidden=(str(tmp_path / "node"),),
        namespaces=True,
        user=user,
    )
    before = os.umask(0o077)
    try:
        done = run(own, "import os; open('written', 'w'); print(os.getuid())")
    finally:
        os.umask(before)
    if "namespaces: " in done.stderr:
        pytest.skip("a container that lets nobody make namespaces")
    assert (done.stdout, done.returncode) == (f"{user}\n", 0), done
    assert (scratch.home / "written").stat().st_uid == user


def test_a_step_that_fails_ends_the_launcher_before_the_program(run: Run, plan: Plan) -> None:
    done = run(dataclasses.replace(plan, cgroup="/nowhere"), "print('ran')")
    assert (done.returncode, "ran" in done.stdout) == (FAILED, False)
    assert "the sandbox could not be made" in done.stderr


def test_what_the_program_may_write_is_not_run_by_the_launcher(run: Run, plan: Plan) -> None:
    """Its home may hold what Python would load at the next start, outside of the sandbox."""
    site = Path(plan.folder, ".local/lib/python3.11/site-packages")
    site.mkdir(parents=True)
    (site / "usercustomize.py").write_text("open('/proc/self/comm'); print('loaded')")
    Path(plan.folder, "json.py").write_text("print('loaded')")
    mean = {**plan.environment, "HOME": plan.folder, "PYTHONPATH": plan.folder}
    mean["LD_PRELOAD"] = str(Path(plan.folder, "none.so"))
    done = run(dataclasses.replace(plan, environment=mean), "print('ran')")
    assert done.stdout == "ran\n"


def test_a_socket_that_it_was_handed_answers_and_goes_nowhere(run: Run, plan: Plan) -> None:
    """A bound socket can be shut down and sent elsewhere, by a connecting send or a connect."""
    with (
        socket.create_server(("127.0.0.1", 0)) as ours,
        socket.create_server(("127.0.0.1", 0)) as target,
    ):
        where = target.getsockname()
        done = run(
            plan,
            f"""
            import os, socket
            handed = socket.socket(fileno={ours.fileno()})
            for way in ("connect", "fastopen", "disconnect"):
                try:
                    if way == "connect":
                        handed.shutdown(socket.SHUT_RD)
                        handed.connect({where!r})
                    elif way == "fastopen":
                        handed.sendto(b"x", 0x20000000, {where!r})
                    else:
                        handed.sendmsg([b"x"], [], 0x20000000, {where!r})
                    print(way, "got out")
                except PermissionError:
                    print(way, "kept")
            """,
            ours.fileno(),
        )
    kept = ["connect kept", "fastopen kept", "disconnect kept"]
    assert done.stdout.splitlines() == kept, done


def test_a_socket_that_it_was_handed_listens_nowhere_else(run: Run, plan: Plan) -> None:
    """Else it takes the port of a control plane, or a replica, that is started again just then."""
    with socket.create_server(("127.0.0.1", 0)) as ours:
        done = run(
            plan,
            f"""
            import socket
            handed = socket.socket(fileno={ours.fileno()})
            for how in (socket.SHUT_RD, socket.SHUT_RDWR):
                try:
                    handed.shutdown(how)
                except PermissionError:
                    print("kept")
            try:
                handed.bind(("127.0.0.1", 0))
            except PermissionError:
                print("kept")
            handed.listen()
            print(handed.getsockname()[1])
            """,
            ours.fileno(),
        )
        kept = ["kept", "kept", "kept", str(ours.getsockname()[1])]
        assert done.stdout.splitlines() == kept, done


@pytest.mark.parametrize("way", ["setsid", "sibling", "shmget", "semget", "msgget", "mq_open"])
def test_nothing_of_it_outlives_it(run: Run, plan: Plan, way: str) -> None:
    """Out of its session nobody finds its processes again, and the kernel's own memory and queues
    stay when all of them have ended; others of the machine can open them, too."""
    done = run(
        plan,
        f"""
        import ctypes, os, signal
        from ctypes import c_long
        libc = ctypes.CDLL(None, use_errno=True)
        x86 = os.uname().machine == "x86_64"
        number = {{
            "shmget": 29 if x86 else 194,
            "semget": 64 if x86 else 190,
            "msgget": 68 if x86 else 186,
            "sibling": 56 if x86 else 220,
        }}
        way = {way!r}
        if way == "setsid":
            child = os.fork()
            if not child:
                try:
                    os.setsid()
                except PermissionError:
                    os._exit(1)
                os._exit(0)
            print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
        elif way == "mq_open":
            print(int(libc.mq_open(b"/of-a-replica", os.O_CREAT | os.O_RDWR, 0o600, None) == -1))
        else:
            flags = (0x8000 | signal.SIGCHLD, 0, 0, 0, 0) if way == "sibling" else (0, 1, 0o600)
            made = libc.syscall(number[way], *map(c_long, flags))
            if way == "sibling" and made == 0:
                os._exit(0)
            print(int(made == -1 and ctypes.get_errno() == 1))
        """,
    )
    assert done.stdout == "1\n", done


@pytest.mark.skipif(os.geteuid() != 0, reason="a view without root needs namespaces of users")
@pytest.mark.parametrize("way", ["connect", "listen", "accepted"])
def test_a_network_of_its_own_is_not_left_by_a_handed_socket(
    run: Run, plan: Plan, way: str
) -> None:
    """The socket is of the machine's network, whatever that of its process is."""
    own = dataclasses.replace(plan, network="loopback", namespaces=True)
    with (
        socket.create_server(("127.0.0.1", 0)) as ours,
        socket.create_server(("127.0.0.1", 0)) as target,
        socket.create_server(("127.0.0.1", 0)) as free,
    ):
        launch.keep_to_its_port(ours)
        elsewhere = free.getsockname()
        free.close()
        script = f"""
            import ctypes, socket
            handed = socket.socket(fileno={ours.fileno()})
            for option in (27, 44):  # detach, unlock
                try:
                    handed.setsockopt(socket.SOL_SOCKET, option, 0)
                except PermissionError:
                    print("locked")
            handed.settimeout(2)
            if {way!r} == "accepted":
                handed, _ = handed.accept()
                handed.settimeout(2)
                print(ctypes.CDLL(None).connect(handed.fileno(), bytes(16), 16))  # to nobody
            else:
                handed.shutdown(socket.SHUT_RD)
                print(0)
            try:
                if {way!r} != "listen":
                    handed.connect({target.getsockname()!r})
                else:
                    handed.bind({elsewhere!r})
                    handed.listen()
                    handed.accept()
                print("got out")
            except TimeoutError:
                print("kept")
            """
        with calling(elsewhere), socket.create_connection(ours.getsockname()):
            done = run(own, script, ours.fileno())
        if "namespaces: " in done.stderr:
            pytest.skip("a container that lets nobody make namespaces")
        assert done.stdout.splitlines() == ["locked", "locked", "0", "kept"], done


@contextlib.contextmanager
def calling(address: tuple[str, int]) -> Iterator[None]:
    """Somebody who calls this address again and again."""
    ended = threading.Event()

    def call() -> None:
        while not ended.is_set():
            try:
                socket.create_connection(address, timeout=0.2).close()
            except OSError:
                ended.wait(0.01)

    caller = threading.Thread(target=call)
    caller.start()
    try:
        yield
    finally:
        ended.set()
        caller.join()


def test_a_socket_that_is_kept_to_its_port_serves() -> None:
    with launch.listening("127.0.0.1", kept=True) as sockets:
        for listening in sockets.values():
            with socket.create_connection(listening.getsockname(), timeout=5) as calling:
                answering, _ = listening.accept()
                with answering:
                    calling.sendall(b"question")
                    assert answering.recv(100) == b"question"
                    answering.sendall(b"x" * 100_000)
                    assert calling.recv(100_000, socket.MSG_WAITALL) == b"x" * 100_000


def test_room_behind_the_end_of_a_file_is_not_taken(run: Run, plan: Plan, tmp_path: Path) -> None:
    """Its length stays, so that neither the limit of a file nor the agent sees it: not in the log,
    either, which the agent opened."""
    with (tmp_path / "log").open("ab") as log:
        done = run(
            plan,
            f"""
            import ctypes, errno, fcntl, os, struct
            libc = ctypes.CDLL(None, use_errno=True)
            libc.fallocate.argtypes = [ctypes.c_int, ctypes.c_int, ctypes.c_int64, ctypes.c_int64]
            own = os.open("own", os.O_CREAT | os.O_RDWR)
            for file in ({log.fileno()}, own):
                for mode in (0x01, 0x11):  # keep the size; and with zeros
                    wrong = libc.fallocate(file, mode, 0, 8 << 20)
                    print(wrong, ctypes.get_errno() == errno.EOPNOTSUPP, os.fstat(file).st_blocks)
                for request in (0x40305828, 0x4030582A, 0x40305839):  # RESVSP, RESVSP64, ZERO_RANGE
                    try:
                        fcntl.ioctl(file, request, struct.pack("hhqqiI16x", 0, 0, 0, 8 << 20, 0, 0))
                        print("taken", os.fstat(file).st_blocks)
                    except OSError as error:
                        print("kept" if error.errno == errno.EOPNOTSUPP else error)
            print(libc.fallocate(own, 0, 0, 4096) in (0, -1), libc.fallocate(own, 3, 0, 4096))
            os.posix_fallocate(own, 0, 8192)
            print(os.fstat(own).st_size)
            """,
            log.fileno(),
        )
    kept = ["-1 True 0"] * 2 + ["kept"] * 3
    assert done.stdout.splitlines() == [*kept, *kept, "True 0", "8192"], done


CUDA_STARTS: Final = """
import os, socket, threading
def name():
    with open(f"/proc/self/task/{threading.get_native_id()}/comm", "r+") as comm:
        comm.write("cuda")
    print("named")
def listen():
    own = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET | socket.SOCK_CLOEXEC)
    own.bind(f"\\0cuda-uvmfd-{os.getpid()}")
    own.listen(16)
    print("listens")
def connect():
    socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET).connect("\\0somebody")
def stream():
    socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
def internet():
    socket.socket()
def others():
    open(f"/proc/{os.getppid()}/oom_score_adj", "w").write("1000")
def kernel():
    open("/proc/sys/kernel/core_pattern", "w")
for act in (name, listen, connect, stream, internet, others, kernel):
    try:
        act()
    except OSError as error:
        print("kept from", act.__name__)
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="only root makes users")
@pytest.mark.parametrize("cuda", [True, False])
def test_cuda_has_what_its_driver_does_not_start_without(
    run: Run, plan: Plan, *, cuda: bool
) -> None:
    """As drivers since 570 do; no card is needed to see it refused."""
    os.chown(plan.folder, 64_000, 64_000)
    plan = dataclasses.replace(plan, cuda=cuda, namespaces=True, user=64_000)
    done = run(plan, CUDA_STARTS)
    kept = ["connect", "stream", "internet", "others", "kernel"]
    own = ["named", "listens"] if cuda else ["kept from name", "kept from listen"]
    assert done.stdout.splitlines() == [*own, *(f"kept from {name}" for name in kept)], done


def test_without_this_filter_that_way_is_open(run: Run, plan: Plan) -> None:
    """So that the test above is not one that cannot fail."""
    with (
        socket.create_server(("127.0.0.1", 0)) as ours,
        socket.create_server(("127.0.0.1", 0)) as target,
    ):
        done = run(
            dataclasses.replace(plan, network="all"),
            f"""
            import socket
            handed = socket.socket(fileno={ours.fileno()})
            handed.shutdown(socket.SHUT_RD)
            handed.connect({target.getsockname()!r})
            print("connected")
            """,
            ours.fileno(),
        )
    assert done.stdout == "connected\n", done


@pytest.mark.parametrize("version", [1, 2, 3, 5, 6])
def test_an_older_landlock_keeps_files_too(plan: Plan, tmp_path: Path, version: int) -> None:
    """Debian 12 has version 2, which does not look at truncation: the filter of calls does."""
    if version > landlock.abi():
        pytest.skip(f"this kernel has version {landlock.abi()}")
    secret = tmp_path / "secret"
    secret.write_text("secret")
    code = f"""
    import json, os, sys
    sys.path.insert(0, {str(readable.SOURCE)!r})
    from node_agent.launcher import landlock, plan
    from node_agent.launcher.confinement import confine
    landlock.abi = lambda: {version}
    confine(plan.load({dump(plan)!r}))
    for act in (
        lambda: open({str(secret)!r}).read(),
        lambda: os.truncate({str(secret)!r}, 0),
        lambda: os.open({str(secret)!r}, os.O_RDONLY | os.O_TRUNC),
        lambda: os.rename({str(secret)!r}, "moved"),
        lambda: os.link({str(secret)!r}, "linked"),
    ):
        try:
            act()
            print("got")
        except PermissionError:
            print("kept")
        except OSError as error:
            print("kept" if error.errno == 18 else error)
    open("mine", "w").write("x")
    os.truncate("mine", 0) if {version} >= 3 else os.ftruncate(os.open("mine", os.O_RDWR), 0)
    """
    done = subprocess.run(
        [sys.executable, "-I", "-c", textwrap.dedent(code)], capture_output=True, text=True
    )
    assert done.stdout.splitlines() == ["kept"] * 5, done
    assert secret.read_text() == "secret"
    assert done.returncode == 0, done.stderr
