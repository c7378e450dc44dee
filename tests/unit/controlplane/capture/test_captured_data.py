"""Captured data in the control plane: what nodes may send, who may read it, and what stays."""

import json
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any

import pytest
from django.utils import timezone
from rest_framework.test import APIClient

from controlplane.accounts.models import User
from controlplane.capture import baselines, services
from controlplane.capture.models import CaptureBaseline, CapturedFile, CaptureHour
from controlplane.capture.selectors import hour_of
from controlplane.core.models import Event
from controlplane.deployments.capturing import Capture, capture_to_json
from controlplane.deployments.models import Deployment, DeploymentRevision, Endpoint, Replica
from controlplane.drift import summarised
from controlplane.registry.stores import blob_store
from tests.support.people import make_user
from tests.support.placed_replicas import replica_place
from tests.support.simulated_node import SimulatedNode

pytestmark = pytest.mark.django_db(databases=["default", "metrics"])

DATA = "/api/v1/endpoints/digits/deployments/blue"
LINE = {
    "inputs": [{"name": "x", "datatype": "FP32", "shape": [1, 2], "data": [1, 2]}],
    "outputs": [{"name": "y", "datatype": "INT64", "shape": [1], "data": [7]}],
}


def lines(*records: Any) -> bytes:
    return b"".join(json.dumps(record).encode() + b"\n" for record in records)


def normal(count: int, mean: float = 0.0, seed: int = 1) -> bytes:
    """Records of one input, of which the first column is as is said."""
    rng = Random(seed)
    return lines(
        *(
            {"inputs": [{"name": "x", "datatype": "FP32", "shape": [1, 2],
                         "data": [rng.gauss(mean, 1), rng.gauss(0, 1)]}]}
            for _ in range(count)
        )
    )  # fmt: skip


def name_at(seconds_ago: float = 1.0, *, records: int = 1, dropped: int = 0) -> str:
    at = int((timezone.now().timestamp() - seconds_ago) * 1000)
    return f"{at}-{at}-{records}-{dropped}.jsonl"


def captures(**said: Any) -> None:
    """Every revision captures so."""
    for row in DeploymentRevision.objects.all():
        row.spec["capture"] = capture_to_json(Capture(**said))
        row.save()


@pytest.fixture
def node() -> SimulatedNode:
    """With one replica that captures."""
    found = SimulatedNode()
    replica_place(found.row(), "r1")
    captures()
    return found


def send(
    node: SimulatedNode,
    content: bytes,
    name: str = "",
    *,
    replica: str = "r1",
    endpoint: str = "digits",
    deployment: str = "blue",
) -> Any:
    path = f"/agent/v1/captured/{replica}/{name or name_at()}"
    query = f"?endpoint={endpoint}&deployment={deployment}"
    return node.client.generic("PUT", path + query, content, content_type="application/x-ndjson")


def blob_bytes(stores: Path) -> int:
    """Of all blobs, those of models included."""
    files = [path for path in (stores / "blobs").rglob("*") if path.is_file()]
    return sum(path.stat().st_size for path in files)


def summarise() -> None:
    services.captured_summarise(now=timezone.now())


# --- what nodes send --------------------------------------------------------------------------


def test_what_a_node_sends_is_listed_and_given_back(node: SimulatedNode, api: APIClient) -> None:
    content = lines(LINE, LINE)
    name = name_at(dropped=3)
    assert send(node, content, name).status_code == 204
    assert send(node, content, name).status_code == 204, "sent twice, kept once"
    (row,) = api.get(f"{DATA}/captured").json()["items"]
    assert (row["records"], row["size"], row["dropped"]) == (2, len(content), 3)
    answer = api.get(f"{DATA}/captured/{row['id']}")
    assert answer.status_code == 200
    assert answer["Content-Disposition"].startswith("attachment")
    told = Event.objects.get(verb="capture.downloaded")
    assert (told.subject, told.data["records"]) == ("endpoint/digits", 2)
    with blob_store().open(services.blob_name(row["id"])) as file:
        assert file.read() == content
    assert api.get(f"{DATA}/captured/none").status_code == 404


