"""How the agent is started: also by the name that join commands and units had before."""

import os
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.parametrize("module", ["node_agent", "worker_runtime.agent"])
def test_a_wrong_setting_ends_the_agent_with_2(tmp_path: Path, module: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", module],
        env={**os.environ, "SHOAL_HOME": str(tmp_path), "SHOAL_NODE_DOWNLOAD_LIMIT": "50Mbit"},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 2, done.stderr
    assert "ERROR   node_agent: SHOAL_NODE_DOWNLOAD_LIMIT='50Mbit'" in done.stderr
