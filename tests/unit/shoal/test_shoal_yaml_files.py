"""Rollouts, silences and channels as files: loaded, refused, laid under options, shown again."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import yaml

from shoal import MLClient, load_channel, load_rollout, load_silence
from shoal.cli.main import main
from shoal.client import Client
from shoal.entities import EntityInvalid, schemas
from shoal.entities.alerting import ReferenceUnreadable
from tests.support.shoal_server import FakeServer
from tests.unit.shoal.test_shoal_administration import Sent, page
from tests.unit.shoal.test_shoal_alerts import CHANNEL, SILENCE
from tests.unit.shoal.test_shoal_rollouts import shown

Capture = pytest.CaptureFixture[str]
URL = "https://hooks.example.org/s3cr3t"
ROLLOUT: dict[str, Any] = {
    "endpoint": "net",
    "deployment": "green",
    "steps": [{"percent": 10, "hold_s": 60}, {"percent": 100}],
    "min_requests": 50,
    "guardrails": {"errors": {"tolerance": 1.5}, "golden": None},
    "compare": {"per_minute": 30, "sources": ["captured"]},
}
BODY = {name: value for name, value in ROLLOUT.items() if name != "endpoint"}
STARTS = "POST /endpoints/net/rollouts"


def written(name: str, values: Any) -> str:
    Path(name).write_text(yaml.safe_dump(values))
    return name


@pytest.mark.parametrize(
    ("options", "changes"),
    [
        ([], {}),
        (["--min-requests", "9"], {"min_requests": 9}),
        (["--compare", "5"], {"compare": {"per_minute": 5, "sources": ["captured"]}}),
        (
            ["--confidence", "errors=0.99", "--without", "restarts"],
            {
                "guardrails": {
                    "errors": {"tolerance": 1.5, "confidence": 0.99},
                    "golden": None,
                    "restarts": None,
                }
            },
        ),
        (["net", "teal"], {"deployment": "teal"}),
    ],
)
def test_a_rollout_begins_as_its_file_says_and_options_go_before(
    installed: FakeServer, options: list[str], changes: dict[str, Any]
) -> None:
    sent = Sent(installed, STARTS, shown(), status=201)
    assert main(["rollout", "start", "-f", written("rollout.yml", ROLLOUT), *options]) == 0
    assert sent.bodies == [BODY | changes]


def test_what_is_shown_of_a_rollout_begins_the_same_one(
    installed: FakeServer, capsys: Capture
) -> None:
    stages = [
        {**one, "status": "pending", "started_at": None, "ended_at": None, "requests": 0}
        for one in ROLLOUT["steps"]
    ]
    item = shown("Withdrawn", **{**ROLLOUT, "stages": stages, "steps": None})
    del item["steps"]
    Sent(installed, "GET /endpoints/net/rollouts", page(item))
    assert main(["rollout", "show", "net", "-o", "yaml"]) == 0
    Path("shown.yml").write_text(capsys.readouterr().out)
    sent = Sent(installed, STARTS, shown(), status=201)
    assert main(["rollout", "start", "-f", "shown.yml"]) == 0
    assert sent.bodies == [BODY]


def test_copies_that_are_shown_are_no_step(installed: FakeServer, capsys: Capture) -> None:
    shadow = {"percent": 20, "hold_s": 30}
    stages = [
        {"percent": percent, "hold_s": hold_s, "mirror": mirror, "status": "pending"}
        | {"started_at": None, "ended_at": None, "requests": 0}
        for percent, hold_s, mirror in ((0, 30, 20), (100, 60, 0))
    ]
    item = shown(**{**ROLLOUT, "stages": stages, "strategy": "blue_green", "shadow": shadow})
    del item["steps"]
    Sent(installed, "GET /endpoints/net/rollouts", page(item))
    assert main(["rollout", "show", "net", "-o", "yaml"]) == 0
    Path("shown.yml").write_text(capsys.readouterr().out)
    sent = Sent(installed, STARTS, shown(), status=201)
    assert main(["rollout", "start", "-f", "shown.yml"]) == 0
    steps = [{"percent": 100, "hold_s": 60}]
    said = {"steps": steps, "strategy": "blue_green", "shadow": shadow}
    assert sent.bodies == [{**BODY, **said}]


@pytest.mark.parametrize(
    ("component", "table"),
    [
        ("Rollout", schemas.ROLLOUT),
        ("RolloutInputRequest", schemas.ROLLOUT),
        ("RolloutStage", {**schemas.STEP, **dict.fromkeys(schemas.SHOWN_OF_STAGE)}),
        ("RolloutCompare", schemas.COMPARE),
        ("RolloutShadow", schemas.SHADOW),
        ("RolloutGuardrail", schemas.GUARDRAIL),
        ("Silence", schemas.SILENCE),
        ("AlertRule", schemas.ALERT_RULE),
        ("PatchedAlertRuleChangeRequest", schemas.ALERT_RULE),
        ("Channel", schemas.CHANNEL),
        ("ChannelInputRequest", schemas.CHANNEL),
    ],
)
def test_files_know_all_that_rest_shows_and_takes(component: str, table: dict[str, Any]) -> None:
    document = json.loads((Path(__file__).parents[3] / "docs" / "openapi.json").read_text())
    assert set(document["components"]["schemas"][component]["properties"]) <= set(table)


@pytest.mark.parametrize(
    ("load", "values", "faults"),
    [
        (load_rollout, {}, ["endpoint: is missing", "deployment: is missing"]),
        (
            load_rollout,
            ROLLOUT | {"step": []},
            ["step: there is no such key", "did you mean steps"],
        ),
        (
            load_rollout,
            ROLLOUT | {"steps": [{"percent": "ten"}]},
            ["steps[0].percent: expected a whole number, not 'ten'"],
        ),
        (
            load_rollout,
            ROLLOUT | {"compare": {"sources": ["mirror"]}},
            ["compare.sources[0]: 'mirror' is none of cases, random, captured"],
        ),
        (
            load_rollout,
            ROLLOUT | {"guardrails": {"errors": {"tolerance": "x"}}},
            ["guardrails.errors.tolerance: expected a number, not 'x'"],
        ),
        (load_silence, {"duration": "2h"}, ["reason: is missing"]),
        (load_silence, {"reason": "x"}, ["ends_at: expected one of ends_at and duration"]),
        (
            load_silence,
            {"reason": "x", "duration": "2h", "ends_at": "2026-11-28T06:00:00Z"},
            ["ends_at: expected one of ends_at and duration"],
        ),
        (
            load_silence,
            {"reason": "x", "duration": "2 weeks"},
            ["duration: '2 weeks', expected 30m, 2h or 3d"],
        ),
        (
            load_silence,
            {"reason": "x", "ends_at": "soon"},
            ["ends_at: expected a time such as 2026-11-28T06:00:00Z, not 'soon'"],
        ),
        (load_channel, {"kind": "email"}, ["name: is missing"]),
        (load_channel, {"name": "a", "kind": "pager"}, ["kind: 'pager' is none of webhook"]),
        (
            load_channel,
            {"name": "a", "severities": ["all"]},
            ["severities[0]: 'all' is none of page, ticket"],
        ),
        (load_channel, {"name": "a", "url": URL}, ["url: expected {env: NAME} or {file: PATH}"]),
        (load_channel, {"name": "a", "secret": {"text": "s3cr3t"}}, ["secret: expected {env"]),
        (load_channel, {"name": "a", "secret": {"env": "A", "file": "s3cr3t"}}, ["secret: expec"]),
    ],
)
def test_what_is_wrong_is_named_and_what_may_be_secret_is_not_repeated(
    load: Any, values: dict[str, Any], faults: list[str]
) -> None:
    with pytest.raises(EntityInvalid) as error:
        load(values)
    told = f"{error.value} {error.value.detail} {error.value.hints}"
    for fault in faults:
        assert fault in told
    assert "s3cr3t" not in told


@pytest.mark.parametrize(
    ("ends_at", "found"),
    [
        ("2026-11-28T06:00:00Z", "2026-11-28T06:00:00+00:00"),
        ("'2026-11-28T06:00:00+02:00'", "2026-11-28T06:00:00+02:00"),
        ("2026-11-28 06:00:00", "2026-11-28T06:00:00+00:00"),
    ],
)
def test_times_are_read_with_quotes_and_without(tmp_path: Path, ends_at: str, found: str) -> None:
    (tmp_path / "silence.yml").write_text(f"reason: test\nends_at: {ends_at}\n")
    assert load_silence(tmp_path / "silence.yml").asked()["ends_at"] == found


def test_a_silence_is_made_from_its_file_and_from_what_is_shown(
    installed: FakeServer, capsys: Capture
) -> None:
    now = datetime(2026, 11, 27, tzinfo=UTC)
    entity = load_silence({"reason": "test", "duration": "2h", "subject": "endpoint/net"})
    assert entity.asked(now) == {
        "reason": "test", "ends_at": "2026-11-27T02:00:00+00:00", "subject": "endpoint/net",
        "rule": "", "project": "",
    }  # fmt: skip
    Sent(installed, "GET /silences/s1", SILENCE)
    assert main(["alert", "silences", "s1", "-o", "yaml"]) == 0
    Path("shown.yml").write_text(capsys.readouterr().out)
    sent = Sent(installed, "POST /silences", *[SILENCE] * 2, status=201)
    assert main(["alert", "silence", "-f", "shown.yml"]) == 0
    same = {name: SILENCE[name] for name in ("rule", "subject", "project", "reason")}
    assert sent.bodies == [{**same, "ends_at": "2026-01-05T10:00:00+00:00"}]
    assert main(["alert", "silence", "-f", "shown.yml", "--for", "1h", "--reason", "more"]) == 0
    assert sent.bodies[1]["reason"] == "more"
    assert sent.bodies[1]["ends_at"] > "2026-01-05T10:00:00+00:00"
    assert main(["alert", "silence", "--for", "1h"]) == 2
    assert "Give --for and --reason" in capsys.readouterr().err


def test_secrets_of_a_channel_are_read_where_its_file_says_and_never_printed(
    installed: FakeServer, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    folder = Path("channels")
    folder.mkdir()
    (folder / "secret.txt").write_text("whsec_s3cr3t\n")
    monkeypatch.setenv("ON_CALL_URL", URL)
    file = written("channels/on-call.yml", {
        "name": "on-call", "kind": "webhook", "severities": ["page"],
        "url": {"env": "ON_CALL_URL"}, "secret": {"file": "secret.txt"},
    })  # fmt: skip
    entity = load_channel(file)
    assert "s3cr3t" not in str(entity) + repr(entity)
    assert load_channel(yaml.safe_load(str(entity))).url == entity.url
    sent = Sent(installed, "POST /channels", CHANNEL | {"secret": ""}, status=201)
    assert main(["channel", "create", "-f", file, "-o", "yaml"]) == 0
    assert sent.bodies == [
        {
            "name": "on-call", "kind": "webhook", "url": URL, "secret": "whsec_s3cr3t",
            "severities": ["page"],
        }
    ]  # fmt: skip
    changed = Sent(installed, "PATCH /channels/on-call", CHANNEL)
    option = ["--url", "https://other.example.org", "--off"]
    monkeypatch.delenv("ON_CALL_URL")
    assert main(["channel", "update", "-f", file, *option]) == 0, "its URL is not asked for"
    assert changed.bodies[0]["url"] == "https://other.example.org"
    assert changed.bodies[0]["enabled"] is False
    out = capsys.readouterr()
    assert "s3cr3t" not in out.out + out.err
    assert main(["channel", "update", "-f", file]) == 1
    assert "url.env: ON_CALL_URL is not set" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (None, "secret.file: secret.txt cannot be read"),
        (b" \n", "secret.file: secret.txt is empty"),
        (b"\xff s3cr3t", "secret.file: secret.txt cannot be read"),
    ],
)
def test_a_secret_that_cannot_be_read(tmp_path: Path, content: bytes | None, told: str) -> None:
    if content is not None:
        (tmp_path / "secret.txt").write_bytes(content)
    entity = load_channel(
        {"name": "a", "secret": {"file": "secret.txt"}}, relative_origin=str(tmp_path)
    )
    with pytest.raises(ReferenceUnreadable, match=told) as error:
        entity.settings()
    assert "s3cr3t" not in f"{error.value} {error.value.detail}"


def test_what_is_shown_of_a_channel_changes_nothing(installed: FakeServer, capsys: Capture) -> None:
    Sent(installed, "GET /channels/on-call", CHANNEL)
    assert main(["channel", "show", "on-call", "-o", "yaml"]) == 0
    Path("shown.yml").write_text(capsys.readouterr().out)
    sent = Sent(installed, "PATCH /channels/on-call", CHANNEL)
    assert main(["channel", "update", "-f", "shown.yml"]) == 0
    names = ("enabled", "recipients", "severities", "projects")
    assert sent.bodies == [{name: CHANNEL[name] for name in names}]
    assert main(["channel", "create", "on-call"]) == 2
    assert main(["channel", "create", "-f", written("n.yml", {"name": "x"})]) == 2


def test_the_sdk_takes_what_is_loaded(client: Client, server: FakeServer) -> None:
    ml_client = MLClient(client=client, show_progress=False)
    begun = Sent(server, STARTS, shown(), status=201)
    ml_client.rollouts.create(load_rollout(ROLLOUT))
    assert begun.bodies == [BODY]
    silenced = Sent(server, "POST /silences", SILENCE, status=201)
    ml_client.alerts.create_silence(load_silence({"reason": "x", "duration": "1d"}))
    assert silenced.bodies[0]["reason"] == "x"
    entity = load_channel({"name": "mail", "kind": "email", "recipients": ["ops@example.org"]})
    Sent(server, "GET /channels", page(), page(CHANNEL | {"name": "mail"}))
    made = Sent(server, "POST /channels", CHANNEL | {"secret": ""}, status=201)
    ml_client.channels.create_or_update(entity)
    changed = Sent(server, "PATCH /channels/mail", CHANNEL)
    ml_client.channels.create_or_update(entity)
    assert made.bodies == [{"name": "mail", "kind": "email", "recipients": ["ops@example.org"]}]
    assert changed.bodies == [{"recipients": ["ops@example.org"]}]
