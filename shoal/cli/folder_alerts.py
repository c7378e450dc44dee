"""What ``shoal apply`` and ``shoal export`` do about channels, rules and silences of alerts.

Imported on use.
"""

from collections.abc import Iterator, Mapping, Set
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any, Final

import yaml

from shoal.cli.changes import Change, differences, subject_of
from shoal.client import Client
from shoal.client.alert_types import AlertRule as RuleShown
from shoal.client.alert_types import Channel as ChannelShown
from shoal.client.alert_types import Silence as SilenceShown
from shoal.client.errors import Problem
from shoal.entities import (
    AlertRule,
    AlertThreshold,
    Channel,
    EntityInvalid,
    Fault,
    Reference,
    Silence,
)
from shoal.entities.base import Document, Values

SEALED: Final[tuple[str, ...]] = ("url", "secret")
FORBIDDEN: Final = 403


@dataclass(frozen=True)
class AlertChange(Change):
    """``values`` of a channel or a rule are sent, as REST takes them, and a rule's ``thresholds``
    by whose they are. The silences that ``ends`` names give way to this one."""

    values: dict[str, Any] = field(default_factory=dict, repr=False)  # secrets are among them
    ends: tuple[str, ...] = ()
    thresholds: dict[str, float | None] = field(default_factory=dict)


class Alerts:
    """What the installation has of them is asked once."""

    def __init__(self, client: Client) -> None:
        self._client = client

    def change_of(self, entity: Channel | AlertRule | Silence) -> AlertChange:
        """Raises EntityInvalid for what it cannot become, ReferenceUnreadable, and Problem."""
        if isinstance(entity, Channel):
            return self._channel(entity)
        return self._rule(entity) if isinstance(entity, AlertRule) else self._silence(entity)

    def check(self, change: AlertChange, endpoints: Set[str | None]) -> None:
        """Ask of it all that ``make`` would be asked; ``endpoints`` are made before it. Raises
        Problem."""
        entity = change.entity
        if isinstance(entity, Channel):
            self._client.ask_channel(entity.name, **change.values)
        elif isinstance(entity, AlertRule):
            if change.values:
                self._client.ask_alert_rule(entity.name, **change.values)
            for about, threshold in change.thresholds.items():
                with _made_before(about, endpoints):
                    self._client.ask_alert_threshold(entity.name, about, threshold)
        elif isinstance(entity, Silence):
            with _made_before(entity.subject or "", endpoints):
                self._client.ask_silence(**entity.asked())

    def make(self, change: AlertChange) -> dict[str, str]:
        """The channel's name and its secret, where one was made for it."""
        entity = change.entity
        if isinstance(entity, AlertRule):
            if change.values:
                self._client.change_alert_rule(entity.name, **change.values)
            for about, threshold in change.thresholds.items():
                self._client.set_alert_threshold(entity.name, about, threshold)
        elif isinstance(entity, Silence):
            # why first: whoever is silenced stays so in between
            self._client.silence_alerts(**entity.asked())
            for one in change.ends:
                self._client.end_silence(one)
        elif isinstance(entity, Channel) and change.action == "update":
            self._client.change_channel(entity.name, **change.values)
        elif isinstance(entity, Channel):
            made = self._client.create_channel(entity.name, **change.values)
            return {entity.name: made["secret"]} if made["secret"] else {}
        return {}

    def _channel(self, entity: Channel) -> AlertChange:
        current, settings = self._channels.get(entity.name), entity.settings()
        if current is None:
            if entity.kind is None:
                told = "is missing, expected webhook, slack, alertmanager or email to make it"
                raise EntityInvalid("It", [Fault("kind", told)])
            lines = differences({}, entity._to_dict())
            return AlertChange(entity, "create", lines, values={"kind": entity.kind, **settings})
        if entity.kind not in (None, current["kind"]):
            told = f"{entity.kind}, expected {current['kind']}, which it is: a kind stays"
            raise EntityInvalid("It", [Fault("kind", told)])
        sealed = {name: settings[name] for name in SEALED if name in settings}
        other = self._client.compare_channel(entity.name, **sealed) if sealed else []
        changed = _changed(current, settings.keys() - sealed, settings) | {
            name: sealed[name] for name in other
        }
        plain = {name: value for name, value in changed.items() if name not in sealed}
        lines = (*differences({**current}, plain), *(f"{name}: another one" for name in other))
        return AlertChange(entity, "update" if changed else "none", lines, values=changed)

    def _rule(self, entity: AlertRule) -> AlertChange:
        current = self._rules.get(entity.name)
        if current is None:
            current = self._client.get_alert_rule(entity.name)  # refused, with what is meant
        if faults := entity.faults(current):
            raise EntityInvalid("It", faults)
        changed = _changed(current, entity.settings().keys(), entity.settings())
        own = entity.own_thresholds(current)
        known = {one["about"]: one["threshold"] for one in current.get("thresholds", ())}
        lines = (*differences({**current}, changed), *_own_told(known, own))
        action = "update" if changed or own else "none"
        return AlertChange(entity, action, lines, values=changed, thresholds=own)

    def _silence(self, entity: Silence) -> AlertChange:
        """One that has ended is left alone, here and there."""
        now = datetime.now(UTC)
        if entity.ends_at is not None and datetime.fromisoformat(entity.ends_at) <= now:
            return AlertChange(entity, "none", (f"ends_at: {entity.ends_at} is over",))
        asked = entity.asked(now)
        there = [one for one in self._silences if _same(entity, asked, one)]
        ends = {datetime.fromisoformat(one["ends_at"]) for one in there}
        if there and (entity.ends_at is None or datetime.fromisoformat(entity.ends_at) in ends):
            return AlertChange(entity, "none")
        if not there:
            return AlertChange(entity, "create", differences({}, entity._to_dict()))
        before = max(ends).isoformat()
        lines = (f"ends_at: {before} → {entity.ends_at}",)
        gone = tuple(one["id"] for one in there)
        return AlertChange(entity, "update", lines, ends=gone)

    @cached_property
    def _channels(self) -> dict[str, ChannelShown]:
        return {one["name"]: one for one in self._client.list_channels()}

    @cached_property
    def _rules(self) -> dict[str, RuleShown]:
        return {one["name"]: one for one in self._client.list_alert_rules()}

    @cached_property
    def _silences(self) -> list[SilenceShown]:
        return active(self._client)


