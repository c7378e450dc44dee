"""The system page: what each look means, and that a dead part is an answer, not an error."""

import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock

import django
import pytest
from celery import current_app
from django.utils import timezone
from pytest_django import Settings
from rest_framework.test import APIClient

from controlplane.core import events
from controlplane.gateway import authority
from controlplane.gateway.models import Gateway
from controlplane.nodes.models import Node
from controlplane.system import diagnosis, probes, services
from controlplane.system.diagnosis import Forwarded, Peer, PulseSeen
from controlplane.system.models import Pulse
from controlplane.system.probes import BrokerCheck, DatabaseCheck, DiskCheck
from controlplane.system.tasks import pulse as pulse_job
from controlplane.system.types import State, worst

NOW = datetime(2026, 1, 1, tzinfo=UTC)
ALL_DATABASES = pytest.mark.django_db(databases=["default", "metrics"])


def pulse(age_s: float, waited_s: float = 0.1) -> PulseSeen:
    return PulseSeen(age_s, waited_s, "celery@a")


@pytest.mark.parametrize(
    ("seen", "depth", "state"),
    [
        (None, 0, State.UNKNOWN),
        (pulse(3), 0, State.OK),
        (pulse(3), 101, State.WARNING),
        (pulse(3), None, State.OK),
        (pulse(30), 0, State.WARNING),
        (pulse(61), 0, State.ERROR),
    ],
)
def test_a_worker_is_as_well_as_its_last_job(
    seen: PulseSeen | None, depth: int | None, state: State
) -> None:
    part = diagnosis.worker("control", seen, depth)
    assert part.state is state
    assert (part.hint == "") == (state is State.OK)
    assert part.depth == depth


FORWARDED = Forwarded(
    "198.51.100.1", "203.0.113.9, 198.51.100.1", "https", True, "https://studio.example"
)
DIRECT = Forwarded("127.0.0.1", "", "", False, "http://127.0.0.1:8080")


@pytest.mark.parametrize(
    ("changes", "state", "told"),
    [
        ({}, State.OK, "you come from 198.51.100.1"),
        ({"address": "10.0.0.5", "secure": False}, State.WARNING, "what 10.0.0.5 says"),
        ({"public_url": "http://studio"}, State.WARNING, "people come over https"),
        ({"public_url": "http://studio", "addresses": "", "secure": False}, State.WARNING,
         "people come over https"),
        ({"scheme": "http", "secure": False}, State.WARNING, "does not say that people come over"),
        ({"scheme": "", "secure": False}, State.WARNING, "does not say that people come over"),
        ({"scheme": "http", "secure": False, "public_url": "http://studio"}, State.OK, "believed"),
    ],
)  # fmt: skip
def test_a_proxy_is_told_by_its_headers(changes: dict[str, Any], state: State, told: str) -> None:
    part = diagnosis.proxy(replace(FORWARDED, **changes))
    assert part is not None
    assert (part.state, told in part.summary) == (state, True), part.summary
    assert (part.hint == "") == (state is State.OK)


@ALL_DATABASES
def test_who_comes_through_no_proxy_is_told_of_none(viewer_api: APIClient) -> None:
    assert diagnosis.proxy(DIRECT) is None
    path = "/api/v1/system"
    names = [part["name"] for part in viewer_api.get(path).json()["parts"]]
    assert diagnosis.PROXY not in names
    forged = viewer_api.get(path, HTTP_X_FORWARDED_FOR="203.0.113.9").json()["parts"]
    assert forged[1]["name"] == diagnosis.PROXY
    assert "SHOAL_TRUSTED_PROXIES=127.0.0.1" in forged[1]["hint"]


@pytest.mark.parametrize(
    ("pulses", "state"),
    [
        ([None, None], State.UNKNOWN),
        ([pulse(500), pulse(2)], State.OK),
        ([pulse(500), None], State.ERROR),
    ],
)
def test_beat_is_seen_through_whatever_it_sent_last(pulses: list[Any], state: State) -> None:
    assert diagnosis.beat(pulses).state is state


@pytest.mark.parametrize(
    ("found", "state", "summary"),
    [
        (Peer("n", 2, "online", "1", 0), State.OK, "last reported 2 s ago"),
        (Peer("n", 12, "suspect", "1", 0), State.WARNING, "last reported 12 s ago"),
        (Peer("n", 200, "offline", "1", 0), State.ERROR, "last reported 3 min ago"),
        (Peer("n", None, "offline", "", 0), State.ERROR, "never reported"),
        (Peer("n", 2, "online", "1", 5), State.WARNING, "5 changes behind; last reported 2 s ago"),
        (Peer("n", 2, "online", "1", 0, "bad"), State.ERROR, "bad; last reported 2 s ago"),
    ],
)
def test_a_peer_is_as_well_as_its_last_report(found: Peer, state: State, summary: str) -> None:
    part = diagnosis.peer("agent", found, datetime.now(UTC))
    assert (part.state, part.summary) == (state, summary)