@pytest.mark.parametrize(
    ("said", "status"),
    [
        ({"replica": "r2"}, 404),  # nobody's
        ({"replica": "other"}, 404),  # another node's
        ({"deployment": "green"}, 404),  # another deployment's
        ({"endpoint": "quotes"}, 404),
        ({"name": "x.jsonl"}, 400),
        ({"name": "1-2-3.jsonl"}, 400),
        ({"content": b""}, 413),
        ({"content": b"x" * (services.FILE_BYTES + 1)}, 413),
    ],
)
def test_a_lying_node_gets_nowhere(node: SimulatedNode, said: dict[str, Any], status: int) -> None:
    other = SimulatedNode("other")
    replica_place(other.row(), "other")
    replica_place(node.row(), "g1", "green")
    captures()
    answer = send(node, said.pop("content", lines(LINE)), said.pop("name", ""), **said)
    assert answer.status_code == status
    assert not CapturedFile.objects.exists()


def test_a_stranger_and_a_client_send_nothing(node: SimulatedNode, api: APIClient) -> None:
    path = f"/agent/v1/captured/r1/{name_at()}?endpoint=digits&deployment=blue"
    for client in (APIClient(), api):
        answer = client.generic("PUT", path, lines(LINE), content_type="application/x-ndjson")
        assert answer.status_code == 401


def test_a_replica_that_captures_nothing_is_not_believed(node: SimulatedNode) -> None:
    row = DeploymentRevision.objects.get()
    row.spec["capture"] = None
    row.save()
    assert send(node, lines(LINE)).status_code == 404


def test_last_words_of_a_replica_count_where_it_was_placed(node: SimulatedNode) -> None:
    data = {"node": node.identity.node_id, "replica": "r1", "deployment": "blue"}
    Event.objects.create(
        actor="system", verb="replica.placed", subject="endpoint/digits", message="", data=data
    )
    Replica.objects.all().delete()
    assert send(node, lines(LINE)).status_code == 204
    assert send(SimulatedNode("other"), lines(LINE), name_at(2)).status_code == 404
    # an endpoint of this name that came later is another's
    Deployment.objects.update(created_at=timezone.now() + timedelta(seconds=1))
    assert send(node, lines(LINE), name_at(3)).status_code == 404


def test_files_that_are_no_records_are_removed_and_told(node: SimulatedNode) -> None:
    send(node, b"\x00\xff not JSON\n")
    summarise()
    assert not CapturedFile.objects.exists()
    assert not CaptureHour.objects.exists()
    told = Event.objects.get(verb="capture.refused")
    assert "line 1 is not JSON" in told.message


