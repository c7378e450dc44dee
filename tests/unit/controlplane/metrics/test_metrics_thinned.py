"""Minutes of more than a week ago become rows of ten, and charts and objectives say the same."""

from datetime import UTC, datetime

import pytest

from controlplane.metrics import selectors, services
from controlplane.metrics.models import GatewaySample, GatewayTotal, ReplicaSample, RollUp
from controlplane.metrics.selectors.answers import answered
from controlplane.metrics.services import keeping
from controlplane.metrics.types import KEEP_MINUTES_S
from tests.support.metric_samples import HOUR, gateway, steady

pytestmark = pytest.mark.django_db(databases=["default", "metrics"])

LATER = HOUR + 2 * 3600 + KEEP_MINUTES_S + 60


@pytest.fixture(autouse=True)
def two_hours() -> None:
    """One replica, and a gateway that tells of every minute; rolled up."""
    steady(121, start=HOUR)
    GatewaySample.objects.bulk_create(
        gateway(HOUR + 60 * minute + 30, 100 + minute % 7, 60 + minute) for minute in range(121)
    )
    services.roll_up(now=HOUR + 122 * 60)
    services.roll_up(now=HOUR + 122 * 60)
    ReplicaSample.objects.all().delete()
    GatewaySample.objects.all().delete()


def spans() -> dict[int, int]:
    found: dict[int, int] = {}
    for span_s in RollUp.objects.filter(scope="deployment/digits/blue").values_list(
        "span_s", flat=True
    ):
        found[span_s] = found.get(span_s, 0) + 1
    return found


def test_ten_minutes_become_one_row() -> None:
    before = spans()
    assert before == {60: 122, 3600: 3}  # the first ends at the whole hour
    assert services.thin(now=LATER) == 13
    assert spans() == {60: 1, 600: 13, 3600: 3}
    assert services.thin(now=LATER) == 0


def test_what_is_young_stays() -> None:
    assert services.thin(now=HOUR + KEEP_MINUTES_S + 600) == 2
    assert spans() == {60: 111, 600: 2, 3600: 3}


def test_minutes_of_which_no_hour_was_made_stay() -> None:
    RollUp.objects.filter(span_s=3600, at__gt=HOUR + 3600).delete()
    assert services.thin(now=LATER) == 7
    assert spans() == {60: 61, 600: 7, 3600: 2}


def test_a_call_ends_and_the_next_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    moments = iter(range(100))
    monkeypatch.setattr(keeping, "monotonic", lambda: float(next(moments)))
    monkeypatch.setattr(keeping, "THINNED_FOR_S", 4.0)
    assert (services.thin(now=LATER), services.thin(now=LATER)) == (3, 3)


@pytest.mark.parametrize(("range_s", "step_s"), [(7200, 600), (7200, 3600), (7200, 1200)])
def test_charts_of_that_time_say_the_same(range_s: int, step_s: int) -> None:
    query = selectors.Query(HOUR, HOUR + range_s, step_s=step_s)
    before = selectors.endpoint_history("digits", query, now=LATER)
    assert any(value is not None for value in before.v[before.keys.index("p95_us.all")])
    services.thin(now=LATER)
    after = selectors.endpoint_history("digits", query, now=LATER)
    assert (after.keys, after.t, after.resolution) == (before.keys, before.t, before.resolution)
    for part in ("v", "low", "high"):
        for key, was, now in zip(
            before.keys, getattr(before, part), getattr(after, part), strict=True
        ):
            for one, other in zip(was, now, strict=True):
                assert (one is None) == (other is None), (part, key)
                if one is not None:
                    assert other == pytest.approx(one, rel=2e-3, abs=1e-9), (part, key)


def test_a_finer_question_is_answered_in_tens_without_gaps() -> None:
    services.thin(now=LATER)
    query = selectors.Query(HOUR, HOUR + 3600, step_s=60)
    found = selectors.endpoint_history("digits", query, now=LATER)
    assert found.step_s == 600
    rates = found.v[found.keys.index("request_rate.all")]
    assert len(rates) == 6
    assert rates == [pytest.approx(10)] * 6


def test_answers_of_the_hour_in_which_an_endpoint_was_made_are_its_own() -> None:
    """Ten minutes in which another had its name are left out whole."""
    GatewayTotal.objects.create(endpoint="digits", deployment="blue", at=HOUR + 7200)

    def count(born: int) -> int:
        found = answered(
            "digits", HOUR - 60, minutes_since=LATER, born=datetime.fromtimestamp(born, UTC)
        )
        return sum(sum(one.classes.values()) for one in found if one.end <= HOUR + 3600)

    born = HOUR + 1200
    before = count(born)
    services.thin(now=LATER)
    assert count(born) == before
    assert 0 < count(born + 60) < before
