"""Pages join without gap or overlap, whatever is written in between."""

import base64
from typing import Any

import pytest
from rest_framework.test import APIClient

from controlplane.core import pagination
from controlplane.core.errors import Invalid
from controlplane.core.models import Event
from controlplane.core.pagination import paginate
from tests.support.registered_models import model_register


def add(subject: str) -> Event:
    return Event.objects.create(actor="x", verb="x", subject=subject, message="")


def walk(order: list[str], limit: int) -> list[int]:
    seen: list[int] = []
    cursor = ""
    while True:
        page = paginate(Event.objects.all(), limit=limit, cursor=cursor, order=order)
        seen += [event.seq for event in page.items]
        if page.next_cursor is None:
            return seen
        cursor = page.next_cursor


@pytest.mark.parametrize("order", [["subject", "seq"], ["-subject", "seq"], ["-at", "-seq"]])
@pytest.mark.parametrize("limit", [1, 2, 3, 7, 8])
def test_all_rows_come_once_and_in_order(db: None, order: list[str], limit: int) -> None:
    for subject in ("b", "a", "b", "c", "a", "b", "a"):
        add(subject)
    expected = list(Event.objects.order_by(*order).values_list("seq", flat=True))
    assert walk(order, limit) == expected


def test_rows_written_between_pages_shift_nothing(db: None) -> None:
    first, second, third = add("a"), add("b"), add("c")
    page = paginate(Event.objects.all(), limit=1, order=["-seq"])
    assert [event.seq for event in page.items] == [third.seq]
    add("d")
    rest = paginate(Event.objects.all(), limit=5, cursor=page.next_cursor or "", order=["-seq"])
    assert [event.seq for event in rest.items] == [second.seq, first.seq]
    assert rest.next_cursor is None


@pytest.mark.parametrize("text", ["[1, 2, 3]", "{}", "[[1]]", "[null]", "nonsense", '"a"'])
def test_a_foreign_cursor_is_refused(db: None, text: str) -> None:
    cursor = base64.urlsafe_b64encode(text.encode()).decode()
    with pytest.raises(Invalid):
        paginate(Event.objects.all(), cursor=cursor, order=["-seq"])


@pytest.mark.parametrize("cursor", ["\u00fc", "a", "!!!!", "WyJub3QgYSBudW1iZXIiXQ"])
def test_a_mangled_cursor_is_refused(db: None, cursor: str) -> None:
    with pytest.raises(Invalid):
        paginate(Event.objects.all(), cursor=cursor, order=["-seq"])


def test_a_cursor_of_another_order_is_refused(db: None) -> None:
    cursor = base64.urlsafe_b64encode(b'["no date", 1]').decode()
    with pytest.raises(Invalid):
        paginate(Event.objects.all(), cursor=cursor, order=["-at", "-seq"])


def test_values_in_memory_come_in_pages_as_well() -> None:
    paths = [f"{number:03}" for number in range(7)]
    found: list[str] = []
    cursor: str | None = ""
    while cursor is not None:
        page = pagination.paginate_values(
            reversed(paths), limit=3, cursor=cursor, key=lambda path: (path,)
        )
        found += page.items
        cursor = page.next_cursor
    assert found == paths


@pytest.mark.parametrize("values", [[1], ["a", "b"]])
def test_a_cursor_of_another_list_is_refused_for_values_in_memory(values: list[Any]) -> None:
    with pytest.raises(Invalid):
        pagination.paginate_values(
            ["a"], cursor=pagination._encode(values), key=lambda path: (path,)
        )


@pytest.mark.parametrize(
    ("path", "fits"),
    [
        ("models?limit=1", True),
        ("models?limit=7&q=", True),
        ("endpoints?limit=1", False),
        ("tokens", False),
        ("models?q=a", False),
        ("models?order_by=-name", False),
        ("models?tag.team=x", False),
    ],
)
@pytest.mark.django_db(databases=["default", "metrics"])
def test_a_cursor_is_for_its_list_with_its_filters(api: APIClient, path: str, fits: bool) -> None:
    for name in ("a", "b", "c"):
        model_register(name, content=name.encode())
    cursor = api.get("/api/v1/models?limit=1").json()["next_cursor"]
    answer = api.get(f"/api/v1/{path}{'&' if '?' in path else '?'}cursor={cursor}")
    if fits:
        assert answer.json()["items"][0]["name"] == "b"
    else:
        assert (answer.status_code, answer.json()["field"]) == (400, "cursor")
        assert "other filters" in answer.json()["detail"]
