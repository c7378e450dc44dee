"""What ``--http-max-input-size`` bounds, in the two ways that Triton says it."""

from worker_runtime.errors import InvalidArgument

_FLAG = "http-max-input-size"
# From so much JSON on the event loop would have to wait: it is read in slices, or refused.
LARGE_JSON = 128 * 1024
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


def check_small_document(size: int) -> None:
    """Of one that says a few words, in whatever form. Raises InvalidArgument."""
    if size >= LARGE_JSON:
        raise InvalidArgument(
            f"request JSON size of {size} bytes exceeds the maximum allowed input size of "
            f"{LARGE_JSON - 1} bytes for this request"
        )
