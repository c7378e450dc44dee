"""Progress as people see it: a terminal, a log file, a notebook; and nothing where nobody looks."""

import io
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from rich.console import Console

from shoal import MLClient
from shoal.client import Client
from shoal.display.default import Bars, default_watcher
from shoal.display.notebook import NotebookProgress
from shoal.display.terminal import Progress
from shoal.display.watcher import Quiet
from shoal.entities import ManagedOnlineDeployment, ManagedOnlineEndpoint, Model
from tests.support.shoal_server import FakeServer


class Cell:
    """A notebook's output area."""

    def __init__(self) -> None:
        self.shown: list[list[Any]] = []

    def __call__(self, content: Any, *, display_id: bool) -> Any:
        assert display_id
        versions = [content]
        self.shown.append(versions)
        return SimpleNamespace(update=versions.append)

    def last(self) -> Any:
        return self.shown[-1][-1]


@pytest.fixture
def models(tmp_path: Path) -> Path:
    file = tmp_path / "models" / "model_1" / "1" / "model.onnx"
    file.parent.mkdir(parents=True)
    file.write_bytes(b"graph" * 1000)
    return tmp_path / "models"


def deploy(client: Client, models: Path, **options: Any) -> None:
    ml_client = MLClient(client=client, **options)
    ml_client.begin_create_or_update(ManagedOnlineEndpoint(name="net")).result()
    model = Model(name="net", path=models, type="triton_model")
    deployment = ManagedOnlineDeployment(name="blue", endpoint_name="net", model=model)
    ml_client.begin_create_or_update(deployment).result()


def test_a_notebook_gets_one_table_per_thing_redrawn_in_place(client: Client, models: Path) -> None:
    cell = Cell()
    deploy(client, models, watcher=Bars(lambda: NotebookProgress(cell)))
    texts = [repr(versions[-1]) for versions in cell.shown]
    assert len(texts) == 4, texts  # hashed, sent, inspected, deployed
    assert "✓ Hash" in texts[0] and "4.88 KiB" in texts[0]
    assert "✓ Upload" in texts[1]
    assert "✓ Inspect" in texts[2]
    assert "✓ Load" in texts[3]
    assert "<progress" not in cell.last()._repr_html_()


def test_a_running_row_has_a_bar_and_names_are_escaped() -> None:
    cell = Cell()
    progress = NotebookProgress(cell)
    progress.note("<b>")
    progress.sending(25, 100)
    html = cell.last()._repr_html_()
    assert '<progress max="1" value="0.250">' in html
    assert "&lt;b&gt;" in html and "<b>" not in html


def test_a_terminal_draws_bars_and_leaves_what_was_done(client: Client, models: Path) -> None:
    screen = io.StringIO()
    console = Console(file=screen, force_terminal=True, width=80)
    deploy(client, models, watcher=Bars(lambda: Progress(console)))
    text = screen.getvalue()
    for title in ("Hash", "Upload", "Inspect", "Load"):
        assert title in text
    assert "\x1b[" in text


def test_a_log_file_gets_one_line_per_change(client: Client, models: Path) -> None:
    log = io.StringIO()
    deploy(client, models, watcher=Bars(lambda: Progress(Console(file=log, width=80))))
    lines = log.getvalue().splitlines()
    assert [line.split()[1] for line in lines if line.startswith("✓")] == [
        *("Hash", "Upload", "Inspect", "Load")
    ]
    assert "\x1b" not in log.getvalue()


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_who_looks_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    monkeypatch.delitem(sys.modules, "IPython", raising=False)
    assert isinstance(default_watcher(), Quiet)
    monkeypatch.setattr(sys, "stderr", Terminal())
    assert isinstance(default_watcher(), Bars)
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    kernel = SimpleNamespace(get_ipython=lambda: SimpleNamespace(kernel=object()))
    monkeypatch.setitem(sys.modules, "IPython", kernel)  # type: ignore[arg-type]
    assert isinstance(default_watcher(), Bars)
    shell = SimpleNamespace(get_ipython=lambda: SimpleNamespace())
    monkeypatch.setitem(sys.modules, "IPython", shell)  # type: ignore[arg-type]
    assert isinstance(default_watcher(), Quiet)


def test_progress_can_be_turned_off(
    client: Client, models: Path, server: FakeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    screen = Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    deploy(client, models, show_progress=False)
    assert "Upload" not in screen.getvalue()
