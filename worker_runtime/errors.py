"""Every way the runtime can fail, as exceptions without HTTP or gRPC in them.

RuntimeFault
├── InvalidArgument        the request or the configuration is wrong
│   ├── Unattributed       what the core tells without naming the request
│   ├── ConfigInvalid      a config.pbtxt that cannot be used; carries problems
│   │   └── EnsembleInvalid
│   └── LoadFailed         a model that could not be loaded
├── NotFound               unknown model, version or route target
├── AlreadyExists
├── Cancelled              the client went away
├── Unknown                a model said no more than that
├── Internal
│   ├── FileUnreadable     a file that a configuration names and that cannot be read
│   └── BackendFailed      the backend raised while it executed a batch
│       └── GpuMemoryFull  the memory of a GPU ran out meanwhile
├── Unsupported            known to the protocol, not offered here
└── Unavailable            right request, wrong moment
    ├── Overloaded         more came than is worked off: later it may do
    │   ├── QueueFull
    │   └── QueueTimeout
    └── ShuttingDown
"""

from msgspec import Struct


class Problem(Struct, frozen=True):
    """One finding about a model or its configuration, ready to be shown to a person.

    ``line`` and ``column`` count from 1 and are 0 where there is no place to point at. ``fix`` is
    the whole corrected text, with ``fix_label`` saying what it does. ``plain`` says in one sentence
    what ``message`` says in Triton's words.
    """

    code: str
    message: str
    severity: str = "error"
    model: str = ""
    detail: str = ""
    hints: tuple[str, ...] = ()
    line: int = 0
    column: int = 0
    field: str = ""
    fix_label: str = ""
    fix: str = ""
    plain: str = ""

    @property
    def hint(self) -> str:
        return self.hints[0] if self.hints else ""


class RuntimeFault(Exception):
    """Root of the tree. ``str(fault)`` is the text that clients see."""

    def __str__(self) -> str:
        return str(self.args[0]) if self.args else ""

    def for_request(self, request_id: str) -> "RuntimeFault":
        """The same fault, in the words that the core has for one request."""
        return type(self)(f"[request id: {request_id or '<id_unknown>'}] {self}")


class InvalidArgument(RuntimeFault):
    pass


class Unattributed(InvalidArgument):
    """Triton tells a few faults of a request without its id: names that the model lacks."""

    def for_request(self, request_id: str) -> "RuntimeFault":  # noqa: ARG002 # that is the point
        return self


class ConfigInvalid(InvalidArgument):
    """A configuration that cannot be used; ``problems`` says where and why."""

    def __init__(self, message: str, problems: tuple[Problem, ...] = ()) -> None:
        super().__init__(message)
        self.problems = problems


class EnsembleInvalid(ConfigInvalid):
    """Of an ensemble: whoever loads it is told why, of other models only the log is."""


class LoadFailed(InvalidArgument):
    """A model that could not be loaded; ``problem`` is what tools show.

    ``kind`` is what Triton's backend would call it: reasons in the index begin with it.
    """

    def __init__(
        self, message: str, problem: Problem | None = None, kind: str = "Invalid argument"
    ) -> None:
        super().__init__(message)
        self.problem = problem
        self.kind = kind


class NotFound(RuntimeFault):
    pass


class AlreadyExists(RuntimeFault):
    pass


class Cancelled(RuntimeFault):
    pass


class Unknown(RuntimeFault):
    pass


class Internal(RuntimeFault):
    pass


class FileUnreadable(Internal):
    """In Triton's words. ``problems`` says which field names the file."""

    def __init__(self, path: object, why: str, field: str = "") -> None:
        message = f"failed to open text file for read {path}: {why}"
        super().__init__(message)
        self.why = why
        self.problems = (Problem("ConfigInvalid", message, field=field),)


class BackendFailed(Internal):
    pass


class GpuMemoryFull(BackendFailed):
    pass


class Unsupported(RuntimeFault):
    pass


class Unavailable(RuntimeFault):
    pass


class Overloaded(Unavailable):
    pass


class QueueFull(Overloaded):
    pass


class QueueTimeout(Overloaded):
    pass


class ShuttingDown(Unavailable):
    pass
