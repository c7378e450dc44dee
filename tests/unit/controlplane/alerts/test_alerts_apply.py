"""`shoal apply`, `diff` and `export` of channels, rules and silences, against the control plane."""

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import yaml

import shoal.client
from controlplane.accounts.models import Project, User
from controlplane.alerts.models import AlertRuleRow, AlertThreshold, Channel, Silence
from controlplane.alerts.rules import RULES
from controlplane.alerts.selectors.rules import rule_settings_get
from controlplane.alerts.services.channels import channel_create
from controlplane.alerts.services.rules import rule_update
from controlplane.alerts.services.silences import silence_create
from controlplane.core.models import Event
from controlplane.deployments.models import Endpoint
from controlplane.deployments.services.endpoints import endpoint_create
from shoal.cli.main import main
from tests.support.people import make_user
from tests.support.project_world import member

pytestmark = pytest.mark.django_db
Capture = pytest.CaptureFixture[str]
Calls = Callable[[User], None]
URL, SECRET = "https://hooks.example.org/s3cr3t", "whsec_s3cr3t_of_the_channel"
VERBS = ("channel.", "alert_rule.", "silence.")
ALERTING = """\
name: on-call
kind: webhook
url: {env: ON_CALL_URL}
secret: {file: secret.txt}
severities: [page]
---
- name: disk-nearly-full
  threshold: 85
- name: input-drift
  enabled: false
---
subject: endpoint/quote
reason: load test
duration: 2h
"""


