"""Every page of the studio, with a made-up installation: axe and the console have nothing to say.

States that are hard to bring about in a running product are looked at here: roles, full disks,
failures. `make screenshots` takes the same pictures, for the eye.
"""

import os
import subprocess
from pathlib import Path

import pytest

from tests.e2e.product import ROOT

LIMIT_S = 1_500


# Wide in both schemes; narrow as a phone, whose colours are the same.
@pytest.mark.parametrize(("width", "schemes"), [(1440, "light,dark"), (360, "light")])
def test_every_page_is_clean(width: int, schemes: str, tmp_path: Path) -> None:
    done = subprocess.run(
        [ROOT / "deploy" / "build-studio", "--pictures", tmp_path],
        env={**os.environ, "WIDTH": str(width), "SCHEMES": schemes},
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert len(list(tmp_path.glob("*.png"))) > 30
