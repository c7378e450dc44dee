"""The gateway's row: every part is really taken out of real files, and what the figures say."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from benchmarks import gateway, gateway_files
from benchmarks.gateway_parts import PARTS, WORSE, Files, change, without_single_requests
from benchmarks.server import Server
from wire.messages import GatewaySnapshot

NOBODY = Server(pid=0, model="m0", http_port=1, grpc_port=2, metrics_port=3)


@pytest.fixture(scope="module")
def snapshot() -> GatewaySnapshot:
    return gateway_files.rendered(NOBODY, neighbours=1)


def content(folder: Path) -> dict[str, str]:
    return {
        path.name: json.dumps(json.loads(path.read_text()), sort_keys=True)
        for path in folder.rglob("*.json")
    }


@pytest.mark.parametrize(
    "without",
    [*PARTS.values(), *WORSE.values(), without_single_requests],
    ids=[*PARTS, *WORSE, "single requests"],
)
def test_each_part_is_there_to_be_taken_out(
    tmp_path: Path, snapshot: GatewaySnapshot, without: Callable[[Files], None]
) -> None:
    settings = gateway_files.product(tmp_path, snapshot)
    before = content(settings.folder)
    change(settings, without)
    assert content(settings.folder) != before


def test_neighbours_have_keys_and_routes_and_no_clusters(
    tmp_path: Path, snapshot: GatewaySnapshot
) -> None:
    settings = gateway_files.product(tmp_path, snapshot, gateway_files.ENDPOINT)
    found = content(settings.folder)
    neighbour = gateway_files.NEIGHBOUR.format(0)
    assert neighbour in found["keys.json"]
    assert neighbour in found["scoring.json"]
    assert neighbour not in found["cds.json"]
    assert gateway_files.ENDPOINT in found["cds.json"]


def test_turns_are_compared_pair_by_pair() -> None:
    """The machine was three times as slow in the second turn, which is nobody's fault."""
    pair = gateway.Pair([44.0, 132.0, 46.0], [40.0, 120.0, 40.0])
    assert pair.times() == pytest.approx(1.1)
    assert pair.more() == pytest.approx(6.0)


@pytest.mark.parametrize(("ours", "kept"), [(46.0, True), (46.1, False)])
def test_the_promise_is_a_multiple_of_the_bare_router(ours: float, kept: bool) -> None:
    whole = dict.fromkeys(gateway.LINES, gateway.Pair([ours], [40.0]))
    verdicts = gateway.verdicts(gateway.Costs(whole, {}, {}))
    assert [found for found, _ in verdicts] == [kept] * 4
