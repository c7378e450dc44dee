"""A Python model that tries to get out of its sandbox, and tells what it got.

It stands alone: this file is the `model.py` of the model. `ATTEMPTS` is the list that
docs/security.md shows; what an attempt needs to know of the machine comes with the request, as the
JSON that `Targets` becomes.
"""

import ctypes
import errno
import json
import os
import resource
import signal
import socket
import struct
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

LIBC = ctypes.CDLL(None, use_errno=True)
X86 = os.uname().machine == "x86_64"
SYSCALLS = {
    "process_vm_readv": 310 if X86 else 270,
    "pidfd_open": 434,
    "pidfd_getfd": 438,
    "io_uring_setup": 425,
    "bpf": 321 if X86 else 280,
    "perf_event_open": 298 if X86 else 241,
    "userfaultfd": 323 if X86 else 282,
    "keyctl": 250 if X86 else 219,
    "finit_module": 313 if X86 else 273,
    "clock_settime": 227 if X86 else 112,
    "open_by_handle_at": 304 if X86 else 265,
    "syslog": 103 if X86 else 116,
    "clone": 56 if X86 else 220,
    "shmget": 29 if X86 else 194,
    "fallocate": 285 if X86 else 47,
    "inotify_init1": 294 if X86 else 26,
    "inotify_add_watch": 254 if X86 else 27,
}
PTRACE_SEIZE = 0x4206
CLONE_NEWUSER, CLONE_NEWNS, CLONE_PARENT = 0x10000000, 0x00020000, 0x00008000
CHILDREN = 200  # of the fork bomb, at most
MIB = 1 << 20


@dataclass(frozen=True)
class Attempt:
    """`by`: what of a node's sandbox keeps it back, any of them; `act` gives what it got."""

    name: str
    by: tuple[str, ...]
    act: Callable[[Any], object]


ATTEMPTS: list[Attempt] = []


def attempt(name: str, *by: str) -> Callable[[Callable[[Any], object]], Callable[[Any], object]]:
    def add(act: Callable[[Any], object]) -> Callable[[Any], object]:
        ATTEMPTS.append(Attempt(name, by, act))
        return act

    return add


def call(name: str, *arguments: object) -> int:
    return done(LIBC.syscall(SYSCALLS[name], *arguments))


def done(result: int) -> int:
    if result == -1:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result


# --- files ----------------------------------------------------------------------------------------


@attempt("read the node's credential", "files")
def _(to: Any) -> object:
    return Path(to.credential).read_text()


@attempt("overwrite the node's credential", "files")
def _(to: Any) -> object:
    return Path(to.credential).open("r+b").fileno()


@attempt("cut the node's credential off", "files")
def _(to: Any) -> object:
    os.truncate(to.credential, Path(to.credential).stat().st_size)
    return "cut"


@attempt("cut it off by opening it to read", "files")
def _(to: Any) -> object:
    return os.open(to.canary, os.O_RDONLY | os.O_TRUNC)


@attempt("delete or rename the node's credential", "files")
def _(to: Any) -> object:
    Path(to.credential).rename(to.credential + ".gone")
    return "renamed"


@attempt("change the mode of the node's files", "user", "view")
def _(to: Any) -> object:
    Path(to.credential).chmod(0o600)
    return "changed"


@attempt("see that the node's files are there", "view")
def _(to: Any) -> object:
    return Path(to.credential).stat().st_size


@attempt("watch what the node's files are called", "view")
def _(to: Any) -> object:
    watcher = call("inotify_init1", 0)
    return call("inotify_add_watch", watcher, to.cache.encode(), 0x100)


@attempt("find files open that it was not given", "files")
def _(to: Any) -> object:
    files = Path("/proc/self/fd").resolve()
    given = ("pipe:", "socket:", "anon_inode:", "/memfd:", "/dev/", str(Path.cwd()), str(files))
    found = []
    for name in files.iterdir():
        try:
            where = str(name.readlink())
        except FileNotFoundError:
            continue  # closed meanwhile
        if not where.startswith((*given, to.repository)):
            found.append(where)
    if not found:
        raise PermissionError("none")
    return found


@attempt("read its own journal, with the deployment's secrets", "files")
def _(to: Any) -> object:
    return Path(to.journal).read_text()


@attempt("list the node's cache", "files")
def _(to: Any) -> object:
    return list(Path(to.cache).iterdir())


@attempt("write into its own repository, and so into the cache", "files")
def _(to: Any) -> object:
    return Path(to.repository, "hostile", "1", "model.py").open("a").fileno()


