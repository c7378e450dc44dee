"""``shoal alert rule -f`` against the real control plane: what is printed changes nothing."""

from collections.abc import Callable
from pathlib import Path

import pytest
import yaml
from django.utils import timezone

from controlplane.accounts.models import Project, User
from controlplane.alerts.rules import RULES
from controlplane.core.models import Event
from controlplane.deployments.services.endpoints import endpoint_create
from shoal.cli.main import main
from tests.support.people import make_user
from tests.support.project_world import member

pytestmark = pytest.mark.django_db
Capture = pytest.CaptureFixture[str]
Calls = Callable[[User], None]


def changes() -> int:
    """How often the event log says that a rule was changed."""
    return Event.objects.filter(verb="alert_rule.changed").count()


def told(capsys: Capture) -> list[str]:
    """Without what the control plane in this process logs."""
    lines = capsys.readouterr().err.splitlines()
    return [line for line in lines if line.partition(":")[0] in RULES]


def test_what_is_printed_loads_again_and_changes_nothing(calls_as: Calls, capsys: Capture) -> None:
    calls_as(make_user("olga", User.Role.OPERATOR))
    assert main(["alert", "rules", "-o", "yaml"]) == 0
    Path("rules.yml").write_text(printed := capsys.readouterr().out)
    assert main(["alert", "rule", "-f", "rules.yml"]) == 0
    assert told(capsys) == [f"{name}: as it was" for name in RULES]
    assert changes() == 0
    file = yaml.safe_load(printed)
    for rule in file:
        rule.update(enabled=False, for_s=rule["for_s"] + 1, severity="page")
        if rule["threshold"] is not None:
            rule["threshold"] += 1
    Path("changed.yml").write_text(yaml.safe_dump(file))
    assert main(["alert", "rule", "-f", "changed.yml"]) == 0
    assert changes() == len(RULES)
    assert main(["alert", "rule", "-f", "changed.yml"]) == 0
    assert changes() == len(RULES), "a second time there is nothing to do"
    capsys.readouterr()
    assert main(["alert", "rules", "-o", "yaml"]) == 0
    assert yaml.safe_load(capsys.readouterr().out) == file
    for name in RULES:
        assert main(["alert", "rules", name, "-o", "yaml"]) == 0
        Path("one.yml").write_text(capsys.readouterr().out)
        assert main(["alert", "rule", "-f", "one.yml", "-o", "none"]) == 0
        assert told(capsys) == [f"{name}: as it was"]
        assert main(["alert", "rule", name, "--reset", "-o", "none"]) == 0
    capsys.readouterr()
    assert main(["alert", "rules", "-o", "yaml"]) == 0
    assert capsys.readouterr().out == printed


def test_thresholds_of_their_own_are_set_by_option_or_file_and_shown(
    calls_as: Calls, capsys: Capture
) -> None:
    Project.objects.create(name="vision", created_by="ada")
    endpoint_create(name="quote", actor="ada", now=timezone.now(), project="vision")
    calls_as(member("vision", "deployer"))
    rule, of = ["alert", "rule", "queue-slow"], ["--of", "project/vision"]
    assert main([*rule, *of, "--threshold", "800"]) == 0
    said = "queue-slow for project/vision: 800 ms, its own; installation: 500 ms"
    assert said in capsys.readouterr().err
    assert main(["alert", "rules", "queue-slow", "--of", "endpoint/quote"]) == 0
    said = "queue-slow for endpoint/quote: 800 ms, of project/vision; installation: 500 ms"
    assert capsys.readouterr().out.strip() == said
    assert main(["alert", "rules", "queue-slow", "-o", "yaml"]) == 0
    Path("rule.yml").write_text(printed := capsys.readouterr().out)
    file = yaml.safe_load(printed)
    own = [{"about": "endpoint/quote", "threshold": 700}, {"about": "project/vision"}]
    Path("rules.yml").write_text(yaml.safe_dump({"name": file["name"], "thresholds": own}))
    assert main(["alert", "rule", "-f", "rules.yml"]) == 0
    assert told(capsys) == ["queue-slow: endpoint/quote none → 700, project/vision 800 → none"]
    assert main(["alert", "rule", "-f", "rules.yml"]) == 0
    assert told(capsys) == ["queue-slow: as it was"]
    assert main([*rule, "--of", "endpoint/quote", "--reset"]) == 0
    said = "queue-slow for endpoint/quote: 500 ms, as in the whole installation"
    assert said in capsys.readouterr().err
    assert changes() == 0, "the rule of the installation stays as it is"


def test_the_control_plane_says_what_is_out_of_range(calls_as: Calls, capsys: Capture) -> None:
    calls_as(make_user("olga", User.Role.OPERATOR))
    for line, told in (
        ("threshold: 200", "threshold: 200, expected 1 to 100 % used for disk-nearly-full"),
        ("for_s: -1", "for_s"),
        ("for_s: 90000", "for_s"),
    ):
        Path("rule.yml").write_text(f"name: disk-nearly-full\n{line}\n")
        assert main(["alert", "rule", "-f", "rule.yml"]) == 1
        assert told in capsys.readouterr().err
    Path("rule.yml").write_text("name: disk-nearly-ful\nthreshold: 80\n")
    for command in (["rules", "disk-nearly-ful"], ["rule", "-f", "rule.yml"]):
        assert main(["alert", *command]) == 3
        assert "Did you mean disk-nearly-full?" in capsys.readouterr().err


def test_who_may_not_change_rules_reads_them(calls_as: Calls, capsys: Capture) -> None:
    for user in (
        make_user("vera", User.Role.VIEWER),
        make_user("dora", User.Role.DEPLOYER),
        member("default", "deployer"),
    ):
        calls_as(user)
        assert main(["alert", "rules", "queue-slow", "-o", "yaml"]) == 0
        Path("rule.yml").write_text(capsys.readouterr().out)
        assert main(["alert", "rule", "-f", "rule.yml", "--threshold", "9"]) == 1
        refusal = capsys.readouterr().err
        assert "Forbidden" in refusal
        assert "add-member" not in refusal, "no role in a project is enough for it"
    assert changes() == 0
