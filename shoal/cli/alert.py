"""``shoal alert``: what is wrong now and was before, who looks after it, and what is silenced."""

from datetime import timedelta
from pathlib import Path
from typing import Any

import click

from shoal.cli.options import AzCommand, file_option
from shoal.cli.output import emit, output_option, print_fields, print_rows
from shoal.display.units import moment

id_argument = click.argument("alert_id")


def _about(_: click.Context, __: click.Parameter, value: str | None) -> str | None:
    from shoal.entities.keys import THRESHOLD_KINDS

    kind, _slash, name = (value or "").partition("/")
    if value is not None and (kind not in THRESHOLD_KINDS or not name):
        told = ", ".join(f"{one}/NAME" for one in THRESHOLD_KINDS)
        raise click.BadParameter(f"{value!r}, expected one of {told}")
    return value


of_option = click.option(
    "--of",
    "about",
    metavar="KIND/NAME",
    callback=_about,
    help="The threshold of this alone: project/vision, endpoint/quote, node/local.",
)


@click.group(short_help="What is wrong now, silences, and the rules behind alerts.")
def alert() -> None:
    """See what is wrong, say that you look after it, and silence what is known.

    \b
      shoal alert list
      shoal alert ack ALERT_ID
      shoal alert silence --subject endpoint/quote --for 2h --reason "load test"
      shoal alert silence -f silence.yml
      shoal alert rules -o yaml > rules.yml
      shoal alert rule -f rules.yml
    """


@alert.command("list", cls=AzCommand)
@click.option("--all", "every", is_flag=True, help="Resolved ones as well; they are kept 90 days.")
@click.option("--subject", default="", metavar="KIND/NAME", help="Of this: endpoint/quote.")
@click.option("--rule", default="", help="Of this rule alone.")
@output_option
def list_(every: bool, subject: str, rule: str, output: str) -> None:
    """List alerts, newest first."""
    from shoal.client import Client

    with Client() as client:
        items = client.list_alerts(
            states=() if every else ("pending", "firing"), subject=subject, rule=rule
        )
    columns = {
        "ID": lambda item: item["id"][:12],
        "STATE": _state,
        "SEVERITY": lambda item: item["severity"],
        "RULE": lambda item: item["rule"],
        "ABOUT": lambda item: f"{item['subject']} {item['part']}".strip(),
        "SINCE": lambda item: moment(item["started_at"]),
        "WHAT": lambda item: item["resolution"] or item["summary"],
    }
    emit(items, output, lambda: print_rows(items, columns, "Nothing is wrong"))


@alert.command()
@id_argument
@output_option
def show(alert_id: str, output: str) -> None:
    """Show an alert, and what to do about it."""
    from shoal.client import Client

    with Client() as client:
        item = client.get_alert(_whole(client, alert_id))
        rules = {rule["name"]: rule for rule in client.list_alert_rules()}
    emit(item, output, lambda: _print(item, rules.get(item["rule"])))


@alert.command()
@id_argument
@output_option
def ack(alert_id: str, output: str) -> None:
    """Say that you look after it."""
    from shoal.client import Client

    with Client() as client:
        item = client.acknowledge_alert(_whole(client, alert_id))
    emit(item, output, lambda: _print(item, None))


@alert.command(cls=AzCommand, short_help="Tell nobody of what matches for a while.")
@click.option("--subject", default="", metavar="KIND/NAME", help="endpoint/quote, node/local.")
@click.option("--rule", default="", help="Of this rule alone.")
@click.option("--project", "of_project", default="", help="Alerts of this project.")
@click.option("--for", "duration", metavar="DURATION", help="30m, 2h or 3d; 90d at most.")
@click.option("--reason", help="For those who wonder.")
@file_option("silence")
@output_option
def silence(
    subject: str,
    rule: str,
    of_project: str,
    duration: str | None,
    reason: str | None,
    file: Path | None,
    output: str,
) -> None:
    """Tell nobody of what matches for a while. What still fires then is told.

    What is left out matches everything. Options go before what a file says.
    """
    from shoal.cli.session import ml_client
    from shoal.entities.loading import load_silence

    if file is None and (duration is None or reason is None):
        raise click.UsageError("Give --for and --reason, or --file with them in it.")
    if duration is not None:
        _duration(duration)
    given = {
        "subject": subject,
        "rule": rule,
        "project": of_project,
        "duration": duration,
        "reason": reason,
    }
    laid: dict[str, Any] = {name: value for name, value in given.items() if value}
    if duration is not None:
        laid["ends_at"] = None
    entity = load_silence(file or {}, params_override=[laid])
    with ml_client() as client:
        item = client.alerts.create_silence(entity)
    emit(item, output, lambda: print_rows([item], SILENCES, ""))


