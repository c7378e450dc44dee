"""A planted fault is found by the targets of fuzzing. That their seeds pass, `make fuzz` shows."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.fuzz.seeds import SEEDS

REPLAY = [sys.executable, "-m", "tests.fuzz.run_target", "replay"]
ROOT = Path(__file__).parents[3]
# One thing each that must be seen: a surprise, a leak, an answer that is not JSON.
PLANTED = {
    "surprise": """
from worker_runtime.protocols.http import app
def encode(*_):
    raise ZeroDivisionError("planted")
app.encode = encode
app.encode_any = encode
""",
    "no JSON": """
from worker_runtime.protocols.http import outgoing
outgoing.error_body = lambda error: b'{"error": planted}'
""",
    "a lost request": """
from worker_runtime.protocols.http.connection import Connection
Connection.deliver = lambda self, request, outputs: None
from tests.fuzz import served
served._HANG_S = 1.0
""",
}
RUN = """
from tests.fuzz.seeds import SEEDS
from tests.fuzz.served import Finding
from tests.fuzz.catalog import target
try:
    for seed in SEEDS["http_bodies"]():
        target("http_bodies")(seed)
except Finding as finding:
    print("found:", finding)
"""


@pytest.mark.parametrize("what", PLANTED)
def test_a_planted_fault_is_found(what: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", PLANTED[what] + RUN], cwd=ROOT, capture_output=True, text=True,
        timeout=120,
    )  # fmt: skip
    assert "found:" in done.stdout, done.stdout + done.stderr


def test_the_fuzzer_of_the_gateway_sees_where_inputs_lead(tmp_path: Path) -> None:
    """Else it forgets all seeds but one, and guesses: "cov: 1" in its log."""
    pytest.importorskip("atheris", reason="no wheel for this machine or this Python")
    for number, seed in enumerate(SEEDS["gateway_headers"]()):
        (tmp_path / f"{number:04}").write_bytes(seed)
    done = subprocess.run(
        [*REPLAY[:-1], "fuzz", "gateway_headers", str(tmp_path), "-runs=1"], cwd=ROOT,
        capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    seen = re.search(r"INITED cov: (\d+)", done.stderr)
    assert seen is not None, done.stderr
    assert int(seen[1]) > 1, done.stderr