@attempt("read another replica's model", "files")
def _(to: Any) -> object:
    return Path(to.sibling_model).read_bytes()[:4]


@attempt("write into another replica's home", "files")
def _(to: Any) -> object:
    return Path(to.sibling_home, "planted").write_text("x")


@attempt("read files of the machine: /root, /home, /srv, /var", "files")
def _(to: Any) -> object:
    return [list(Path(folder).iterdir()) for folder in ("/root", "/home", "/srv", "/var")]


@attempt("read /etc/shadow", "files")
def _(to: Any) -> object:
    return Path("/etc/shadow").read_text()


@attempt("read what others left in /tmp", "files")
def _(to: Any) -> object:
    return Path(to.canary).read_text()


@attempt("read another replica's shared memory", "user")
def _(to: Any) -> object:
    return Path(to.sibling_memory).read_text()


@attempt("open the disk or the machine's memory", "files")
def _(to: Any) -> object:
    return [os.open(f"/dev/{name}", os.O_RDONLY) for name in ("mem", "kmsg", "sda", "vda", "loop0")]


@attempt("make a device", "files")
def _(to: Any) -> object:
    os.mknod("disk", 0o60600, os.makedev(7, 0))
    return "made"


@attempt("write settings of the kernel", "files")
def _(to: Any) -> object:
    return os.open("/proc/sys/kernel/core_pattern", os.O_WRONLY)


@attempt("press the kernel's keys", "files")
def _(to: Any) -> object:
    return os.open("/proc/sysrq-trigger", os.O_WRONLY)


@attempt("replace its own home by a link for the next start", "files")
def _(to: Any) -> object:
    home = Path.cwd()
    home.rename(home.with_name("away"))
    home.symlink_to("/")
    return "replaced"


@attempt("open a file by its handle, past all folders", "calls")
def _(to: Any) -> object:
    handle = struct.pack("=Ii8s", 8, 1, b"\2" + bytes(7))
    folder = os.open(".", os.O_RDONLY)
    return call("open_by_handle_at", folder, handle, os.O_RDONLY)


# --- other processes ------------------------------------------------------------------------------


@attempt("trace the agent", "calls")
def _(to: Any) -> object:
    return done(LIBC.ptrace(PTRACE_SEIZE, to.agent_pid, 0, 0))


@attempt("read the agent's memory", "calls")
def _(to: Any) -> object:
    return os.open(f"/proc/{to.agent_pid}/mem", os.O_RDONLY)


@attempt("read the agent's memory by a call", "calls")
def _(to: Any) -> object:
    buffer = ctypes.create_string_buffer(8)
    one = (ctypes.c_void_p * 2)(ctypes.addressof(buffer), 8)
    return call("process_vm_readv", to.agent_pid, one, 1, one, 1, 0)


@attempt("read the agent's environment", "files")
def _(to: Any) -> object:
    return Path(f"/proc/{to.agent_pid}/environ").read_bytes()


@attempt("take the agent's open files", "files")
def _(to: Any) -> object:
    return list(Path(f"/proc/{to.agent_pid}/fd").iterdir())


@attempt("take an open file out of the agent", "calls")
def _(to: Any) -> object:
    return call("pidfd_getfd", call("pidfd_open", to.agent_pid, 0), 3, 0)


@attempt("read command lines of other processes", "proc")
def _(to: Any) -> object:
    return Path(f"/proc/{to.agent_pid}/cmdline").read_bytes()


@attempt("signal the agent", "signals")
def _(to: Any) -> object:
    os.kill(to.agent_pid, signal.SIGCONT)
    return "signalled"


@attempt("kill another replica", "signals")
def _(to: Any) -> object:
    os.kill(to.sibling_pid, signal.SIGCONT)
    return "signalled"


@attempt("signal everything", "signals")
def _(to: Any) -> object:
    os.killpg(os.getpgid(to.sibling_pid), signal.SIGCONT)
    return "signalled"


@attempt("leave its session, and live on when it is stopped", "calls")
def _(to: Any) -> object:
    child = os.fork()
    if child == 0:
        os._exit(0 if LIBC.setsid() != -1 else 1)
    if os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]):
        raise PermissionError("setsid")
    return "left"


@attempt("start a child of its parent's, whom nobody waits for", "calls")
def _(to: Any) -> object:
    child = call("clone", CLONE_PARENT | signal.SIGCHLD, 0, 0, 0, 0)
    if child == 0:
        os._exit(0)
    return child


