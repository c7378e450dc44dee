"""This folder runs on a machine that has the packages of a runtime, and nothing else of ours."""

import os
import subprocess
import sys
from pathlib import Path

REPOSITORY = Path(__file__).parents[2]
# What a machine for inference alone does not have.
ABSENT = ("django", "pytest_django", "pytest_asyncio", "pytest_randomly", "hypothesis", "xdist")
PROGRAM = f"""
import sys
for name in {ABSENT}:
    sys.modules[name] = None
import pytest
sys.exit(pytest.main(["tests/gpu", "--collect-only", "-q"]))
"""


def test_it_is_collected_without_the_packages_of_the_other_tests() -> None:
    environment = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTEST_ADDOPTS": ""}
    found = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        cwd=REPOSITORY,
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert found.returncode == 0, found.stdout + found.stderr
    assert "test_gpu_streams.py::" in found.stdout