@contextmanager
def _made_before(subject: str, endpoints: Set[str | None]) -> Iterator[None]:
    """That an endpoint is not there is no refusal where it is one of those that are made first."""
    kind, _, name = subject.partition("/")
    try:
        yield
    except Problem as problem:
        if not (problem.code == "EndpointNotFound" and kind == "endpoint" and name in endpoints):
            raise


def _own_told(known: Mapping[str, float | None], own: Mapping[str, float | None]) -> Iterator[str]:
    for about, value in own.items():
        before = known.get(about)
        if value is None:
            yield f"thresholds.{about}: removed"
        else:
            yield f"thresholds.{about}: {'' if before is None else f'{before} → '}{value}"


def active(client: Client) -> list[SilenceShown]:
    now = datetime.now(UTC)
    found = client.list_silences()
    return [one for one in found if datetime.fromisoformat(one["ends_at"]) > now]


def _changed(current: Any, names: Set[str], settings: dict[str, Any]) -> dict[str, Any]:
    return {name: settings[name] for name in sorted(names) if settings[name] != current[name]}


def _same(entity: Silence, asked: dict[str, str], shown: SilenceShown) -> bool:
    """Whether both are of the same alerts, for the same reason. An endpoint's project need not be
    said."""
    if any(shown[name] != asked[name] for name in ("rule", "subject", "reason")):
        return False
    by_endpoint = asked["subject"].startswith("endpoint/") and not entity.project
    return by_endpoint or (shown["project"] or "") == asked["project"]


