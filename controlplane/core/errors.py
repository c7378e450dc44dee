"""What can go wrong, in the domain's words; ``core.http`` alone maps these to status codes.

DomainError
├── Invalid        the input breaks a rule
├── NotFound       no such object
├── Conflict       the object exists already, or is in a state that forbids this
├── PreconditionFailed  it is not any more what the caller has seen
├── Forbidden      the actor may not do this
├── PayloadTooLarge
├── RangeUnsatisfiable  the file ends before the bytes asked for; ``extra["size"]`` is its size
├── Unauthenticated  the caller did not prove who they are
├── RateLimited      too many attempts; ``extra["retry_after_s"]`` says how long to wait
└── Unavailable    a neighbour (broker, node, disk) cannot be used now; may say ``retry_after_s``
    └── DiskFull   no room left where the bytes should go; nothing is lost
"""

from typing import Any


class DomainError(Exception):
    """``code`` is stable CamelCase for programs, ``message`` for people, ``hints`` say what to try;
    ``tries`` is what every error of a class says where its raiser knows nothing better.

    ``field`` names the input at fault, ``extra`` is merged into the answer.
    """

    code = "Error"
    tries: tuple[str, ...] = ("/api/v1/openapi.json describes what is expected.",)

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
        self.hints = hints or self.tries
        self.field = field
        self.extra = extra or {}


class Invalid(DomainError):
    code = "BadArgument"
    tries = ("/api/v1/openapi.json describes what is expected.",)


class NotFound(DomainError):
    code = "ResourceNotFound"
    tries = ("Names are spelled as lists show them, and case counts.",)


class Conflict(DomainError):
    code = "Conflict"
    tries = ("Read it again: its state says what stands in the way.",)


class Forbidden(DomainError):
    code = "Forbidden"
    tries = ("Ask somebody whose role allows it, or use a token with more scopes.",)


class PreconditionFailed(DomainError):
    code = "PreconditionFailed"
    tries = ("Read it again, then send your change with the new ETag.",)


class PayloadTooLarge(DomainError):
    code = "UploadTooLarge"
    tries = ("Send less at once.",)


class RangeUnsatisfiable(DomainError):
    code = "RangeUnsatisfiable"
    tries = (
        "The header Content-Range says how many bytes there are.",
        "Leave Range out for the whole.",
    )


class Unavailable(DomainError):
    code = "Unavailable"
    tries = ("Send the request again in a moment; the page System shows what is down.",)


class DiskFull(Unavailable):
    code = "DiskFull"
    tries = (
        "Make room on the disk of the control plane, then send the same again: nothing is lost.",
    )


class Unauthenticated(DomainError):
    code = "Unauthenticated"
    tries = ("Sign in again, or send `Authorization: Bearer shoal_...`.",)


class RateLimited(DomainError):
    code = "RateLimited"
    tries = ("Wait as long as the header Retry-After says.",)