@attempt("make shared memory of the kernel, which outlives it", "calls")
def _(to: Any) -> object:
    return call("shmget", 0, 1, 0o600)


@attempt("set the agent's limits", "calls")
def _(to: Any) -> object:
    return resource.prlimit(to.agent_pid, resource.RLIMIT_CPU)


# --- network --------------------------------------------------------------------------------------


@attempt("connect to Redis", "network")
def _(to: Any) -> object:
    return socket.create_connection(("127.0.0.1", to.redis_port), timeout=5).getpeername()


@attempt("connect to the control plane", "network")
def _(to: Any) -> object:
    return socket.create_connection(("127.0.0.1", to.control_port), timeout=5).getpeername()


@attempt("ask the cloud's metadata address", "network")
def _(to: Any) -> object:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asking:
        asking.connect(("169.254.169.254", 80))  # a route is all that it lacks
        return asking.getsockname()


@attempt("send a datagram", "network")
def _(to: Any) -> object:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sending:
        return sending.sendto(b"x", ("127.0.0.1", to.control_port))


@attempt("speak IPv6", "network")
def _(to: Any) -> object:
    return socket.socket(socket.AF_INET6, socket.SOCK_STREAM).fileno()


@attempt("speak to the kernel by netlink, or to a hypervisor by vsock", "network")
def _(to: Any) -> object:
    return [socket.socket(family, socket.SOCK_DGRAM).fileno() for family in (16, 40)]


@attempt("listen on a port of its own", "network")
def _(to: Any) -> object:
    return socket.create_server(("127.0.0.1", 0)).getsockname()


@attempt("connect to a socket in a folder: Envoy's, Docker's", "network")
def _(to: Any) -> object:
    socket.socket(socket.AF_UNIX).connect(to.socket)
    return "connected"


@attempt("connect to an abstract socket", "network")
def _(to: Any) -> object:
    socket.socket(socket.AF_UNIX).connect("\0" + to.abstract)
    return "connected"


@attempt("point a pair of sockets at somebody else's", "network")
def _(to: Any) -> object:
    one, _ = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    return one.sendto(b"x", to.datagrams)


# --- the kernel -----------------------------------------------------------------------------------


@attempt("mount", "calls")
def _(to: Any) -> object:
    return done(LIBC.mount(b"none", b".", b"tmpfs", 0, None))


@attempt("make a namespace of users, where it is root", "calls")
def _(to: Any) -> object:
    child = os.fork()
    if child == 0:
        os._exit(0 if LIBC.unshare(CLONE_NEWUSER | CLONE_NEWNS) == 0 else 1)
    if os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]):
        raise PermissionError("unshare")
    return "made"


@attempt("start a child in one", "calls")
def _(to: Any) -> object:
    child = call("clone", CLONE_NEWUSER | signal.SIGCHLD, 0, 0, 0, 0)
    if child == 0:
        os._exit(0)
    return child


@attempt("enter the agent's namespaces", "calls")
def _(to: Any) -> object:
    return done(LIBC.setns(call("pidfd_open", to.agent_pid, 0), CLONE_NEWNS))


@attempt("leave its root folder", "calls")
def _(to: Any) -> object:
    return done(LIBC.chroot(b"."))


@attempt("use io_uring, which no filter sees", "calls")
def _(to: Any) -> object:
    return call("io_uring_setup", 1, ctypes.create_string_buffer(120))


@attempt("load a program into the kernel", "calls")
def _(to: Any) -> object:
    return call("bpf", 0, ctypes.create_string_buffer(struct.pack("=5I", 2, 4, 4, 1, 0)), 20)


@attempt("load a module into the kernel", "calls")
def _(to: Any) -> object:
    if LIBC.syscall(SYSCALLS["finit_module"], -1, b"", 0) and ctypes.get_errno() == errno.EBADF:
        return "only the file was wrong"
    raise PermissionError("finit_module")


@attempt("count the machine's events", "calls")
def _(to: Any) -> object:
    attributes = ctypes.create_string_buffer(struct.pack("=IIQ", 1, 128, 0), 128)
    return call("perf_event_open", attributes, 0, -1, -1, 0)


@attempt("handle page faults of the kernel", "calls")
def _(to: Any) -> object:
    return call("userfaultfd", 1)


@attempt("use keys of the kernel", "calls")
def _(to: Any) -> object:
    return call("keyctl", 0, -3, 0)


