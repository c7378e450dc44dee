"""Whatever a file is called, the name made of it is one that the server accepts."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.client import names


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("resnet50", "resnet50"),
        ("ResNet 50_v1.2", "ResNet-50-v1-2"),
        ("2024-model", "model-2024-model"),
        ("a", "a-model"),
        ("__", "model"),
        ("模型", "model"),
        ("x" * 31 + "-y", "x" * 31),
    ],
)
def test_names_are_mended_not_replaced(text: str, expected: str) -> None:
    assert names.from_text(text) == expected


@given(st.text())
def test_every_text_gives_a_valid_name(text: str) -> None:
    assert names.is_valid(names.from_text(text))


@given(st.from_regex(r"\A[a-zA-Z][-a-zA-Z0-9]{1,30}[a-zA-Z0-9]\Z"))
def test_a_valid_name_without_double_hyphens_stays(text: str) -> None:
    assert names.is_valid(text)
    if "--" not in text:
        assert names.from_text(text) == text


@pytest.mark.parametrize("name", ["ab", "x" * 33, "1net", "-net", "net-", "ne_t", "net\n", ""])
def test_invalid_names_are_seen(name: str) -> None:
    assert not names.is_valid(name)


def test_a_folder_keeps_what_looks_like_an_extension(tmp_path: Path) -> None:
    folder = tmp_path / "net.v2"
    folder.mkdir()
    assert names.from_path(folder) == "net-v2"
    assert names.from_path(tmp_path / "net.onnx") == "net"
