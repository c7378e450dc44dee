"""Log lines on stderr in Triton's form: level and time first, people grep for it."""

import logging
import os
import sys
import time

_LETTERS = {"DEBUG": "V", "INFO": "I", "WARNING": "W", "ERROR": "E", "CRITICAL": "F"}


class TritonFormatter(logging.Formatter):
    """``I1121 04:25:00.123456 4242 file.py:10] "text"``; ISO 8601 times on request."""

    def __init__(self, *, iso8601: bool = False) -> None:
        super().__init__()
        self._iso8601 = iso8601

    def format(self, record: logging.LogRecord) -> str:
        moment = time.gmtime(record.created)
        micros = int(record.created % 1 * 1_000_000)
        level = _LETTERS.get(record.levelname, "I")
        where = f"{os.getpid()} {record.filename}:{record.lineno}]"
        text = record.getMessage()
        if record.exc_info:
            text = f"{text}\n{self.formatException(record.exc_info)}"
        if self._iso8601:
            return (
                f"{time.strftime('%Y-%m-%dT%H:%M:%S', moment)}.{micros:06}Z {level} {where} {text}"
            )
        return f"{level}{time.strftime('%m%d %H:%M:%S', moment)}.{micros:06} {where} {text}"


def configure(
    *, verbose: int = 0, level: int = logging.INFO, iso8601: bool = False, file: str = ""
) -> None:
    """Send the runtime's log lines to ``file`` or stderr; ``verbose`` above 0 opens everything."""
    handler: logging.Handler = (
        logging.FileHandler(file) if file else logging.StreamHandler(sys.stderr)
    )
    handler.setFormatter(TritonFormatter(iso8601=iso8601))
    root = logging.getLogger("worker_runtime")
    root.handlers[:] = [handler]
    root.setLevel(logging.DEBUG if verbose else level)
    root.propagate = False
