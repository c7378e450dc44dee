"""Projects that `shoal init` writes; that they work is an integration test."""

from pathlib import Path

import pytest

from shoal.cli.init import KINDS
from shoal.client.errors import ShoalError
from shoal.scaffold.project import create


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_of_the_template_is_left(tmp_path: Path, kind: str) -> None:
    files = create(tmp_path / "new" / "mine", "mine", kind)
    written = [path for path in (tmp_path / "new").rglob("*") if path.is_file()]
    assert sorted(path.relative_to(tmp_path / "new" / "mine") for path in written) == files
    assert {"README.md", "client.py", "test_model.py", "models/mine/config.pbtxt"} <= {
        path.as_posix() for path in files
    }
    for path in written:
        assert "NAME" not in path.name and path.suffix != ".template"
        assert path.suffix == ".onnx" or "@NAME@" not in path.read_text()


def test_a_name_that_cannot_be_one_is_refused_with_one_that_can(tmp_path: Path) -> None:
    with pytest.raises(ShoalError, match="'my_model' cannot be the name") as caught:
        create(tmp_path / "my_model", "my_model", "python")
    assert caught.value.hints == (f"shoal init {tmp_path / 'my_model'} --name my-model",)
    assert list(tmp_path.iterdir()) == []


def test_what_is_there_is_not_written_over(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "notes").write_text("important")
    with pytest.raises(ShoalError, match="is there already"):
        create(tmp_path / "mine", "mine", "python")
    assert [path.name for path in (tmp_path / "mine").iterdir()] == ["notes"]
