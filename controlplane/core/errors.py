"""What can go wrong, in the domain's words; ``core.http`` alone maps these to status codes.

DomainError
├── Invalid        the input breaks a rule
├── NotFound       no such object
├── Conflict       the object exists already, or is in a state that forbids this
├── PreconditionFailed  it is not any more what the caller has seen
├── Forbidden      the actor may not do this
├── PayloadTooLarge
├── Unauthenticated  the caller did not prove who they are
├── RateLimited      too many attempts; ``extra["retry_after_s"]`` says how long to wait
└── Unavailable    a neighbour (broker, node, disk) cannot be used now
    └── DiskFull   no room left where the bytes should go; nothing is lost
"""

from typing import Any


class DomainError(Exception):
    """``code`` is stable CamelCase for programs, ``message`` for people, ``hints`` say what to try.

    ``field`` names the input at fault, ``extra`` is merged into the answer.
    """

    code = "Error"

    def __init__(
        self,
        message: str,
        *,
        code: str | None = None,
        hints: tuple[str, ...] = (),
        field: str | None = None,
        extra: dict[str, Any] | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.code = code or self.code
        self.hints = hints
        self.field = field
        self.extra = extra or {}


class Invalid(DomainError):
    code = "BadArgument"


class NotFound(DomainError):
    code = "ResourceNotFound"


class Conflict(DomainError):
    code = "Conflict"


class Forbidden(DomainError):
    code = "Forbidden"


class PreconditionFailed(DomainError):
    code = "PreconditionFailed"


class PayloadTooLarge(DomainError):
    code = "UploadTooLarge"


class Unavailable(DomainError):
    code = "Unavailable"


class DiskFull(Unavailable):
    code = "DiskFull"


class Unauthenticated(DomainError):
    code = "Unauthenticated"


class RateLimited(DomainError):
    code = "RateLimited"
