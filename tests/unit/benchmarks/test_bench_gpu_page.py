"""The measured part of docs/gpu.md: what was, what was not, and nothing else of the page."""

from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from benchmarks import gpu_page
from benchmarks.gpu_page import BEGIN, END

ABOUT = {
    "at": "2026-11-26T10:20:00+00:00", "cores": 16, "cpu": "Xeon", "python": "3.12.3",
    "card": "NVIDIA H200", "memory_bytes": 150_000_000_000, "driver": "580.1", "cuda": "13.0",
    "libraries": {"torch": "2.11.0"}, "seconds": 3.0, "clients": 8, "instances": 1,
    "server_flags": [], "tiny": False,
}  # fmt: skip


def point(frontends: int, rate: float, **changed: Any) -> dict[str, Any]:
    return {
        "model": "bert", "library": "onnxruntime", "transport": "grpc", "under_way": 128,
        "batch": 1, "frontends": frontends, "per_second": rate, "p50_ms": 1.26, "p99_ms": 3.0,
        "mean_batch": 63.6, "busy": 0.987, "cpu_us": 123.4, "wrong": 0, "checked": 120_000,
        "errors": 0, "server_failures": 0, **changed,
    }  # fmt: skip


LIMIT = {"model": "bert", "library": "onnxruntime", "batch": 64, "per_second": 8000.0}
BODY: dict[str, Any] = {
    "about": ABOUT,
    "limits": [LIMIT],
    "points": [point(1, 4000.0), point(4, 7800.0), point(1, 100.0, under_way=1)],
    "left_out": [{"point": "large_pytorch grpc 16x8", "why": "no time was left"}],
    "failures": [{"what": "loading bert_pytorch", "why": "no `memory`\nat all"}],
}


def test_only_what_lies_between_the_comments_is_rewritten(tmp_path: Path) -> None:
    page = tmp_path / "gpu.md"
    page.write_text(f"# GPUs\n\n{BEGIN}\nOld.\n{END}\n\nThe end.\n")
    for _ in range(2):
        gpu_page.rewrite(page, BODY)
    text = page.read_text()
    assert text == f"# GPUs\n\n{BEGIN}\n{gpu_page.markdown(BODY)}\n{END}\n\nThe end.\n"
    assert (tmp_path / "images" / "gpu-rates.svg").exists()


@pytest.mark.parametrize("text", ["", f"{BEGIN}\n", f"{END}\n{BEGIN}\n"])
def test_a_page_without_both_comments_is_left_alone(tmp_path: Path, text: str) -> None:
    page = tmp_path / "gpu.md"
    page.write_text(text)
    with pytest.raises(ValueError, match=f"lacks '{BEGIN}' with '{END}' behind it"):
        gpu_page.rewrite(page, BODY)
    assert page.read_text() == text


def test_it_says_on_what_it_was_measured_and_what_was_not() -> None:
    text = gpu_page.markdown(BODY)
    assert text.startswith("Of 2026-11-26: NVIDIA H200 (150 GB), driver 580.1, CUDA 13.0; 16 cores")
    assert "| **missed** | bert_onnxruntime: 50% of the bare loop by grpc 128x1 (wanted" in text
    assert "Left out: large_pytorch grpc 16x8 (no time was left)." in text
    assert "- loading bert_pytorch: `no 'memory'`" in text
    row = "| bert_onnxruntime | grpc 128x1 | 4,000 | 50% | 1.3 | 3.0 | 64 | 99% | 123 | 0 of"
    assert row in text


def test_front_ends_are_held_against_the_same_load_with_one() -> None:
    _, _, text = gpu_page.markdown(BODY).partition("The same load on more front ends:")
    rows = [line.split(" | ")[1:4] for line in text.splitlines() if "bert_onnxruntime |" in line]
    assert rows == [["grpc 128x1", "1", "4,000"], ["grpc 128x1", "4", "7,800"]]


def test_the_repository_s_own_page_has_the_comments() -> None:
    text = gpu_page.PAGE.read_text()
    assert 0 <= text.find(BEGIN) < text.find(END)


def test_the_plot_is_well_formed_and_has_a_bar_for_each_point_with_one_front_end() -> None:
    picture = ElementTree.fromstring(gpu_page.svg(BODY))
    bars = picture.findall("{http://www.w3.org/2000/svg}rect")[1:]
    assert [float(bar.attrib["width"]) for bar in bars] == [240.0, 6.0]
    (limit,) = picture.findall("{http://www.w3.org/2000/svg}line")
    assert limit.attrib["x1"] == "670.0"
