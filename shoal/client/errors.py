"""What a call to Shoal can raise, each with hints that a person can act on.

ShoalError
├── InstallationNotFound   no configuration says where Shoal is
├── ConnectionFailed       Shoal does not answer there
├── UnusableSource         the file or folder cannot be packed for upload
│   └── NothingServable    its files are no model that is served by itself
├── Problem                the server refused (RFC 9457)
│   └── OperationFailed    an accepted operation, or an upload's inspection, ended badly
├── WaitTimeout            the wait ended before the operation did
└── NotConfirmed           changed, but some gateway is not known to act on it

WaitInterrupted is Ctrl-C in such a wait, and no ShoalError.
"""

from collections.abc import Mapping, Sequence
from typing import Any


class ShoalError(Exception):
    """``title`` in a few words, ``detail`` in full, ``hints`` what to try."""

    def __init__(self, title: str, detail: str = "", hints: Sequence[str] = ()) -> None:
        super().__init__(f"{title}: {detail}" if detail else title)
        self.title = title
        self.detail = detail
        self.hints = tuple(hints)


class InstallationNotFound(ShoalError):
    pass


class ConnectionFailed(ShoalError):
    pass


class UnusableSource(ShoalError):
    pass


class NothingServable(UnusableSource):
    pass


class WaitTimeout(ShoalError):
    pass


class NotConfirmed(ShoalError):
    pass


class Problem(ShoalError):
    """A refusal of the server. ``code`` is stable CamelCase, ``extra`` the rest of the answer."""

    def __init__(
        self,
        title: str,
        detail: str = "",
        hints: Sequence[str] = (),
        *,
        status: int = 0,
        code: str = "",
        field: str | None = None,
        extra: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(title, detail, hints)
        self.status = status
        self.code = code
        self.field = field
        self.extra = dict(extra or {})

    @property
    def is_not_found(self) -> bool:
        return self.status == 404


class OperationFailed(Problem):
    """``operation`` names what failed, for ``shoal operation show``; empty for an upload."""

    def __init__(self, *args: Any, operation: str = "", **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.operation = operation


class WaitInterrupted(KeyboardInterrupt):
    """Ctrl-C while an operation was waited for: the wait has ended, the operation goes on."""

    def __init__(self, operation: str) -> None:
        super().__init__(
            "Interrupted; the change goes on.\n"
            f"  Look at it: shoal operation show {operation}\n"
            f"  Stop it: shoal operation cancel {operation}"
        )
        self.operation = operation


_KNOWN = {"type", "title", "status", "detail", "instance", "code", "hints", "field", "message"}


def problem_arguments(body: object, *, fallback: str) -> dict[str, Any]:
    """Keyword arguments of Problem from an RFC 9457 body or an operation's ``error`` object.

    ``fallback`` is the title where the body has none (a proxy's HTML page, an empty answer).
    """
    if not isinstance(body, dict):
        return {"title": fallback, "detail": str(body)[:2000] if body else ""}
    title = body.get("title") or body.get("message") or fallback
    detail = body.get("detail") or ""
    if body.get("title") and body.get("message") and not detail:
        detail = body["message"]
    hints = body.get("hints") or []
    return {
        "title": str(title),
        "detail": "" if detail == title else str(detail),
        "hints": [str(hint) for hint in hints] if isinstance(hints, list) else [str(hints)],
        "status": body["status"] if isinstance(body.get("status"), int) else 0,
        "code": str(body.get("code") or ""),
        "field": body.get("field"),
        "extra": {key: value for key, value in body.items() if key not in _KNOWN},
    }
