"""What ``--http-max-input-size`` bounds, in the two ways that Triton says it."""

from worker_runtime.errors import InvalidArgument

_FLAG = "http-max-input-size"
_ADVICE = f"Use --{_FLAG} to increase the limit."


def check_size(size: int, limit: int, what: str = "Request JSON size", flag: str = _FLAG) -> None:
    """Of an inference request, in bytes; ``flag`` sets the limit. Raises InvalidArgument."""
    if size > limit:
        raise InvalidArgument(
            f"{what} of {size} bytes exceeds the maximum allowed value of {limit} bytes. "
            f"Use --{flag} to increase the limit."
        )


def check_document(size: int, limit: int) -> None:
    """Of any other request. Raises InvalidArgument."""
    if size > limit:
        raise InvalidArgument(
            f"request JSON size of {size} bytes exceeds the maximum allowed input size. {_ADVICE}"
        )
