"""Which nodes a list shows: by what is looked for, and by how they do."""

from dataclasses import asdict
from typing import Any

import pytest
from django.utils import timezone
from rest_framework.test import APIClient

from controlplane.nodes.models import Node
from controlplane.nodes.selectors import nodes_matching
from wire.messages import GpuInfo

pytestmark = pytest.mark.django_db(databases=["default", "metrics"])


@pytest.fixture(autouse=True)
def fleet() -> None:
    def add(name: str, info: dict[str, Any] | None = None, **fields: Any) -> None:
        said = {"address": "10.0.0.1", "backends": [], **(info or {})}
        Node.objects.create(id=name, name=name, info=said, last_seen_at=timezone.now(), **fields)

    card = asdict(GpuInfo(0, "GPU-0", "NVIDIA H100 (80GB)", memory_total_bytes=80))
    add("a-gpu", info={"gpus": [card], "labels": {"pool": "gpu"}})
    add("b-cpu", info={"address": "10.0.0.22"}, labels={"pool": "cpu", "odd.key": "x+y"})
    add("c-closed", cordoned=True)
    add("d-suspect", state="suspect")
    add("e-offline", state="offline", cordoned=True)


@pytest.mark.parametrize(
    ("q", "expected"),
    [
        ("", "abcde"),
        ("CPU", "b"),  # its name, and a label's value
        ("10.0.0.2", "b"),
        ("h100", "a"),
        ("h100 (80", "a"),
        ("80", "a"),  # the GPU's name, not its memory
        ("GPU-0", ""),  # a GPU's uuid is none of its names
        ("pool", "ab"),
        ("pool=gpu", "a"),
        ("pool=GPU", "a"),
        ("ool=c", "b"),
        ("odd.key=x+y", "b"),
        ("odd-key=x+y", ""),
        ("pool=x", ""),
        (".*", ""),
    ],
)
def test_text_is_looked_for_in_name_address_labels_and_names_of_gpus(q: str, expected: str) -> None:
    assert "".join(node.name[0] for node in nodes_matching(q)) == expected


@pytest.mark.parametrize(
    ("status", "expected"), [("", "abcde"), ("online", "ab"), ("closed", "c"), ("lost", "de")]
)
def test_a_status_chooses(status: str, expected: str) -> None:
    assert "".join(node.name[0] for node in nodes_matching(status=status)) == expected


def test_pages_count_all_that_match(viewer_api: APIClient) -> None:
    first = viewer_api.get("/api/v1/nodes?status=online&limit=1").json()
    assert ([node["name"] for node in first["items"]], first["total"]) == (["a-gpu"], 2)
    cursor = first["next_cursor"]
    second = viewer_api.get(f"/api/v1/nodes?status=online&limit=1&cursor={cursor}").json()
    assert [node["name"] for node in second["items"]] == ["b-cpu"]
    assert (second["total"], second["next_cursor"]) == (2, None)


def test_an_unknown_status_is_named(viewer_api: APIClient) -> None:
    refused = viewer_api.get("/api/v1/nodes?status=busy")
    assert refused.status_code == 400
    assert refused.json()["field"] == "status"
    assert "busy" in refused.json()["detail"]
