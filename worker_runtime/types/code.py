"""What in a model is code that its node would run: kinds, reasons, and what is allowed."""

from typing import Final

from msgspec import Struct

from worker_runtime.errors import LoadFailed, Problem

PYTHON: Final = "python"
LIBRARY: Final = "library"
PICKLE: Final = "pickle"
ENVIRONMENT: Final = "environment"
PACKAGES: Final = "packages"
FILES: Final = "files"
UNKNOWN: Final = "unknown"
KINDS: Final = (PYTHON, LIBRARY, PICKLE, ENVIRONMENT, PACKAGES, FILES, UNKNOWN)
FLAG: Final = "--allow-code"


class CodeReason(Struct, frozen=True):
    """Why something runs code: the file that says so, and the message for people.

    ``file`` is relative to the repository; ``value`` is what a configuration names, else "".
    """

    file: str
    kind: str
    value: str
    message: str

    def as_json(self) -> dict[str, str]:
        return {
            "file": self.file,
            "kind": self.kind,
            "value": self.value,
            "message": self.message,
        }


class AllowedCode(Struct, frozen=True):
    """``kinds`` None: everything, as Triton does; files that a model names are then its own care.

    With kinds, also with none of them, files that a model names must lie in its folder.
    """

    kinds: frozenset[str] | None = None

    @property
    def limited(self) -> bool:
        return self.kinds is not None

    def allows(self, kind: str) -> bool:
        return self.kinds is None or kind in self.kinds

    def check(self, reason: CodeReason, model: str) -> None:
        """Raises LoadFailed, naming file, kind and flag, for code that is not allowed."""
        if self.allows(reason.kind):
            return
        message = (
            f"model '{model}' brings code that is not allowed here: {reason.message} "
            f"Its kind is '{reason.kind}' (file '{reason.file}'), and {FLAG} allows "
            f"{', '.join(sorted(self.kinds or ())) or 'no code'}."
        )
        raise LoadFailed(
            message,
            Problem("CodeNotAllowed", message, model=model, detail=reason.file),
        )

    def demand(self, kind: str, model: str, file: str, what: str) -> None:
        """For backends, where the danger is. Raises LoadFailed unless ``kind`` is allowed."""
        self.check(CodeReason(f"{model}/{file}", kind, "", f"{model}/{file} {what}."), model)


EVERYTHING: Final = AllowedCode()