# export -------------------------------------------------------------------------------------------


@dataclass
class Written:
    """``notes`` say what is not in the files."""

    paths: list[Path] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def add(self, path: Path, entity: Document) -> None:
        entity.dump(path)
        self.paths.append(path)


def alerts_write(client: Client, folder: Path, endpoints: Set[str], written: Written) -> None:
    """Into the folder; of a project only silences and its own thresholds, since all else is the
    installation's."""
    if client.project:
        written.notes.append(
            "Channels and rules are the installation's: of a project there are its thresholds."
        )
    else:
        _channels_write(client, folder, written)
    known = client.list_alert_rules()
    rules = [_rule(one, client.project, endpoints) for one in known]
    if client.project:
        rules = [one for one in rules if one.thresholds]
    if rules:  # an installation of before has none
        _dump(folder / "alert-rules.yml", [[one._to_dict() for one in rules]], written)
    silences: dict[str, Values] = {}
    for one in active(client):
        kind, _, name = one["subject"].partition("/")
        if client.project not in ("", one["project"]):
            continue
        if kind == "endpoint" and name not in endpoints:
            written.notes.append(f"A silence of {one['subject']}, which is gone, is left out.")
            continue
        entity = _silence(one)
        # why the first: of those that are the same it ends last
        silences.setdefault(subject_of(entity), entity._to_dict())
    if silences:
        _dump(folder / "silences.yml", list(silences.values()), written)


def _rule(shown: RuleShown, project: str, endpoints: Set[str]) -> AlertRule:
    """Of a ``project`` its thresholds alone."""
    own = [
        AlertThreshold(one["about"], one["threshold"])
        for one in shown.get("thresholds", ())
        if not project
        or one["about"] == f"project/{project}"
        or one["about"].removeprefix("endpoint/") in endpoints
    ]
    if project:
        return AlertRule(name=shown["name"], thresholds=own)
    return AlertRule(
        thresholds=own or None,
        name=shown["name"],
        enabled=shown["enabled"],
        threshold=shown["threshold"],
        for_s=shown["for_s"],
        severity=shown["severity"],
    )


def _silence(shown: SilenceShown) -> Silence:
    return Silence(
        reason=shown["reason"],
        ends_at=shown["ends_at"],
        rule=shown["rule"] or None,
        subject=shown["subject"] or None,
        project=shown["project"],
    )


def _dump(path: Path, documents: list[Any], written: Written) -> None:
    with path.open("w", encoding="utf-8") as file:
        yaml.safe_dump_all(documents, file, sort_keys=False, allow_unicode=True)
    written.paths.append(path)


def _channels_write(client: Client, folder: Path, written: Written) -> None:
    """URLs and secrets are written as the names of variables: nobody is shown them."""
    try:
        channels = client.list_channels()
    except Problem as problem:
        if problem.status != FORBIDDEN:
            raise
        written.notes.append(f"Channels are left out: {problem.detail or problem.title}")
        return
    variables: list[str] = []

    def reference(name: str, what: str) -> Reference:
        # why the number: names differ by their case, too
        variable = f"SHOAL_CHANNEL_{name}_{what}".replace("-", "_").upper()
        if variable in variables:
            variable = f"{variable}_{len(variables)}"
        variables.append(variable)
        return Reference(env=variable)

    for one in channels:
        entity = Channel(
            name=one["name"],
            kind=one["kind"],
            enabled=one["enabled"],
            url=reference(one["name"], "URL") if one["address"] else None,
            secret=reference(one["name"], "SECRET") if one["signed"] else None,
            recipients=one["recipients"],
            severities=list(one["severities"]),
            projects=one["projects"],
        )
        written.add(folder / f"{one['name']}.channel.yml", entity)
    if variables:
        told = "URLs and secrets of channels are in no file: `apply` reads them from the variables "
        written.notes.append(f"{told}{', '.join(variables)}.")