@alert.command()
@click.argument("silence_id", required=False)
@output_option
def silences(silence_id: str | None, output: str) -> None:
    """List silences, those that end last first, or show one.

    One with -o yaml is a file that `silence` takes.
    """
    from shoal.client import Client

    with Client() as client:
        if silence_id is not None:
            item = client.get_silence(silence_id)
            emit(item, output, lambda: print_rows([item], SILENCES, ""))
            return
        items = client.list_silences()
    emit(items, output, lambda: print_rows(items, SILENCES, "No silences"))


@alert.command()
@click.argument("silence_id")
@output_option
def unsilence(silence_id: str, output: str) -> None:
    """End a silence now."""
    from shoal.client import Client

    with Client() as client:
        item = client.end_silence(silence_id)
    emit(item, output, lambda: print_rows([item], SILENCES, ""))


@alert.command()
@click.argument("name", required=False)
@of_option
@output_option
def rules(name: str | None, about: str | None, output: str) -> None:
    """List the rules with their limits and runbooks, or show one.

    With -o yaml either is a file that `rule` takes. With --of: what counts for that, and where it
    comes from.
    """
    from shoal.client import Client

    if about is not None and name is None:
        raise click.UsageError("Give NAME with --of.")
    with Client() as client:
        if name is not None and about is not None:
            threshold = client.get_alert_threshold(name, about)
            emit(threshold, output, lambda: click.echo(_counts(threshold)))
            return
        if name is not None:
            item = client.get_alert_rule(name)
            emit(item, output, lambda: print_rows([item], RULES, ""))
            return
        items = client.list_alert_rules()
    emit(items, output, lambda: print_rows(items, RULES, ""))


@alert.command(cls=AzCommand, short_help="Change a rule, or turn it off.")
@click.argument("name", required=False)
@click.option("--threshold", type=float, help="From where on it is broken.")
@of_option
@click.option("--for", "duration", metavar="DURATION", help="Broken so long before it fires: 5m.")
@click.option("--severity", type=click.Choice(["page", "ticket"]))
@click.option("--on/--off", "enabled", default=None, help="Off: its alerts are resolved.")
@click.option("--reset", is_flag=True, help="As it is built in, where nothing else is said.")
@file_option("rule, or of a list of rules")
@output_option
def rule(
    name: str | None,
    threshold: float | None,
    about: str | None,
    duration: str | None,
    severity: str | None,
    enabled: bool | None,
    reset: bool,
    file: Path | None,
    output: str,
) -> None:
    """Change a rule for the whole installation; what is left out stays. What changed is told.

    With --of it is the threshold of that alone, and --reset takes it away again.

    A file has one rule or a list of them. Of one, options go before what the file says.
    """
    from shoal.cli.report import note
    from shoal.cli.session import ml_client
    from shoal.entities.loading import load_alert_rules

    if file is None and name is None:
        raise click.UsageError("Give NAME, or --file with a name in it.")
    if about is not None:
        rest = (duration, severity, enabled, file)
        if name is None or reset == (threshold is not None) or any(one is not None for one in rest):
            raise click.UsageError(
                "With --of: NAME, and --threshold or --reset. No more than that."
            )
        with ml_client() as client:
            own = client.alerts.set_threshold(name, about, threshold)
        note(_counts(own))
        emit(own, output, lambda: None)
        return
    seconds = int(_duration(duration).total_seconds()) if duration is not None else None
    given = {
        "name": name,
        "threshold": threshold,
        "for_s": seconds,
        "severity": severity,
        "enabled": enabled,
    }
    laid = {field: value for field, value in given.items() if value is not None}
    entities = load_alert_rules(file or {}, params_override=[laid])
    if not reset and not any(entity.settings() or entity.thresholds for entity in entities):
        raise click.UsageError("Say what shall change, or --reset.")
    with ml_client() as client:
        changed = client.alerts.update_rules(entities, reset=reset)
    for before, after in changed:
        note(f"{after['name']}: {_change(before, after)}")
    items = [after for _, after in changed]
    shown = items if len(items) > 1 else items[0]
    emit(shown, output, lambda: print_rows(items, RULES, ""))