@attempt("read the kernel's log", "calls")
def _(to: Any) -> object:
    return call("syslog", 10, 0, 0)


@attempt("set the clock", "calls")
def _(to: Any) -> object:
    wrong = LIBC.syscall(SYSCALLS["clock_settime"], 0, struct.pack("=qq", -1, -1))
    if wrong and ctypes.get_errno() == errno.EINVAL:
        return "only the time was wrong"
    raise PermissionError("clock_settime")


@attempt("become root", "calls")
def _(to: Any) -> object:
    lines = Path("/proc/self/status").read_text().splitlines()
    status = dict(line.split(":", 1) for line in lines)
    names = ("NoNewPrivs", "CapEff", "CapPrm")
    if [int(status[name], 16) for name in names] != [1, 0, 0]:
        return status
    os.setgroups([0])
    return "it may"


# --- what there is only so much of ----------------------------------------------------------------


@attempt("start more processes than it may", "processes")
def _(to: Any) -> object:
    children = []
    try:
        for _ in range(CHILDREN):
            child = os.fork()
            if child == 0:
                time.sleep(60)
                os._exit(0)
            children.append(child)
    finally:
        for child in children:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
    return len(children)


@attempt("write a file larger than it may", "files")
def _(to: Any) -> object:
    file = Path("large")
    with file.open("wb") as large:
        try:
            return sum(large.write(bytes(MIB)) for _ in range(to.disk_bytes // MIB + 2))
        finally:
            file.unlink()


@attempt("take disk behind the end of a file, where no limit looks", "calls")
def _(to: Any) -> object:
    file = Path("reserved")
    with file.open("wb") as reserved:
        try:
            call("fallocate", reserved.fileno(), 1, ctypes.c_long(0), ctypes.c_long(4 * MIB))
            return os.fstat(reserved.fileno()).st_blocks
        finally:
            file.unlink()


@attempt("raise its own limits", "files")
def _(to: Any) -> object:
    resource.setrlimit(resource.RLIMIT_FSIZE, (-1, -1))
    return "raised"


@attempt("be spared when memory runs out", "files")
def _(to: Any) -> object:
    return Path("/proc/self/oom_score_adj").write_text("-999")


# What a node keeps, by how its agent runs, on a kernel with Landlock 6 or newer. Older ones know no
# signals: there only a user of its own keeps those back.
WITHOUT_ROOT = ("files", "calls", "network", "signals")
KEPT = {
    "root": (*WITHOUT_ROOT, "user", "view", "proc", "processes"),
    "another user": (*WITHOUT_ROOT, "view", "processes"),
    "in a container": WITHOUT_ROOT,
}


def table() -> str:
    """The attempts, as docs/security.md shows them."""
    lines = [f"| it tries to | kept back by | {' | '.join(KEPT)} |", "|---|---|---|---|---|"]
    for one in ATTEMPTS:
        kept = ("yes" if set(one.by) & set(names) else "**no**" for names in KEPT.values())
        lines.append(f"| {one.name} | {' or '.join(one.by)} | {' | '.join(kept)} |")
    return "\n".join(lines) + "\n"


def tried(name: str, to: dict[str, Any]) -> dict[str, str]:
    """{"got": ...} where it worked, else {"held": why not}."""
    (found,) = (one for one in ATTEMPTS if one.name == name)
    try:
        return {"got": str(found.act(SimpleNamespace(**to)))[:200]}
    except (OSError, ValueError) as error:
        return {"held": f"{type(error).__name__}: {error}"}


class TritonPythonModel:
    """REQUEST: a JSON text with "name" and "to"; ANSWER: that of `tried`, as JSON."""

    def execute(self, requests: list[Any]) -> list[Any]:
        import numpy as np
        import triton_python_backend_utils as pb_utils

        answers = []
        for request in requests:
            tensor = pb_utils.get_input_tensor_by_name(request, "REQUEST").as_numpy()
            asked = json.loads(tensor.reshape(-1)[0])
            text = json.dumps(tried(asked["name"], asked["to"]))
            answer = pb_utils.Tensor("ANSWER", np.array([text.encode()], dtype=object))
            answers.append(pb_utils.InferenceResponse([answer]))
        return answers


CONFIG = """
backend: "python"
max_batch_size: 0
input { name: "REQUEST" data_type: TYPE_STRING dims: [1] }
output { name: "ANSWER" data_type: TYPE_STRING dims: [1] }
instance_group { count: 1 kind: KIND_CPU }
"""
