"""A configuration that is not plain UTF-8 is told at once, with the same text as UTF-8."""

import codecs
from pathlib import Path

import pytest

from tests.support import onnx_models as om
from worker_runtime.inspection.encodings import config_read
from worker_runtime.inspection.repository import inspect_repository

TEXT = '# café\nbackend: "onnxruntime"\n'


@pytest.mark.parametrize(
    ("data", "says", "line", "mended"),
    [
        (TEXT.encode("utf-16"), "is UTF-16", 1, TEXT),
        (codecs.BOM_UTF16_BE + TEXT.encode("utf-16-be"), "is UTF-16", 1, TEXT),
        (TEXT.encode("utf-32"), "is UTF-32", 1, TEXT),
        (codecs.BOM_UTF8 + TEXT.encode(), "byte order mark", 1, TEXT),
        (TEXT.encode("latin-1"), "byte 0xe9 in line 1", 1, TEXT),
        (b"\n\nbackend: \x93x\x94", "byte 0x93 in line 3", 3, "\n\nbackend: \u201cx\u201d"),
        (b"# \xed\xa0\x80", "byte 0xed in line 1", 1, "# \u00ed\u00a0\u20ac"),
        (b"# a\n# b\0c", "U+0000 in line 2", 2, "# a\n# bc"),
    ],
)
def test_other_bytes_are_told_with_a_remedy(data: bytes, says: str, line: int, mended: str) -> None:
    shown, problem = config_read(data)
    assert problem is not None
    assert (problem.code, problem.severity, problem.line) == ("ConfigEncoding", "error", line)
    assert says in problem.message
    assert problem.message.endswith("expected plain UTF-8")
    assert (problem.fix, bool(problem.hint)) == (mended, True)
    assert "\0" not in shown + problem.fix


@pytest.mark.parametrize("text", ["", TEXT, "# \u202e\r\n", "# \ufffd"])
def test_plain_utf_8_is_read_as_it_is(text: str) -> None:
    assert config_read(text.encode()) == (text, None)


def test_a_repository_proposes_the_text_as_utf_8(tmp_path: Path) -> None:
    om.save(tmp_path, "m", om.add_sub())
    (tmp_path / "m" / "config.pbtxt").write_bytes(TEXT.encode("latin-1"))
    answer = inspect_repository(tmp_path)
    (problem,) = answer["problems"]
    assert (problem["code"], problem["scope"]) == ("ConfigEncoding", "config")
    (model,) = answer["models"]
    assert model["proposal"] == {"text": TEXT, "certain": True}
    assert model["backend"] == "onnxruntime"
