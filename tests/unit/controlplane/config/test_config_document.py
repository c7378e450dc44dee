"""The OpenAPI document costs one making, however many ask, and whoever has it gets none."""

import gzip
import json
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.test import Client

from controlplane.config import document

PATH = "/api/v1/openapi.json"


@pytest.fixture
def makings(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """One entry per making; each takes until all who ask have asked."""
    made: list[int] = []
    make = document.SchemaGenerator.get_schema

    def counted(*args: Any, **kwargs: Any) -> Any:
        made.append(threading.get_ident())
        return make(*args, **kwargs)

    monkeypatch.setattr(document.SchemaGenerator, "get_schema", counted)
    document._made.cache_clear()
    yield made
    document._made.cache_clear()


def test_it_is_made_once_for_all_who_ask_at_once_and_later(makings: list[int]) -> None:
    barrier = threading.Barrier(4)

    def ask(_: int) -> bytes:
        barrier.wait(60)
        return Client().get(PATH).content

    with ThreadPoolExecutor(4) as threads:
        answers = set(threads.map(ask, range(4)))
    assert len(answers) == 1
    Client().get(PATH, {"lang": "de", "x": "1"})
    assert len(makings) == 1


def test_it_is_the_whole_document_for_strangers_too() -> None:
    answer = Client().get(PATH)
    assert answer["Content-Type"] == "application/vnd.oai.openapi+json"
    assert "/api/v1/session" in json.loads(answer.content)["paths"]
    assert "Set-Cookie" not in answer
    assert Client().head(PATH).status_code == 200
    assert Client().post(PATH).status_code == 405


def test_who_has_it_gets_nothing_again() -> None:
    etag = Client().get(PATH)["ETag"]
    for seen in (etag, f'"x", {etag}', etag.removeprefix("W/"), "*"):
        answer = Client().get(PATH, headers={"If-None-Match": seen})
        assert (answer.status_code, answer.content) == (304, b"")
        assert (answer["ETag"], answer["Cache-Control"]) == (etag, "no-cache")
    assert Client().get(PATH, headers={"If-None-Match": 'W/"x"'}).status_code == 200


@pytest.mark.parametrize(
    ("accepted", "packed"),
    [
        ("gzip", True),
        ("br, GZIP;q=0.5", True),
        ("*", True),
        ("", False),
        ("br", False),
        ("gzip;q=0, *", False),
        ("gzip; q=0.0", False),
    ],
)
def test_it_is_packed_for_who_can_unpack(accepted: str, packed: bool) -> None:
    plain = Client().get(PATH).content
    answer = Client().get(PATH, headers={"Accept-Encoding": accepted})
    assert (answer.get("Content-Encoding") == "gzip") is packed
    assert answer["Vary"] == "Accept-Encoding"
    assert (gzip.decompress(answer.content) if packed else answer.content) == plain
    if packed:
        assert len(answer.content) < len(plain) / 5