@pytest.fixture
def files(calls_as: Calls, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """An administrator's folder ``all`` with one file of everything, beside the endpoint quote."""
    calls_as(make_user("ada", User.Role.ADMIN))
    endpoint_create(name="quote", actor="ada", now=datetime.now(UTC))
    monkeypatch.setenv("ON_CALL_URL", URL)
    folder = tmp_path / "all"
    folder.mkdir()
    (folder / "secret.txt").write_text(SECRET)
    (folder / "alerting.yml").write_text(ALERTING)
    return folder


def rows(capsys: Capture, *words: str) -> dict[str, dict[str, str]]:
    """What a command prints, by object."""
    capsys.readouterr()
    assert main([*words, "-o", "json"]) in (0, 1)
    return {row["object"]: row for row in json.loads(capsys.readouterr().out)}


def actions(capsys: Capture, *words: str) -> list[str]:
    return [row["action"] for row in rows(capsys, *words).values()]


def changes() -> int:
    return sum(Event.objects.filter(verb__startswith=verb).count() for verb in VERBS)


def shown() -> dict[str, Any]:
    """All there is, without what differs between two installations that are the same."""
    channels = ("name", "kind", "enabled", "address", "recipients", "severities", "projects")
    sealed = ("url", "secret")
    return {
        "channels": list(Channel.objects.order_by("name").values(*channels)),
        "sealed": [
            [bool(getattr(row, name)) for name in sealed]
            for row in Channel.objects.order_by("name")
        ],
        "rules": {name: rule_settings_get(name) for name in RULES},
        "silences": list(
            Silence.objects.filter(ends_at__gt=datetime.now(UTC))
            .order_by("reason")
            .values("rule", "subject", "project_id", "reason", "ends_at")
        ),
    }


def test_one_file_makes_all_of_it_and_makes_it_again_without_a_change(
    files: Path, capsys: Capture
) -> None:
    planned = rows(capsys, "apply", "-f", "all", "--dry-run")
    assert {name: row["action"] for name, row in planned.items()} == {
        "channel on-call": "create",
        "rule disk-nearly-full": "update",
        "rule input-drift": "update",
        "silence of endpoint/quote (load test)": "create",
    }
    assert planned["rule disk-nearly-full"]["change"] == "threshold: 90.0 → 85.0"
    assert rows(capsys, "diff", "-f", "all") == planned
    assert changes() == 0, "so far it was only asked"
    assert rows(capsys, "apply", "-f", "all") == planned
    assert Channel.objects.get().address == "https://hooks.example.org"
    assert rule_settings_get("disk-nearly-full").threshold == 85
    assert not rule_settings_get("input-drift").enabled
    assert Silence.objects.get().subject == "endpoint/quote"
    before = changes()
    assert set(actions(capsys, "apply", "-f", "all")) == {"none"}
    assert changes() == before
    assert main(["diff", "-f", "all"]) == 0
    assert "Everything is as the files say." in capsys.readouterr().err
    told = json.dumps(planned)
    assert "s3cr3t" not in told


@pytest.mark.parametrize("what", ["url", "secret"])
def test_what_is_sealed_is_compared_and_never_shown(
    files: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    assert main(["apply", "-f", "all"]) == 0
    if what == "url":
        monkeypatch.setenv("ON_CALL_URL", f"{URL}-2")
    else:
        (files / "secret.txt").write_text(f"{SECRET}-2")
    found = rows(capsys, "diff", "-f", "all")
    assert found["channel on-call"]["change"] == f"{what}: another one"
    assert main(["apply", "-f", "all"]) == 0
    event = Event.objects.filter(verb="channel.changed").get()
    assert event.message == f"ada changed the channel on-call ({what} anew)"
    assert main(["diff", "-f", "all"]) == 0
    out = capsys.readouterr()
    assert "s3cr3t" not in out.out + out.err


@pytest.mark.parametrize("output", ["table", "json"])
def test_a_secret_that_is_made_is_shown_once(files: Path, capsys: Capture, output: str) -> None:
    text = ALERTING.replace("secret: {file: secret.txt}\n", "")
    (files / "alerting.yml").write_text(text)
    assert main(["apply", "-f", "all", "-o", output]) == 0
    out = capsys.readouterr().out
    if output == "json":
        secret = json.loads(out)[0]["secret"]
    else:
        assert "Secret of the signatures of on-call, shown this once:" in out
        secret = out.splitlines()[-1]
    (files / "secret.txt").write_text(secret)
    (files / "alerting.yml").write_text(ALERTING)
    assert main(["diff", "-f", "all"]) == 0, "it is the one that is kept"


def test_silences_move_their_end_and_are_left_alone_when_it_is_over(
    files: Path, capsys: Capture
) -> None:
    now = datetime.now(UTC).replace(microsecond=0)

    def said(**values: Any) -> None:
        values = {"reason": "test", **values}
        (files / "alerting.yml").write_text(yaml.safe_dump(values))

    said(ends_at=now + timedelta(days=2), rule="queue-slow")
    assert actions(capsys, "apply", "-f", "all") == ["create"]
    assert actions(capsys, "apply", "-f", "all") == ["none"]
    said(duration="1h", rule="queue-slow")
    assert actions(capsys, "apply", "-f", "all") == ["none"], "it is silenced already"
    said(ends_at=now + timedelta(days=1), rule="queue-slow")
    assert actions(capsys, "apply", "-f", "all") == ["update"]
    (row,) = Silence.objects.filter(ends_at__gt=datetime.now(UTC))
    assert row.ends_at == now + timedelta(days=1), "the longer one was ended"
    assert actions(capsys, "apply", "-f", "all") == ["none"]
    said(ends_at=now + timedelta(days=1))
    assert actions(capsys, "apply", "-f", "all") == ["create"], "of all rules is another one"
    before = changes()
    said(ends_at=now - timedelta(days=1), reason="over")
    assert actions(capsys, "apply", "-f", "all") == ["none"]
    assert changes() == before


def test_what_is_exported_makes_the_same_on_an_empty_installation(
    files: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = datetime.now(UTC)
    channel_create(name="on-call", kind="webhook", actor="ada", url=URL, secret=SECRET)
    channel_create(
        name="On-Call", kind="slack", actor="ada", url=f"{URL}-slack", severities=["page"],
        enabled=False,
    )  # fmt: skip
    channel_create(name="mail", kind="email", actor="ada", recipients=["ops@example.org"])
    rule_update(name="disk-nearly-full", actor="ada", threshold=85.0, for_s=300, severity="page")
    rule_update(name="input-drift", actor="ada", enabled=False)
    for reason, subject, rule, project, days in (
        ("a", "endpoint/quote", "queue-slow", "default", 1),
        ("a", "endpoint/quote", "queue-slow", "default", 0.5),
        ("b", "", "", None, 2),
        ("c", "", "queue-slow", "default", 3),
        ("gone", "endpoint/gone", "", "default", 3),
    ):
        silence_create(
            project=project, rule=rule, subject=subject, reason=reason, actor="ada", now=now,
            ends_at=now + timedelta(days=days),
        )  # fmt: skip
    silence_create(
        project=None, rule="", subject="", reason="over", actor="ada",
        now=now - timedelta(days=3), ends_at=now - timedelta(days=1),
    )  # fmt: skip
    assert main(["export", "out"]) == 0
    told = capsys.readouterr().err
    variables = ["SHOAL_CHANNEL_ON_CALL_URL", "SHOAL_CHANNEL_ON_CALL_SECRET"]
    assert "are in no file" in told
    assert [name for name in variables if name not in told] == []
    assert "A silence of endpoint/gone, which is gone, is left out." in told
    texts = {path.name: path.read_text() for path in Path("out").iterdir()}
    assert "s3cr3t" not in "".join(texts.values())
    assert "over" not in texts["silences.yml"]
    assert set(texts) == {
        "quote.endpoint.yml", "on-call.channel.yml", "On-Call.channel.yml", "mail.channel.yml",
        "alert-rules.yml", "silences.yml",
    }  # fmt: skip
    Silence.objects.filter(reason="gone").delete()
    Silence.objects.filter(reason="a").order_by("ends_at")[0].delete()  # the other ends later
    before = shown()
    for kind in (Channel, AlertRuleRow, Silence, Endpoint):
        kind.objects.all().delete()  # type: ignore[attr-defined]
    assert main(["apply", "-f", "out"]) == 1
    assert "is not set" in capsys.readouterr().err
    monkeypatch.setattr("shoal.sdk.endpoints.ROUTED_S", 0.0)  # there is no gateway to confirm it
    for name, kind, value in (
        ("on-call", "url", URL), ("On-Call", "url", f"{URL}-slack"), ("on-call", "secret", SECRET),
    ):  # fmt: skip
        reference = yaml.safe_load(texts[f"{name}.channel.yml"])[kind]
        monkeypatch.setenv(reference["env"], value)
    assert main(["apply", "-f", "out"]) == 0
    assert shown() == before
    assert Endpoint.objects.get().name == "quote", "the silence of an endpoint that is made, too"
    assert set(actions(capsys, "apply", "-f", "out")) == {"none"}
    assert main(["diff", "-f", "out"]) == 0


OWN = """\
name: own
auth_mode: key
---
- name: queue-slow
  thresholds:
    - {about: project/default, threshold: 800}
    - {about: endpoint/own, threshold: 700}
    - {about: project/vision, threshold: 600}
"""


def test_thresholds_of_their_own_are_applied_exported_and_applied_again(
    files: Path, calls_as: Calls, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("shoal.sdk.endpoints.ROUTED_S", 0.0)  # there is no gateway to confirm it
    Project.objects.create(name="vision", created_by="ada")
    (files / "alerting.yml").write_text(OWN)
    planned = rows(capsys, "apply", "-f", "all", "--dry-run")
    assert planned["rule queue-slow"] == {
        "object": "rule queue-slow",
        "action": "update",
        "change": "thresholds.project/default: 800.0; thresholds.endpoint/own: 700.0; "
        "thresholds.project/vision: 600.0",
    }
    assert not AlertThreshold.objects.exists()
    assert main(["apply", "-f", "all"]) == 0, "of an endpoint that is made before it, too"
    thresholds = {"project/default": 800.0, "endpoint/own": 700.0, "project/vision": 600.0}
    assert rule_settings_get("queue-slow").thresholds == thresholds
    assert rule_settings_get("queue-slow").threshold == 500
    before = changes()
    assert set(actions(capsys, "apply", "-f", "all")) == {"none"}
    assert changes() == before
    # all of it, and of a project its own alone
    assert main(["export", "out"]) == 0
    with monkeypatch.context() as inside:
        of_vision = partial(shoal.client.Client, project="vision")  # as SHOAL_PROJECT has it
        inside.setattr(shoal.client, "Client", of_vision)
        assert main(["export", "vision"]) == 0
    exported = yaml.safe_load((Path("vision") / "alert-rules.yml").read_text())
    own = [{"about": "project/vision", "threshold": 600.0}]
    assert exported == [{"name": "queue-slow", "thresholds": own}]
    AlertThreshold.objects.all().delete()
    calls_as(member("vision", "deployer"))
    assert main(["apply", "-f", "vision"]) == 0, "who may deploy in the project may do that"
    assert rule_settings_get("queue-slow").thresholds == {"project/vision": 600.0}
    calls_as(make_user("eve", User.Role.ADMIN))
    assert main(["apply", "-f", "out"]) == 0
    assert rule_settings_get("queue-slow").thresholds == thresholds
    # what the file leaves out stays, what has none is removed
    (files / "alerting.yml").write_text(
        "name: queue-slow\nthresholds:\n- {about: project/vision, threshold: null}\n"
    )
    found = rows(capsys, "diff", "-f", "all")["rule queue-slow"]
    assert found["change"] == "thresholds.project/vision: removed"
    assert main(["apply", "-f", "all"]) == 0
    del thresholds["project/vision"]
    assert rule_settings_get("queue-slow").thresholds == thresholds


@pytest.mark.parametrize(
    ("own", "told"),
    [
        ("{about: project/default, threshold: 0}", "threshold: 0, expected 1 to"),
        ("{about: project/nowhere, threshold: 5}", "no project called 'nowhere'"),
        ("{about: endpoint/nowhere, threshold: 5}", "no endpoint called nowhere"),
        ("{about: node/local, threshold: 5}", "expected project or endpoint"),
        ("{about: vision, threshold: 5}", "expected one of project/NAME"),
        ("{about: project/, threshold: 5}", "expected one of project/NAME"),
        ("{threshold: 5}", "thresholds[0].about: is missing"),
        ("{about: project/default, threshold: high}", "expected a number"),
        ("{about: project/default, treshold: 5}", "did you mean threshold?"),
        (
            "{about: project/default, threshold: 5}, {about: project/default, threshold: 6}",
            "stands there twice",
        ),
    ],
)
def test_a_threshold_that_cannot_be_is_told_before_anything_is_done(
    files: Path, capsys: Capture, own: str, told: str
) -> None:
    rule = f"name: queue-slow\nseverity: page\nthresholds: [{own}]\n"
    (files / "alerting.yml").write_text(rule)
    assert main(["apply", "-f", "all"]) != 0
    assert told in capsys.readouterr().err
    assert changes() == 0


def test_who_may_not_see_channels_exports_the_rest_and_is_told(
    files: Path, calls_as: Calls, capsys: Capture
) -> None:
    calls_as(make_user("vera", User.Role.VIEWER))
    assert main(["export", "out"]) == 0
    assert "Channels are left out: " in capsys.readouterr().err
    assert (Path("out") / "alert-rules.yml").exists()


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        (
            "threshold: 85",
            "threshold: 850",
            ["alerting.yml, line 7: rule disk-nearly-full:", "threshold: 850, expected 1 to 100 %"],
        ),
        ("threshold: 85", "treshold: 85", ["line 8, [0].treshold: there is no such key"]),
        ("disk-nearly-full", "disk-nearly-ful", ["line 7: rule", "mean disk-nearly-full?"]),
        ("severities: [page]", "severities: page", ["line 5, severities: expected a list, not"]),
        ("ON_CALL_URL", "NOT_SET", ["line 1: channel on-call: url.env: NOT_SET is not set"]),
        ("secret.txt", "none.txt", ["line 1: channel on-call: secret.file: none.txt cannot be"]),
        ("kind: webhook", "kind: email", ["line 1: channel on-call:", "expected none for e-mail"]),
        (
            "kind: webhook\n",
            "",
            ["line 1: channel on-call:", "kind: is missing, expected webhook, slack, "],
        ),
        ("[page]", "[page]\nprojects: [visoin]", ["line 1: channel on-call:", "visoin"]),
        ("duration: 2h", "duration: 200d", ["line 12: silence of endpoint/quote", "ends_at: "]),
        ("endpoint/quote", "endpoint/qoute", ["line 12: silence of endpoint/qoute", "qoute"]),
        ("input-drift", "disk-nearly-full", ["line 9, [1].name: 'disk-nearly-full' stands"]),
        ("duration: 2h", "duration: 2 weeks", ["line 14, duration: '2 weeks', expected 30m, 2h"]),
        (
            "duration: 2h",
            "duration: 2h\n---\nname: input-drift\nfor_s: 9",
            ["line 16: rule input-drift stands there twice", "first in all/alerting.yml, line 9"],
        ),
        (
            "duration: 2h",
            "duration: 2h\n---\nname: quote",
            ["line 16: expected deployment, endpoint", "its keys are name"],
        ),
        ("duration: 2h", "duration: 2h\n---\nnonsense", ["line 16", "'nonsense', without keys"]),
    ],
)
@pytest.mark.parametrize("command", [["apply", "--dry-run"], ["apply"]], ids=" ".join)
def test_what_is_wrong_is_told_with_its_place_before_anything_is_changed(
    files: Path,
    capsys: Capture,
    command: list[str],
    before: str,
    after: str,
    told: list[str],
) -> None:
    assert before in ALERTING
    (files / "alerting.yml").write_text(ALERTING.replace(before, after, 1))
    assert main([*command, "-f", "all"]) in (1, 3)
    err = capsys.readouterr().err
    assert "all/alerting.yml" in err
    assert [text for text in told if text not in err] == []
    assert "s3cr3t" not in err
    assert changes() == 0


def test_the_kind_of_a_channel_stays(files: Path, capsys: Capture) -> None:
    assert main(["apply", "-f", "all"]) == 0
    (files / "alerting.yml").write_text("name: on-call\nkind: slack\nseverities: [page]\n")
    assert main(["diff", "-f", "all"]) == 1
    assert "kind: slack, expected webhook" in capsys.readouterr().err


def test_who_may_not_change_channels_may_not_ask_about_their_secrets(
    files: Path, calls_as: Calls, capsys: Capture
) -> None:
    assert main(["apply", "-f", "all"]) == 0
    calls_as(make_user("olga", User.Role.OPERATOR))
    assert main(["diff", "-f", "all"]) == 1
    assert "Forbidden" in capsys.readouterr().err


def test_of_a_project_only_what_is_its_own_is_exported(
    files: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = datetime.now(UTC)
    for project in ("default", None):
        silence_create(
            project=project, rule="", subject="", reason=f"of {project}", actor="ada", now=now,
            ends_at=now + timedelta(days=1),
        )  # fmt: skip
    channel_create(name="mail", kind="email", actor="ada", recipients=["ops@example.org"])
    in_default = partial(shoal.client.Client, project="default")  # as SHOAL_PROJECT has it
    monkeypatch.setattr(shoal.client, "Client", in_default)
    assert main(["export", "out"]) == 0
    assert "Channels and rules are the installation's" in capsys.readouterr().err
    assert {path.name for path in Path("out").iterdir()} == {"quote.endpoint.yml", "silences.yml"}
    (silence,) = yaml.safe_load_all((Path("out") / "silences.yml").read_text())
    assert silence["reason"] == "of default"
