"""A node that was off for longer than its certificate lives joins again by itself."""

from pathlib import Path

import pytest

from shoal.local.up import certificate_ended


@pytest.mark.parametrize(("ends_at", "ended"), [(1000.0, True), (1000.5, False), (999, True)])
def test_it_counts_only_until_its_end(tmp_path: Path, ends_at: float, ended: bool) -> None:
    file = tmp_path / "certificate.json"
    assert not certificate_ended(file, 1000.0)  # there is none: it asks for one
    file.write_text(f'{{"ends_at": {ends_at}, "key": "k"}}')
    assert certificate_ended(file, 1000.0) is ended
