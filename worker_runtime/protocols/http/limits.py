"""What ``--http-max-input-size`` bounds, in the two ways that Triton says it."""

from worker_runtime.errors import InvalidArgument

_ADVICE = "Use --http-max-input-size to increase the limit."


def check_size(size: int, limit: int, what: str = "Request JSON size") -> None:
    """Of an inference request, in bytes. Raises InvalidArgument."""
    if size > limit:
        raise InvalidArgument(
            f"{what} of {size} bytes exceeds the maximum allowed value of {limit} bytes. {_ADVICE}"
        )


def check_document(size: int, limit: int) -> None:
    """Of any other request. Raises InvalidArgument."""
    if size > limit:
        raise InvalidArgument(
            f"request JSON size of {size} bytes exceeds the maximum allowed input size. {_ADVICE}"
        )
