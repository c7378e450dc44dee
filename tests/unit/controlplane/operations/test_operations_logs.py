"""Log lines are searched by the server, in all that it keeps of a deployment."""

from typing import Any

import pytest
from rest_framework.test import APIClient

from controlplane.metrics.models import LogLine
from tests.support.placed_replicas import blue_and_green

pytestmark = pytest.mark.django_db(databases=["default", "metrics"])
LOGS = "/api/v1/endpoints/digits/deployments/blue/logs"
TEXTS = ("I ready", "W slow: 100% of a batch_of", "E Größe 3 expected", "I batch-of 8")


@pytest.fixture(autouse=True)
def written(db: None) -> None:
    """3,000 lines of the same four texts, a second apart; one of another deployment."""
    blue_and_green()
    LogLine.objects.bulk_create(
        LogLine(
            endpoint="digits", deployment="blue", replica_id=f"r{index % 2}",
            stream="inference-server", seq=index, at=1_000_000.0 + index, text=TEXTS[index % 4],
        )
        for index in range(3000)
    )  # fmt: skip
    LogLine.objects.create(
        endpoint="digits", deployment="green", replica_id="r9", stream="inference-server",
        seq=1, at=1_000_000.0, text="E of another",
    )  # fmt: skip


def read(api: APIClient, **query: Any) -> Any:
    answer = api.get(LOGS, query)
    assert answer.status_code == 200, answer.content
    return answer.json()


@pytest.mark.parametrize(
    ("query", "texts"),
    [
        ({"q": "GRÖSSE"}, [TEXTS[2]]),
        ({"q": "größe"}, [TEXTS[2]]),
        ({"q": "GRÖßE"}, [TEXTS[2]]),
        ({"q": "100%"}, [TEXTS[1]]),
        ({"q": "batch_of"}, [TEXTS[1]]),  # no pattern: the dash of the other is another character
        ({"q": ".*"}, []),
        ({"level": "warn"}, [TEXTS[1], TEXTS[2]]),
        ({"level": "error"}, [TEXTS[2]]),
        ({"level": "warn", "q": "batch"}, [TEXTS[1]]),
        ({"q": "nothing has this"}, []),
        ({"level": "error", "replica": "r1"}, []),
    ],
)
def test_only_lines_that_fit_come(api: APIClient, query: dict[str, str], texts: list[str]) -> None:
    found = read(api, **query, tail=5000)["lines"]
    assert sorted({line["text"] for line in found}) == sorted(texts)
    assert len(found) == 750 * len(texts)


def test_what_is_old_is_found_page_by_page(api: APIClient) -> None:
    LogLine.objects.filter(seq__in=[5, 9, 2900]).update(text="the needle")
    newest = read(api, q="needle", tail=2)["lines"]
    assert [line["text"] for line in newest] == ["the needle"] * 2
    older = read(api, q="needle", tail=2, before=newest[0]["id"])["lines"]
    assert len(older) == 1
    assert older[0]["id"] < newest[0]["id"]


def test_who_follows_a_search_looks_at_no_line_twice(api: APIClient) -> None:
    first = read(api, q="needle")
    newest = LogLine.objects.filter(deployment="blue").order_by("-id")[0].pk
    assert (first["lines"], first["last_id"]) == ([], newest)
    again = read(api, q="needle", after=first["last_id"])
    assert (again["lines"], again["last_id"]) == ([], None)
    LogLine.objects.create(
        endpoint="digits", deployment="blue", replica_id="r0", stream="inference-server",
        seq=9999, at=2_000_000.0, text="a needle",
    )  # fmt: skip
    assert len(read(api, q="needle", after=first["last_id"])["lines"]) == 1


def test_a_stretch_of_time_is_chosen(api: APIClient) -> None:
    span = {"since": "1970-01-12T13:46:50Z", "until": "1970-01-12T13:47:00Z"}  # 1,000,010 to 020
    assert len(read(api, **span)["lines"]) == 10
    assert {line["level"] for line in read(api, **span, level="error")["lines"]} == {"error"}


@pytest.mark.parametrize("query", [{"level": "bad"}, {"until": "noon"}, {"q": "x" * 501}])
def test_what_cannot_be_is_refused_by_name(api: APIClient, query: dict[str, str]) -> None:
    answer = api.get(LOGS, query)
    assert (answer.status_code, answer.json()["field"]) == (400, next(iter(query)))
