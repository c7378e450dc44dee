"""Namespaces: a view of the file system that is read-only but for what is given, a /tmp and, for
root, a /proc of its own; and a network that has nothing but itself."""

import ctypes
import fcntl
import os
import socket
import struct
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from node_agent.launcher import kernel
from node_agent.launcher.plan import Plan

CLONE_NEWNS: Final = 0x00020000
CLONE_NEWUSER: Final = 0x10000000
CLONE_NEWNET: Final = 0x40000000

_NOSUID, _NODEV, _NOEXEC, _BIND, _REC, _SLAVE = 2, 4, 8, 4096, 16384, 1 << 19
TEMPORARY: Final = "/tmp"  # noqa: S108 - ours is mounted over it
_AT_FDCWD: Final = -100
_AT_RECURSIVE: Final = 0x8000
_READ_ONLY: Final = 1  # MOUNT_ATTR_RDONLY
_SIOCGIFFLAGS, _SIOCSIFFLAGS, _IFF_UP = 0x8913, 0x8914, 1


def enter(*, network: bool) -> None:
    """New namespaces of mounts, and of the network; without root through one of users, too.

    Raises OSError where this kernel, or this container, does not let us.
    """
    flags = CLONE_NEWNS | (CLONE_NEWNET if network else 0)
    if os.geteuid() == 0:
        kernel.checked(kernel.LIBC.unshare(flags), "namespaces")
    else:
        user, group = os.geteuid(), os.getegid()
        kernel.checked(kernel.LIBC.unshare(flags | CLONE_NEWUSER), "namespaces")
        Path("/proc/self/setgroups").write_text("deny")
        Path("/proc/self/uid_map").write_text(f"{user} {user} 1")
        Path("/proc/self/gid_map").write_text(f"{group} {group} 1")
    if network:
        _raise_loopback()


def arrange(plan: Plan) -> None:
    """The plan's view. Every path keeps its name. Raises OSError."""
    _mount("none", "/", _REC | _SLAVE)  # what we mount stays here
    # why before all else: afterwards some of these have other things in front of them
    named = {*plan.read, *plan.listed, *plan.write, *plan.share, plan.folder}
    own = {*plan.write, plan.temporary} - {""}
    given = {path: place for path in named if (place := _open(path, own=path in own)) >= 0}
    temporary = _open(plan.temporary, own=True) if plan.temporary else -1
    hidden = {*plan.hidden, *(_closed(given, plan.user) if plan.user else ())}
    if temporary >= 0:
        given[TEMPORARY] = temporary
    if os.geteuid() == 0:
        # only what it may trace is shown: itself and its children
        _mount("proc", "/proc", _NOSUID | _NODEV | _NOEXEC, "proc", "hidepid=ptraceable")
    writable = {*plan.write, *plan.share, TEMPORARY}
    covers = hidden | {TEMPORARY}  # in them nothing is left of what was there
    seen: list[str] = []  # what was mounted or shown, from the outside to the inside
    for path in sorted(hidden | given.keys()):
        around = next((other for other in reversed(seen) if _below(path, other)), "")
        if path in hidden:
            if around not in covers and Path(path).is_dir():
                _mount("none", path, _NOSUID | _NODEV, "tmpfs", "mode=0755,size=1m")
        elif around in covers or path in writable:
            _show(given[path], path)
        seen.append(path)
    _read_only("/", recursive=True)
    for path in writable & given.keys():
        _writable(path)
    if plan.cuda:
        _writable("/proc")
    for place in given.values():
        os.close(place)


def _below(path: str, folder: str) -> bool:
    return path == folder or path.startswith(f"{folder.rstrip('/')}/")


def _closed(paths: Iterable[str], user: int) -> set[str]:
    """For each path the first folder on the way to it that ``user`` may not pass."""
    found = set()
    for path in paths:
        for folder in reversed(Path(path).parents):
            about = folder.stat()
            if not about.st_mode & 0o001 and about.st_uid != user:
                found.add(str(folder))
                break
    return found


def _open(path: str, *, own: bool) -> int:
    """A folder of its ``own`` is no link: who may write in it must not choose what we open."""
    try:
        followed = os.O_NOFOLLOW | os.O_DIRECTORY if own else 0
        return os.open(path, os.O_PATH | os.O_CLOEXEC | followed)
    except FileNotFoundError:
        return -1  # nothing to show


def _show(place: int, path: str) -> None:
    """Put what is open as ``place`` at ``path``."""
    source = f"/proc/self/fd/{place}"
    target = Path(path)
    if Path(source).is_dir():
        target.mkdir(parents=True, exist_ok=True, mode=0o755)
    elif not target.exists():
        target.parent.mkdir(parents=True, exist_ok=True, mode=0o755)
        target.touch()
    _mount(source, path, _BIND | _REC)


def _mount(source: str, target: str, flags: int, kind: str = "none", options: str = "") -> None:
    result = kernel.LIBC.mount(
        source.encode(),
        target.encode(),
        kind.encode(),
        ctypes.c_ulong(flags),
        options.encode() or None,
    )
    kernel.checked(result, f"mount at {target}")


def _read_only(path: str, *, recursive: bool) -> None:
    _set(path, struct.pack("=4Q", _READ_ONLY, 0, 0, 0), _AT_RECURSIVE if recursive else 0)


def _writable(path: str) -> None:
    _set(path, struct.pack("=4Q", 0, _READ_ONLY, 0, 0), 0)


def _set(path: str, attributes: bytes, flags: int) -> None:
    kernel.syscall(
        kernel.MOUNT_SETATTR,
        _AT_FDCWD,
        path.encode(),
        ctypes.c_uint(flags),
        attributes,
        ctypes.c_size_t(len(attributes)),
        what=f"mount attributes of {path}",
    )


def _raise_loopback() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as handle:
        name = struct.pack("16sH14x", b"lo", 0)
        flags = struct.unpack("16xH14x", fcntl.ioctl(handle, _SIOCGIFFLAGS, name))[0]
        fcntl.ioctl(handle, _SIOCSIFFLAGS, struct.pack("16sH14x", b"lo", flags | _IFF_UP))