SILENCES = {
    "ID": lambda item: item["id"],
    "RULE": lambda item: item["rule"] or "any",
    "ABOUT": lambda item: item["subject"] or "anything",
    "PROJECT": lambda item: item["project"] or "all",
    "ENDS": lambda item: moment(item["ends_at"]),
    "WHO": lambda item: item["created_by"],
    "REASON": lambda item: item["reason"],
}
RULES = {
    "RULE": lambda item: item["name"],
    "ON": lambda item: "yes" if item["enabled"] else "no",
    "SEVERITY": lambda item: item["severity"],
    "THRESHOLD": lambda item: (
        None if item["threshold"] is None else f"{item['threshold']:g} {item['unit']}"
    ),
    "OWN": lambda item: ", ".join(
        f"{one['about']} {one['threshold']:g}" for one in item.get("thresholds", ())
    ),
    "FOR": lambda item: f"{item['for_s']} s",
    "RUNBOOK": lambda item: item["runbook"],
}


def _change(before: Any, after: Any) -> str:
    """``threshold 500 → 900, for_s 120 → 300``"""
    names = [name for name in after if before[name] != after[name] and name != "thresholds"]
    told = [f"{name} {_plain(before[name])} → {_plain(after[name])}" for name in names]
    was, now = (
        {one["about"]: one["threshold"] for one in item.get("thresholds", ())}
        for item in (before, after)
    )
    for about in sorted({*was, *now}):
        if was.get(about) != now.get(about):
            told.append(f"{about} {_plain(was.get(about))} → {_plain(now.get(about))}")
    return ", ".join(told) or "as it was"


def _counts(item: Any) -> str:
    """``queue-slow for endpoint/quote: 800 ms, of project/vision; installation: 500 ms``"""
    unit = item["unit"]
    told = f"{item['rule']} for {item['about']}: {item['effective']:g} {unit}"
    if item["source"] == "installation":
        return f"{told}, as in the whole installation"
    of = "its own" if item["source"] == item["about"] else f"of {item['source']}"
    return f"{told}, {of}; installation: {item['installation']:g} {unit}"


def _plain(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if value is None:
        return "none"
    return f"{value:g}" if isinstance(value, float) else str(value)


def _state(item: Any) -> str:
    if item["state"] == "firing" and item["silence"]:
        return "silenced"
    told = item["state"]
    return f"{told}, {item['acknowledged_by']} looks" if item["acknowledged_by"] else str(told)


def _print(item: Any, about: Any) -> None:
    print_fields(
        {
            "Alert": item["id"],
            "Rule": f"{item['title']} ({item['rule']}, {item['severity']})",
            "State": _state(item),
            "About": f"{item['subject']} {item['part']}".strip(),
            "What": item["summary"],
            "Not known": item["untold"] or None,
            "Since": moment(item["started_at"]),
            "Resolved": f"{moment(item['resolved_at'])}: {item['resolution']}"
            if item["resolved_at"]
            else None,
            "Silenced": f"until {moment(item['silenced_until'])}" if item["silence"] else None,
            "Page": item["page"],
            "Runbook": item["runbook"],
        }
    )
    if about is not None:
        click.echo()
        for number, step in enumerate(about["steps"], 1):
            click.echo(f"{number}. {step}")


def _whole(client: Any, alert_id: str) -> str:
    """The id that begins so, where lists have shown its beginning."""
    if len(alert_id) >= 32:
        return alert_id
    found = [one["id"] for one in client.list_alerts() if one["id"].startswith(alert_id)]
    return str(found[0]) if len(found) == 1 else alert_id


def _duration(text: str) -> timedelta:
    from shoal.entities.alerting import span

    found = span(text)
    if found is None:
        raise click.BadParameter(f"{text!r}, expected 30m, 2h or 3d", param_hint="--for")
    return found
