"""``shoal alert``: what is wrong now and was before, who looks after it, and what is silenced."""

from datetime import timedelta
from pathlib import Path
from typing import Any

import click

from shoal.cli.options import AzCommand, file_option
from shoal.cli.output import emit, output_option, print_fields, print_rows
from shoal.display.units import moment

id_argument = click.argument("alert_id")


@click.group(short_help="What is wrong now, silences, and the rules behind alerts.")
def alert() -> None:
    """See what is wrong, say that you look after it, and silence what is known.

    \b
      shoal alert list
      shoal alert ack ALERT_ID
      shoal alert silence --subject endpoint/quote --for 2h --reason "load test"
      shoal alert silence -f silence.yml
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
@output_option
def rules(output: str) -> None:
    """List the rules, from where on they fire, and their runbooks."""
    from shoal.client import Client

    with Client() as client:
        items = client.list_alert_rules()
    emit(items, output, lambda: print_rows(items, RULES, ""))


@alert.command(cls=AzCommand, short_help="Change a rule, or turn it off.")
@click.argument("name")
@click.option("--threshold", type=float, help="From where on it is broken.")
@click.option("--for", "span", metavar="DURATION", help="Broken for so long before it fires: 5m.")
@click.option("--severity", type=click.Choice(["page", "ticket"]))
@click.option("--on/--off", "enabled", default=None, help="Off: its alerts are resolved.")
@click.option("--reset", is_flag=True, help="As it is built in.")
@output_option
def rule(
    name: str,
    threshold: float | None,
    span: str | None,
    severity: str | None,
    enabled: bool | None,
    reset: bool,
    output: str,
) -> None:
    """Change a rule for the whole installation."""
    from shoal.client import Client

    seconds = int(_duration(span).total_seconds()) if span is not None else None
    asked = {"threshold": threshold, "for_s": seconds, "severity": severity, "enabled": enabled}
    changes: dict[str, Any] = {key: value for key, value in asked.items() if value is not None}
    if reset:
        built_in = {"threshold": None, "for_s": None, "severity": None, "enabled": True}
        changes = built_in | changes
    if not changes:
        raise click.UsageError("Say what shall change, or --reset.")
    with Client() as client:
        item = client.change_alert_rule(name, **changes)
    emit(item, output, lambda: print_rows([item], RULES, ""))


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
    "FOR": lambda item: f"{item['for_s']} s",
    "RUNBOOK": lambda item: item["runbook"],
}


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