def test_endless_files_wait_and_then_are_refused(
    node: SimulatedNode, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(services, "MOST_WAITING", 3)
    answers = [send(node, lines(LINE), name_at(at)).status_code for at in range(1, 6)]
    assert answers == [204, 204, 204, 429, 429]
    summarise()
    assert send(node, lines(LINE), name_at(9)).status_code == 204


def test_a_full_disk_is_left_to_the_database(
    node: SimulatedNode, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(services, "room_bytes", lambda _: 10)
    assert send(node, lines(LINE)).status_code == 507
    assert not CapturedFile.objects.exists()


def test_clocks_of_nodes_do_not_lead_into_the_future(node: SimulatedNode) -> None:
    send(node, lines(LINE), "1-99999999999999-1-0.jsonl")
    row = CapturedFile.objects.get()
    now = timezone.now()
    assert now - services.OLDEST - timedelta(minutes=1) < row.first_at < row.last_at <= now


# --- what stays -------------------------------------------------------------------------------


def test_the_oldest_files_go_where_there_are_too_many_bytes(
    node: SimulatedNode, stores: Path
) -> None:
    captures(keep_bytes=2**20)
    before = blob_bytes(stores)
    for at in (50, 40, 30, 20, 10):
        assert send(node, b"x" * 299_999 + b"\n", name_at(at)).status_code == 204
    kept = list(CapturedFile.objects.order_by("last_at"))
    assert len(kept) == 3
    assert min(row.last_at for row in kept) > timezone.now() - timedelta(seconds=35)
    assert blob_bytes(stores) - before == 900_000


def test_what_is_too_old_goes_and_so_does_what_has_no_deployment(
    node: SimulatedNode, stores: Path
) -> None:
    before = blob_bytes(stores)
    send(node, lines(LINE), name_at(1))
    send(node, lines(LINE), name_at(2))
    summarise()
    now = timezone.now()
    assert services.captured_expire(now=now + timedelta(days=29)) == 0
    CaptureHour.objects.update(hour=now - timedelta(days=9))
    assert services.captured_expire(now=now) == 0
    assert not CaptureHour.objects.exists()
    CapturedFile.objects.update(expires_at=now - timedelta(seconds=1))
    assert services.captured_expire(now=now) == 2
    send(node, lines(LINE), name_at(3))
    Endpoint.objects.all().delete()
    assert services.captured_expire(now=timezone.now()) == 1
    assert not CapturedFile.objects.exists()
    assert blob_bytes(stores) == before


# --- who may read -----------------------------------------------------------------------------


@pytest.mark.parametrize("role", [User.Role.VIEWER, User.Role.INVOKER])
def test_nobody_below_a_deployer_reads_or_changes_anything(
    node: SimulatedNode, client_of: Callable[[User], APIClient], role: str
) -> None:
    send(node, lines(LINE))
    key = CapturedFile.objects.get().pk
    client = client_of(make_user("vic", role))
    for path in ("captured", f"captured/{key}", "data"):
        assert client.get(f"{DATA}/{path}").status_code == 403
    assert client.put(f"{DATA}/data/baseline", {}, format="json").status_code == 403
    assert client.delete(f"{DATA}/data/baseline").status_code == 403
    assert not Event.objects.filter(verb="capture.downloaded").exists()


def test_a_file_of_another_deployment_is_not_given_under_this_one(
    node: SimulatedNode, api: APIClient
) -> None:
    replica_place(node.row(), "g1", "green")
    captures()
    send(node, lines(LINE), replica="g1", deployment="green")
    key = CapturedFile.objects.get().pk
    assert api.get(f"{DATA}/captured/{key}").status_code == 404


# --- statistics and drift ---------------------------------------------------------------------


def test_statistics_are_of_what_was_captured(node: SimulatedNode, api: APIClient) -> None:
    send(node, lines(LINE, LINE), name_at(1, dropped=5))
    summarise()
    summarise()  # nothing is counted twice
    found = api.get(f"{DATA}/data").json()
    assert (found["records"], found["dropped"], found["capturing"]) == (2, 5, True)
    told = {(one["collection"], one["name"]): one for one in found["features"]}
    first = told["model_inputs", "x[0]"]
    assert (first["now"]["min"], first["now"]["max"], first["now"]["rows"]) == (1, 1, 2)
    assert (first["verdict"], first["psi"], first["baseline"]) == ("no_baseline", None, None)
    assert first["bars"] == [{"label": "1", "baseline": None, "now": 1.0}]
    assert told["model_outputs", "y"]["now"]["mean"] == 7


def test_drift_is_told_of_the_feature_that_moved_and_of_no_other(
    node: SimulatedNode, api: APIClient
) -> None:
    assert api.put(
        f"{DATA}/data/baseline/file", normal(600), content_type="application/x-ndjson"
    ).status_code == 200  # fmt: skip
    send(node, normal(100, 2.0, seed=2), name_at(3))
    summarise()
    features = api.get(f"{DATA}/data").json()["features"]
    assert [one["verdict"] for one in features] == ["too_little_data"] * 2
    assert features[0]["told"] == "the window has 100 of 300 rows"
    send(node, normal(500, 2.0, seed=3), name_at(2))
    summarise()
    moved, still = api.get(f"{DATA}/data").json()["features"]
    assert (moved["verdict"], still["verdict"]) == ("drift", "stable")
    assert moved["psi"] > 0.25
    assert moved["p_value"] < 1e-6
    baselines.baselines_look(now=timezone.now() + timedelta(minutes=6))
    row = CaptureBaseline.objects.get()
    assert (row.worst_feature, row.told) == ("model_inputs/x[0]", "")
    assert row.worst_psi == pytest.approx(moved["psi"])


def test_a_window_becomes_a_baseline_and_goes_again(node: SimulatedNode, api: APIClient) -> None:
    body = {"begin": (timezone.now() - timedelta(hours=1)).isoformat()}
    empty = api.put(f"{DATA}/data/baseline", body, format="json")
    assert (empty.status_code, empty.json()["code"]) == (409, "NoCapturedData")
    send(node, normal(400))
    summarise()
    answer = api.put(f"{DATA}/data/baseline", body, format="json")
    assert (answer.status_code, answer.json()["records"]) == (200, 400)
    found = api.get(f"{DATA}/data").json()
    assert (found["records"], found["left_out"]) == (0, 400), "it is not compared with itself"
    assert [one["verdict"] for one in found["features"]] == ["too_little_data"] * 2
    assert found["features"][0]["told"] == (
        "the window has 0 of 300 rows without the baseline's own 400 requests"
    )
    assert api.delete(f"{DATA}/data/baseline").status_code == 204
    assert api.get(f"{DATA}/data").json()["baseline"] is None
    verbs = Event.objects.filter(verb__startswith="capture.baseline").values_list("verb", flat=True)
    assert list(verbs) == ["capture.baseline_set", "capture.baseline_removed"]


def hour_add(hours_ago: float, mean: float, now: datetime, count: int = 400) -> None:
    """Statistics of an hour that is over."""
    row = CaptureHour(
        deployment=Deployment.objects.get(), hour=hour_of(now - timedelta(hours=hours_ago))
    )
    row.summary = summarised(normal(count, mean, seed=7).splitlines(), Random(1))
    row.save()


# Of the seven hours before this one, of which the last two have moved, a file is the baseline.
@pytest.mark.parametrize(
    ("window_hours", "hours", "records"),
    [
        (None, None, 2800),  # 24 h
        (2, None, 800),
        (6, None, 2400),
        (2, 24, 2800),  # who asks for another window gets that
        (168, None, 2800),
    ],
)
def test_the_window_is_that_of_the_baseline_unless_one_asks_for_another(
    node: SimulatedNode,
    api: APIClient,
    window_hours: int | None,
    hours: int | None,
    records: int,
) -> None:
    now = timezone.now()
    for ago in range(1, 8):
        hour_add(ago, 8.0 if ago <= 2 else 0.0, now)
    asked = f"?window_hours={window_hours}" if window_hours else ""
    path, kind = f"{DATA}/data/baseline/file{asked}", "application/x-ndjson"
    baseline = api.put(path, normal(600), content_type=kind).json()
    assert baseline["window_hours"] == (window_hours or 24)
    assert (baseline["begins_at"], baseline["ends_at"]) == (None, None)
    found = api.get(f"{DATA}/data" + (f"?hours={hours}" if hours else "")).json()
    assert found["hours"] == (hours or window_hours or 24)
    assert (found["records"], found["left_out"]) == (records, 0)
    hours_now = records / 400
    assert found["features"][0]["now"]["mean"] == pytest.approx(2 * 8 / hours_now, abs=0.2)
    # all that is held against it has moved, or a part: the alert goes by the same window
    index = CaptureBaseline.objects.get().worst_psi
    assert index is not None
    assert (index > 3) == (window_hours == 2)


def test_the_window_is_changed_without_another_baseline(
    node: SimulatedNode, api: APIClient
) -> None:
    path = f"{DATA}/data/baseline"
    assert api.patch(path, {"window_hours": 6}, format="json").json()["code"] == "NoBaseline"
    now = timezone.now()
    for ago in range(1, 8):
        hour_add(ago, 8.0 if ago <= 2 else 0.0, now)
    before = api.put(f"{path}/file", normal(600), content_type="application/x-ndjson").json()
    index = CaptureBaseline.objects.get().worst_psi
    after = api.patch(path, {"window_hours": 2}, format="json")
    assert after.status_code == 200
    assert after.json() == {**before, "window_hours": 2, "etag": after.headers["ETag"]}
    changed = CaptureBaseline.objects.get().worst_psi
    assert index is not None
    assert changed is not None
    assert changed > 2 * index, "it was looked at anew"
    (told,) = Event.objects.filter(verb="capture.window_changed")
    assert told.message == "The last 2 h of blue are compared with its baseline, 24 h before"
    api.patch(path, {"window_hours": 2}, format="json")
    assert Event.objects.filter(verb="capture.window_changed").count() == 1
    # another baseline keeps the window, unless it says otherwise
    file = api.put(f"{path}/file", normal(601), content_type="application/x-ndjson").json()
    body = {"begin": (now - timedelta(hours=8)).isoformat(), "end": now.isoformat()}
    window = api.put(path, {**body, "window_hours": 12}, format="json").json()
    assert (file["window_hours"], window["window_hours"]) == (2, 12)


@pytest.mark.parametrize("hours", [0, -1, 169, 1.5, "six", True, None, "6 h"])
def test_a_window_that_there_is_not_is_refused(
    node: SimulatedNode, api: APIClient, hours: Any
) -> None:
    path = f"{DATA}/data/baseline"
    hour_add(1, 0.0, timezone.now())
    api.put(f"{path}/file", normal(400), content_type="application/x-ndjson")
    begin = (timezone.now() - timedelta(hours=2)).isoformat()
    answers = [api.patch(path, {"window_hours": hours}, format="json")]
    if hours is not None:  # as many as before
        answers.append(api.put(path, {"begin": begin, "window_hours": hours}, format="json"))
        file = f"{path}/file?window_hours={hours}"
        answers.append(api.put(file, normal(400), content_type="application/x-ndjson"))
    for answer in answers:
        assert (answer.status_code, answer.json()["field"]) == (400, "window_hours"), answer.json()
    assert CaptureBaseline.objects.get().window_hours == 24


# (baseline from, until: hours ago), window; what is left of 400 requests an hour, nine hours long
@pytest.mark.parametrize(
    ("begin", "end", "window_hours", "records", "left_out"),
    [
        (9, 7, 4, 1600, 0),  # they do not touch; the hour in which the window begins counts in full
        (9, 5, 6, 1600, 800),
        (9, 0, 24, 0, 3600),  # all of it
        (4, 2, 9, 2400, 1200),  # in the midst
        (3, -5, 24, 2400, 1200),  # an end that is yet to come is now
    ],
)
def test_what_the_baseline_was_made_of_is_left_out_of_what_is_compared(
    node: SimulatedNode,
    api: APIClient,
    begin: int,
    end: int,
    window_hours: int,
    records: int,
    left_out: int,
) -> None:
    now = timezone.now()
    for ago in range(1, 10):
        hour_add(ago, 0.0, now)
    body = {
        "begin": (now - timedelta(hours=begin)).isoformat(),
        "end": (now - timedelta(hours=end)).isoformat(),
        "window_hours": window_hours,
    }
    assert api.put(f"{DATA}/data/baseline", body, format="json").status_code == 200
    found = api.get(f"{DATA}/data").json()
    assert (found["records"], found["left_out"]) == (records, left_out)
    row = CaptureBaseline.objects.get()
    if records:
        assert found["features"][0]["verdict"] == "stable"
    else:
        assert row.worst_psi is None
        assert row.told == "the window has 0 of 300 rows without the baseline's own 3600 requests"


def test_a_baseline_is_changed_as_it_was_seen(node: SimulatedNode, api: APIClient) -> None:
    path, kind = f"{DATA}/data/baseline", "application/x-ndjson"
    first = api.put(f"{path}/file", normal(400), content_type=kind)
    seen = first.json()["etag"]
    assert first.headers["ETag"] == seen == api.get(f"{DATA}/data").json()["baseline"]["etag"]
    changed = api.patch(path, {"window_hours": 6}, format="json", headers={"If-Match": seen})
    assert (changed.status_code, changed.json()["window_hours"]) == (200, 6)
    late: list[Any] = [
        api.patch(path, {"window_hours": 7}, format="json", headers={"If-Match": seen}),
        api.put(f"{path}/file", normal(500), content_type=kind, headers={"If-Match": seen}),
        api.delete(path, headers={"If-Match": seen}),
    ]
    for one in late:
        assert (one.status_code, one.json()["code"]) == (412, "PreconditionFailed")
        assert one.json()["current"]["window_hours"] == 6
    now = changed.json()["etag"]
    assert api.delete(path, headers={"If-Match": now}).status_code == 204
    gone = api.put(f"{path}/file", normal(400), content_type=kind, headers={"If-Match": now})
    assert (gone.status_code, gone.json()["current"]) == (412, None)


def test_what_comes_after_the_baseline_was_made_counts_within_the_same_hour(
    node: SimulatedNode, api: APIClient
) -> None:
    send(node, normal(400), name_at(30))
    summarise()
    now = timezone.now()
    body = {"begin": (now - timedelta(hours=1)).isoformat()}
    made = api.put(f"{DATA}/data/baseline", body, format="json").json()
    assert made["records"] == 400
    late = int((now.timestamp() - 20) * 1000)
    send(node, normal(50, seed=3), f"{late}-{late}-50-0.jsonl")  # of before, known only now
    after = int(timezone.now().timestamp() * 1000) + 1
    both = f"{late}-{after}-60-0.jsonl"
    send(node, normal(60, seed=4), both)
    CaptureBaseline.objects.update(ends_at=timezone.now() - timedelta(seconds=10))
    send(node, normal(500, 2.0, seed=2), name_at(0))
    summarise()
    found = api.get(f"{DATA}/data").json()
    assert (found["records"], found["left_out"]) == (500, 510)
    assert found["features"][0]["verdict"] == "drift"


@pytest.mark.parametrize(
    ("body", "told"),
    [
        (b"", "The file has no tensors"),
        (b"{}\n", "The file has no tensors"),
        (lines(LINE) + b"nothing", "line 2 is not JSON"),
    ],
)
def test_a_baseline_that_is_no_data_is_refused(
    node: SimulatedNode, api: APIClient, body: bytes, told: str
) -> None:
    answer = api.put(f"{DATA}/data/baseline/file", body, content_type="application/x-ndjson")
    assert answer.status_code == 400
    assert (answer.json()["code"], told in answer.json()["detail"]) == ("CapturedDataInvalid", True)


def test_a_window_the_wrong_way_round_is_refused(node: SimulatedNode, api: APIClient) -> None:
    body = {"begin": "2026-01-02T00:00:00Z", "end": "2026-01-01T00:00:00Z"}
    answer = api.put(f"{DATA}/data/baseline", body, format="json")
    assert answer.status_code == 400
    assert "is after the end" in answer.content.decode()


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ({"sampling_rate": 0}, "capture.sampling_rate: 0, expected a number above 0, 1 at most"),
        ({"sampling_rate": 1.5}, "capture.sampling_rate: 1.5"),
        ({"collections": []}, "capture.collections: empty"),
        ({"collections": ["request"]}, "request"),
        ({"roll_seconds": 1}, "capture.roll_seconds: 1 is out of range: expected 5 to 3600"),
        ({"keep_days": 0}, "capture.keep_days: 0 is out of range"),
        ({"drop": ["x"], "hash": ["x"]}, "capture.hash: x cannot be dropped and hashed"),
        ({"headers": ["x"]}, "headers"),
    ],
)
def test_settings_that_cannot_be_are_refused_by_name(
    node: SimulatedNode, api: APIClient, said: dict[str, Any], told: str
) -> None:
    answer = api.put(DATA, {"model": "digits", "version": "1", "capture": said}, format="json")
    assert answer.status_code == 400
    assert told in answer.content.decode()


def test_hashes_are_made_with_a_key_of_the_deployment(node: SimulatedNode) -> None:
    replica_place(node.row(), "g1", "green")
    captures(hash=("who",))
    rules = [replica.capture for replica in node.desired().replicas]
    keys = {rule.hash_key for rule in rules if rule is not None}
    assert len(keys) == 2
    assert {len(key) for key in keys} == {64}
    captures()
    assert {replica.capture.hash_key for replica in node.desired().replicas if replica.capture} == {
        ""
    }
