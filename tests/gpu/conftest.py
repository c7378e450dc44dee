"""The device of the cases, the servers they share, and the table of what they found.

Runs on a machine that has neither Django nor pytest's plugins (pytest.ini beside this).
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.gpu_device import NO_GPU, Device, bare_library_path, chosen, uuids
from tests.support.gpu_regions import Region, Regions, region
from tests.support.gpu_server import Server, let_go
from tests.support.gpu_table import CaseTable

HERE = Path(__file__).parent
DEVICE = chosen()
Figures = Callable[..., None]


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--gpu-report", metavar="FILE", default="", help="write what the cases of tests/gpu found"
    )
    parser.addoption(
        "--gpu-answers",
        metavar="N",
        type=int,
        default=20_000,
        help="of how many batched answers none may be wrong",
    )


def pytest_configure(config: pytest.Config) -> None:
    path = config.getoption("gpu_report", default="")
    if DEVICE is not None and (path or DEVICE.is_gpu):
        config.pluginmanager.register(CaseTable(DEVICE, path), "gpu-cases")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.is_relative_to(HERE):
            item.add_marker(pytest.mark.gpu)
            if DEVICE is None:
                item.add_marker(pytest.mark.skip(reason=NO_GPU))


@pytest.fixture(scope="session")
def device() -> Device:
    assert DEVICE is not None, "the cases would have been skipped"
    return DEVICE


@pytest.fixture(scope="session")
def card(device: Device) -> str:
    """The UUID of the card that cases without a choice use; no card, no case."""
    if not device.is_gpu:
        pytest.skip("needs a card: nothing on the CPU is like it")
    return uuids()[0]


@pytest.fixture
def figures(record_property: Callable[[str, object], None]) -> Figures:
    """Takes figures by name, for the table."""

    def record(**found: Any) -> None:
        for name, value in found.items():
            record_property(name, round(value, 3) if isinstance(value, float) else value)

    return record


@pytest.fixture(scope="session")
def shared(tmp_path_factory: pytest.TempPathFactory, device: Device) -> Iterator[Server]:
    made = Server(tmp_path_factory.mktemp("gpu"), device)
    yield made
    made.close()


@pytest.fixture(scope="session")
def apart(
    tmp_path_factory: pytest.TempPathFactory, device: Device, shared: Server
) -> Iterator[Server]:
    """For cases about the memory of all of a process; on the CPU the others' one will do."""
    if not device.is_gpu:
        yield shared
        return
    made = Server(tmp_path_factory.mktemp("memory"), device)
    yield made
    made.close()


@pytest.fixture(scope="session")
def onnx_alone(
    tmp_path_factory: pytest.TempPathFactory, device: Device, shared: Server
) -> Iterator[Server]:
    """Loads no PyTorch, which would bring CUDA's libraries; sees one card, by its UUID."""
    if not device.is_gpu:
        yield shared
        return
    variables = {"LD_LIBRARY_PATH": bare_library_path(), "CUDA_VISIBLE_DEVICES": uuids()[-1]}
    made = Server(tmp_path_factory.mktemp("onnx"), device, variables=variables)
    yield made
    made.close()


@pytest.fixture
def server(shared: Server) -> Iterator[Server]:
    with shared.watched() as found:
        yield found


@pytest.fixture
def regions(server: Server, device: Device) -> Iterator[Regions]:
    """Makes regions that are registered; all are let go at the end."""
    made: list[Region] = []

    def make(name: str, size: int) -> Region:
        found = region(device, size)
        made.append(found)
        with server.over_http() as client:
            client.register_cuda_shared_memory(name, found.handle, 0, size)
        return found

    yield make
    try:
        let_go(server)
    finally:
        for found in made:
            found.close()


@pytest.fixture
def memory_server(apart: Server) -> Iterator[Server]:
    with apart.watched() as found:
        yield found


@pytest.fixture
def bare_server(onnx_alone: Server) -> Iterator[Server]:
    with onnx_alone.watched() as found:
        yield found
