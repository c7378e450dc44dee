"""Numbers of the system calls that are refused, for each architecture that we serve on."""

from dataclasses import dataclass
from typing import Final

# name -> (x86-64, aarch64); None: not there. From the kernel's tables.
REFUSED: Final[dict[str, tuple[int | None, int | None]]] = {
    # into other processes
    "ptrace": (101, 117),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "process_madvise": (440, 440),
    "process_mrelease": (448, 448),
    "pidfd_getfd": (438, 438),
    "kcmp": (312, 272),
    # namespaces and mounts
    "unshare": (272, 97),
    "setns": (308, 268),
    "mount": (165, 40),
    "umount2": (166, 39),
    "pivot_root": (155, 41),
    "chroot": (161, 51),
    "open_tree": (428, 428),
    "move_mount": (429, 429),
    "fsopen": (430, 430),
    "fsconfig": (431, 431),
    "fsmount": (432, 432),
    "fspick": (433, 433),
    "mount_setattr": (442, 442),
    "open_tree_attr": (467, 467),
    # the kernel itself
    "kexec_load": (246, 104),
    "kexec_file_load": (320, 294),
    "init_module": (175, 105),
    "finit_module": (313, 273),
    "delete_module": (176, 106),
    "bpf": (321, 280),
    "perf_event_open": (298, 241),
    "userfaultfd": (323, 282),
    "syslog": (103, 116),
    "personality": (135, 92),
    "iopl": (172, None),
    "ioperm": (173, None),
    "modify_ldt": (154, None),
    "uselib": (134, None),
    "lookup_dcookie": (212, 18),
    "nfsservctl": (180, 42),
    # what would go around the rules of this filter, and of Landlock
    "io_uring_setup": (425, 425),
    "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427),
    "open_by_handle_at": (304, 265),
    "name_to_handle_at": (303, 264),
    "fanotify_init": (300, 262),
    # memory and queues that no folder keeps, and that outlive who made them
    "shmget": (29, 194),
    "shmat": (30, 196),
    "shmctl": (31, 195),
    "semget": (64, 190),
    "semop": (65, 193),
    "semctl": (66, 191),
    "semtimedop": (220, 192),
    "msgget": (68, 186),
    "msgsnd": (69, 189),
    "msgrcv": (70, 188),
    "msgctl": (71, 187),
    "mq_open": (240, 180),
    "mq_unlink": (241, 181),
    # out of the session, by which the agent ends all that a replica has started
    "setsid": (112, 157),
    # keys of the kernel
    "add_key": (248, 217),
    "request_key": (249, 218),
    "keyctl": (250, 219),
    # the machine
    "swapon": (167, 224),
    "swapoff": (168, 225),
    "reboot": (169, 142),
    "acct": (163, 89),
    "quotactl": (179, 60),
    "quotactl_fd": (443, 443),
    "settimeofday": (164, 170),
    "clock_settime": (227, 112),
    "clock_adjtime": (305, 266),
    "adjtimex": (159, 171),
    "sethostname": (170, 161),
    "setdomainname": (171, 162),
    "vhangup": (153, 58),
}
NEWEST: Final = 469  # what comes after it we do not know, and answer as an older kernel does


@dataclass(frozen=True, slots=True)
class Architecture:
    """``audit`` is the kernel's name for it; the rest are numbers whose arguments are looked at."""

    audit: int
    column: int  # in REFUSED
    clone: int
    clone3: int
    socket: int
    socketpair: int
    connect: int
    bind: int
    shutdown: int
    sendto: int
    sendmsg: int
    sendmmsg: int
    openat: int
    openat2: int
    open: int | None
    truncate: int
    prlimit64: int
    fallocate: int
    ioctl: int

    @property
    def refused(self) -> list[int]:
        numbers = (row[self.column] for row in REFUSED.values())
        return [number for number in numbers if number is not None]


ARCHITECTURES: Final = {
    "x86_64": Architecture(
        audit=0xC000003E,
        column=0,
        clone=56,
        clone3=435,
        socket=41,
        socketpair=53,
        connect=42,
        bind=49,
        shutdown=48,
        sendto=44,
        sendmsg=46,
        sendmmsg=307,
        openat=257,
        openat2=437,
        open=2,
        truncate=76,
        prlimit64=302,
        fallocate=285,
        ioctl=16,
    ),
    "aarch64": Architecture(
        audit=0xC00000B7,
        column=1,
        clone=220,
        clone3=435,
        socket=198,
        socketpair=199,
        connect=203,
        bind=200,
        shutdown=210,
        sendto=206,
        sendmsg=211,
        sendmmsg=269,
        openat=56,
        openat2=437,
        open=None,
        truncate=45,
        prlimit64=261,
        fallocate=47,
        ioctl=29,
    ),
}
