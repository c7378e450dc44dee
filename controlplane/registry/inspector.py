"""The client of the runtime's inspection program: one run per repository, one child for configs.

The control plane never loads a model itself. What the program says is passed on in its own words.
"""

import json
import logging
import queue
import re
import subprocess
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, cast

from django.conf import settings

from controlplane.registry.errors import IngestFailed, InspectorUnavailable
from controlplane.registry.programs import Limits, TimedOut, environment, limit, run_limited
from controlplane.registry.types import Inspection

logger = logging.getLogger(__name__)

SERVE_TIMEOUT_S = 20.0
SERVE_CPU_S = 24 * 3600
WRITTEN_FILES_BYTES = 2**30
UNSTORABLE = re.compile("[\0\ud800-\udfff]")


def inspect(directory: Path, *, tick: Callable[[], None] = lambda: None) -> Inspection:
    """What the program reads in a repository. Raises IngestFailed when it ends improperly."""
    timeout_s = settings.SHOAL_INSPECTION_TIMEOUT_S
    command = [*settings.SHOAL_INSPECTION_COMMAND, "repository", str(directory)]
    limits = Limits(cpu_s=timeout_s * 4, file_bytes=WRITTEN_FILES_BYTES)
    try:
        done = run_limited(command, timeout_s=timeout_s, limits=limits, tick=tick)
    except TimedOut as late:
        raise IngestFailed(
            f"Reading the model took longer than {timeout_s} s.",
            code="InspectionTimeout",
            detail=late.stderr_tail,
            hints=("Large models may need a higher SHOAL_INSPECTION_TIMEOUT_S.",),
        ) from late
    try:
        # why: ONNX Runtime names whole paths; where an upload lies for a moment helps nobody.
        answer = json.loads(done.stdout.replace(json.dumps(f"{directory}/")[1:-1], ""))
        if done.returncode == 0 and {"models", "problems", "code"} <= answer.keys():
            return cast(Inspection, storable(answer))
    except (ValueError, AttributeError):
        logger.warning("The inspection program printed no JSON object: %.200r", done.stdout)
    how = f"signal {-done.returncode}" if done.returncode < 0 else f"status {done.returncode}"
    raise IngestFailed(
        f"The program that reads models ended with {how}.",
        code="InspectionFailed",
        detail=done.stderr_tail,
        hints=("If this model loads elsewhere, its file may need more memory than is free here.",),
    )


def storable(value: Any) -> Any:
    """The same without U+0000 and halves of surrogate pairs, which PostgreSQL keeps in no text; a
    model's own names and messages may have them."""
    match value:
        case str():
            return UNSTORABLE.sub("\ufffd", value)
        case dict():
            return {storable(key): storable(inner) for key, inner in value.items()}
        case list():
            return [storable(inner) for inner in value]
        case _:
            return value


class ConfigInspector:
    """One long-lived child that validates and renders configurations; another when it dies, or when
    the setting names another program."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._child: subprocess.Popen[str] | None = None
        self._answers: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        self._last_id = 0

    def ask(self, op: str, **parts: Any) -> dict[str, Any]:
        """The program's answer without its id. Raises InspectorUnavailable after one more try."""
        with self._lock:
            for attempt in (1, 2):
                try:
                    return self._exchange(op, parts)
                except (OSError, EOFError, TimeoutError, ValueError) as error:
                    self._stop()
                    logger.warning("Inspection child failed (try %d): %r", attempt, error)
            raise InspectorUnavailable(
                "Configurations cannot be checked now: the inspection program does not answer.",
                hints=("Try again. The log of the web process has the cause.",),
            )

    def _exchange(self, op: str, parts: dict[str, Any]) -> dict[str, Any]:
        child = self._running()
        self._last_id += 1
        assert child.stdin is not None  # noqa: S101 - opened with a pipe
        child.stdin.write(json.dumps({"id": self._last_id, "op": op, **parts}) + "\n")
        child.stdin.flush()
        try:
            line = self._answers.get(timeout=SERVE_TIMEOUT_S)
        except queue.Empty:
            raise TimeoutError(f"no answer to {op} in {SERVE_TIMEOUT_S:g} s") from None
        if line is None:
            raise EOFError(f"ended while answering {op}")
        answer = json.loads(line)
        if not isinstance(answer, dict) or answer.pop("id", None) != self._last_id:
            raise ValueError(f"answered something else: {line[:200]!r}")
        return answer

    def _running(self) -> subprocess.Popen[str]:
        command = [*settings.SHOAL_INSPECTION_COMMAND, "serve"]
        child = self._child
        if child is not None and child.args == command and child.poll() is None:
            return child
        self._stop()
        child = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment(),
            cwd=Path(settings.BASE_DIR),
        )
        limit(child.pid, Limits(cpu_s=SERVE_CPU_S, file_bytes=WRITTEN_FILES_BYTES))
        self._child = child
        self._answers = queue.SimpleQueue()
        # why a thread: reading a pipe with a deadline needs one, or a non-blocking dance per line
        reader = threading.Thread(
            target=_read_lines, args=(child, self._answers), name="inspection", daemon=True
        )
        reader.start()
        return child

    def _stop(self) -> None:
        child, self._child = self._child, None
        if child is None:
            return
        child.kill()
        child.wait()
        if child.stdin is not None:
            with suppress(OSError):  # what a dead child never read is still in the buffer
                child.stdin.close()


def _read_lines(child: subprocess.Popen[str], answers: "queue.SimpleQueue[str | None]") -> None:
    assert child.stdout is not None  # noqa: S101 - opened with a pipe
    with child.stdout:
        for line in child.stdout:
            answers.put(line)
    answers.put(None)


configs = ConfigInspector()