def test_a_silent_gateway_takes_keys_that_were_replaced() -> None:
    silent = Peer("local", 60.0, "offline", "", 0, "")
    now = datetime.now(UTC)
    assert "Keys that were replaced" in diagnosis.peer("gateway", silent, now).hint
    assert "Keys" not in diagnosis.peer("agent", silent, now).hint


@pytest.mark.parametrize(
    ("source", "days", "state", "said"),
    [
        ("installation", 60, State.OK, "by the installation, until 2026-03-02"),
        ("supplied", 60, State.OK, "supplied, until 2026-03-02"),
        ("supplied", 5, State.WARNING, "supplied, until 2026-01-06"),
        ("self", 60, State.WARNING, "by itself, until 2026-03-02"),
    ],
)
def test_what_clients_of_a_gateway_see_is_told(
    source: str, days: int, state: State, said: str
) -> None:
    now = datetime(2026, 1, 1, tzinfo=UTC)
    peer = Peer("east", 2.0, "online", "", 0, "", None, source, now + timedelta(days=days))
    part = diagnosis.peer("gateway", peer, now)
    assert part.state is state
    assert said in [fact.value for fact in part.facts]
    assert bool(part.hint) is (state is not State.OK)


@pytest.mark.parametrize(
    ("free", "state"), [(50, State.OK), (9, State.WARNING), (2, State.ERROR), (0, State.ERROR)]
)
def test_a_disk_is_as_well_as_its_room(free: int, state: State) -> None:
    assert diagnosis.disk("Data", DiskCheck("/d", 100, free)).state is state


@pytest.mark.parametrize(
    ("part", "state"),
    [
        (diagnosis.database("Main", DatabaseCheck("sqlite", ms=1.0)), State.OK),
        (diagnosis.database("Main", DatabaseCheck("sqlite", ms=900.0)), State.WARNING),
        (diagnosis.database("Main", DatabaseCheck("sqlite", error="gone")), State.ERROR),
        (diagnosis.broker(BrokerCheck(ms=1.0, server="Redis 7.4.0")), State.OK),
        (diagnosis.broker(BrokerCheck(error="refused")), State.WARNING),
        (diagnosis.web("1", NOW - timedelta(hours=5), NOW), State.OK),
    ],
)
def test_a_part_that_does_not_answer_says_why(part: Any, state: State) -> None:
    assert part.state is state
    assert part.summary


@pytest.mark.parametrize(
    ("seconds", "text"), [(3, "3 s"), (200, "3 min"), (9000, "2 h"), (400_000, "5 days")]
)
def test_spans(seconds: float, text: str) -> None:
    assert diagnosis.span(seconds) == text


def test_the_worst_part_speaks_for_all() -> None:
    assert worst([State.OK, State.UNKNOWN, State.WARNING]) is State.WARNING
    assert worst([State.ERROR, State.OK]) is State.ERROR
    assert worst([]) is State.OK


def test_a_broker_that_is_gone_is_said_so(settings: Settings) -> None:
    settings.SHOAL_REDIS_URL = "redis://127.0.0.1:1/0"
    look = probes.broker(["control"])
    assert look.error
    assert look.depths is None
    assert probes.disk(Path("/nowhere/at/all")) is None


def test_a_pulse_keeps_when_it_was_and_how_long_it_waited(db: None) -> None:
    now = timezone.now()
    services.pulse_note(queue="control", worker="celery@a", sent_at=now.timestamp() - 2, now=now)
    row = Pulse.objects.get()
    assert (row.queue, row.worker, row.at) == ("control", "celery@a", now)
    assert row.waited_s == pytest.approx(2, abs=0.01)
    ahead = now.timestamp() + 60  # the sender's clock
    services.pulse_note(queue="control", worker="celery@b", sent_at=ahead, now=now)
    assert Pulse.objects.get().waited_s == 0


def test_beat_sends_a_pulse_into_each_queue_and_the_job_notes_it(db: None) -> None:
    entries = [e for e in current_app.conf.beat_schedule.values() if e["task"] == "system.pulse"]
    assert {e["options"]["queue"] for e in entries} == {"control", "ingest"}
    for entry in entries:
        pulse_job.apply(kwargs=entry["kwargs"])
    assert set(Pulse.objects.values_list("queue", flat=True)) == {"control", "ingest"}


