"""Every example against a fresh installation: each compares itself with its library's result."""

import re
import subprocess
import sys

from tests.e2e.product import ROOT

TIMEOUT_S = 1200


def test_the_examples_find_what_their_libraries_find() -> None:
    done = subprocess.run(
        [sys.executable, str(ROOT / "examples" / "run_all.py")],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    right = re.findall(r"^(\w+) +[\d.]+ s  as it should be$", done.stdout, re.MULTILINE)
    assert right == ["digits", "sentence_embedding", "image_pipeline", "voice_activity"]