@ALL_DATABASES
def test_the_page_shows_every_part(viewer_api: APIClient, settings: Settings) -> None:
    settings.SHOAL_REDIS_URL = "redis://127.0.0.1:1/0"
    now = timezone.now()
    Node.objects.create(
        id="n1", name="gpu-a1", credential_hash="x", last_seen_at=now, desired_generation=3,
        observed_generation=1, info={"agent_version": "0.1.0"},
    )  # fmt: skip
    Gateway.objects.create(name="edge", last_seen_at=now - timedelta(minutes=5))
    services.pulse_note(queue="control", worker="celery@a", sent_at=None, now=now)
    body = viewer_api.get("/api/v1/system").json()
    parts = {(part["kind"], part["name"]): part for part in body["parts"]}
    assert body["state"] == "error"
    assert parts["broker", "Redis"]["state"] == "warning"
    assert parts["broker", "Redis"]["summary"].startswith("degraded: does not answer")
    assert parts["worker", "Worker of control"]["state"] == "ok"
    assert parts["worker", "Worker of ingest"]["state"] == "unknown"
    assert parts["gateway", "edge"]["state"] == "error"
    assert parts["agent", "gpu-a1"]["summary"].startswith("2 changes behind")
    assert parts["database", "Main database"]["state"] == "ok"
    assert parts["database", "Metrics database"]["facts"][0]["name"] == "engine"
    assert body["newest_event_seq"] == 0
    seen = events.record(actor="x", verb="node.seen", subject="node/gpu-a1", message="m")
    assert viewer_api.get("/api/v1/system").json()["newest_event_seq"] == seen.seq


@pytest.mark.django_db
def test_the_authority_is_told_by_its_fingerprint(tmp_path: Path, settings: Any) -> None:
    now = datetime.now(UTC)
    settings.SHOAL_TLS_DIR = tmp_path
    assert probes.authorities(now) == []
    authority.AUTHORITIES.ensure(now)
    [look] = probes.authorities(now)
    assert re.fullmatch(r"(?:[0-9A-F]{2}:){31}[0-9A-F]{2}", look.fingerprint)
    part = diagnosis.certificate(look, now)
    assert (part.state, part.facts[0].value) == (State.OK, look.fingerprint)
    assert diagnosis.certificate(look, look.ends_at).state is State.WARNING
    later = now + timedelta(days=3000)
    authority.AUTHORITIES.ensure(later)
    _, following = [diagnosis.certificate(one, later) for one in probes.authorities(later)]
    assert following.summary.startswith("signs from ")
    assert "shoal gateway ca" in following.hint
    settings.SHOAL_GATEWAY_CA_FILE = str(tmp_path / "gone")
    [broken] = [diagnosis.certificate(one, now) for one in probes.authorities(now)]
    assert broken.state is State.ERROR
    assert "gone" in broken.summary


@pytest.mark.parametrize(
    ("ms", "told"),
    [
        (0.0, "answers in under 0.1 ms"),
        (0.04, "answers in under 0.1 ms"),
        (0.1, "answers in 0.1 ms"),
        (12.34, "answers in 12.3 ms"),
    ],
)
def test_nothing_answers_in_no_time(ms: float, told: str) -> None:
    assert diagnosis.database("Main", DatabaseCheck("sqlite", ms=ms)).summary == told
    assert diagnosis.broker(BrokerCheck(ms=ms, server="Redis 7.4.0")).summary == told


@pytest.mark.parametrize(
    ("info", "expected"),
    [
        ({"redis_version": "6.2.14"}, "Redis 6.2.14"),
        ({"redis_version": "7.2.4", "valkey_version": "8.1.1"}, "Valkey 8.1.1"),
    ],
)
def test_which_server_the_broker_is_is_told(
    monkeypatch: pytest.MonkeyPatch, info: dict[str, str], expected: str
) -> None:
    client = MagicMock()
    client.info.return_value = info
    client.pipeline.return_value.execute.return_value = [2]
    monkeypatch.setattr(probes.redis.Redis, "from_url", lambda *_a, **_k: client)
    part = diagnosis.broker(probes.broker(["control"]))
    assert ("server", expected) in [(fact.name, fact.value) for fact in part.facts]


@ALL_DATABASES
def test_the_bill_of_materials_lists_what_is_installed(
    admin_api: APIClient, viewer_api: APIClient
) -> None:
    path = "/api/v1/system/sbom"
    assert viewer_api.get(path).status_code == 403
    bill = admin_api.get(path).json()
    assert (bill["bomFormat"], bill["specVersion"], bill["version"]) == ("CycloneDX", "1.6", 1)
    assert bill["metadata"]["component"]["name"] == "shoal"
    packages = {one["name"].lower(): one for one in bill["components"]}
    assert packages["django"]["version"] == django.__version__
    assert packages["django"]["purl"] == f"pkg:pypi/django@{django.__version__}"
    assert len({one["bom-ref"] for one in bill["components"]}) == len(bill["components"])
    assert "shoal" not in packages
