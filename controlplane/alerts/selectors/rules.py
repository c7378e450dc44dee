"""Rules as they are to be applied, with whose thresholds are their own."""

from collections.abc import Iterable
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from django.db.models import QuerySet

from controlplane.accounts.models import Project
from controlplane.accounts.projects import project_get
from controlplane.alerts.errors import AlertRuleNotFound
from controlplane.alerts.models import AlertRuleRow, AlertThreshold
from controlplane.alerts.rules import RULES, Rule, Settings
from controlplane.alerts.types import Severity, ThresholdKind
from controlplane.core.errors import Invalid
from controlplane.deployments.errors import EndpointNotFound
from controlplane.deployments.models import Endpoint
from controlplane.nodes.models import Node
from controlplane.nodes.selectors import node_get


def rule_settings() -> dict[str, Settings]:
    """Every rule as it is to be applied, to what the caller may see."""
    changed = {row.name: row for row in AlertRuleRow.objects.all()}
    own = threshold_rows()
    return {name: _settings(name, changed.get(name), own.get(name, ())) for name in RULES}


def rule_settings_get(name: str) -> Settings:
    """Raises AlertRuleNotFound."""
    rule = rule_get(name)
    row = AlertRuleRow.objects.filter(pk=name).first()
    return _settings(rule.name, row, threshold_rows(name).get(name, ()))


def rule_get(name: str) -> Rule:
    """Raises AlertRuleNotFound."""
    if name in RULES:
        return RULES[name]
    close = get_close_matches(name[:60], RULES, n=1)
    guess = f" Did you mean {close[0]}?" if close else ""
    raise AlertRuleNotFound(f"There is no rule called {name[:60]!r}.{guess}", field="rule")


def _settings(name: str, row: AlertRuleRow | None, own: Iterable[AlertThreshold]) -> Settings:
    rule = RULES[name]
    return Settings(
        rule=rule,
        enabled=row.enabled if row else True,
        threshold=row.threshold if row and row.threshold is not None else rule.threshold,
        for_s=row.for_s if row and row.for_s is not None else rule.for_s,
        severity=Severity(row.severity) if row and row.severity else rule.severity,
        thresholds={one.about: one.threshold for one in own},
    )


# thresholds of their own --------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Subject:
    """What may have a threshold of its own."""

    kind: ThresholdKind
    name: str
    project: str | None  # that it is in

    @staticmethod
    def of(row: AlertThreshold) -> "Subject":
        kind, _, name = row.about.partition("/")
        project = row.endpoint.project_name if row.endpoint is not None else row.project_id
        return Subject(ThresholdKind(kind), name, project)

    @property
    def about(self) -> str:
        return f"{self.kind}/{self.name}"

    def thing(self) -> QuerySet[Any]:
        """Its row, to lock."""
        rows: dict[ThresholdKind, QuerySet[Any]] = {
            ThresholdKind.PROJECT: Project.objects.all(),
            ThresholdKind.ENDPOINT: Endpoint.objects.all(),
            ThresholdKind.NODE: Node.objects.all(),
        }
        return rows[self.kind].filter(name=self.name)

    def rows(self) -> QuerySet[AlertThreshold]:
        field = "project" if self.kind == ThresholdKind.PROJECT else f"{self.kind}__name"
        return _rows().filter(**{field: self.name})


def subject_get(rule: Rule, kind: str, name: str) -> Subject:
    """What a threshold of this rule is asked for. Raises Invalid, ProjectNotFound,
    EndpointNotFound, NodeNotFound."""
    if kind not in rule.kinds:
        wanted = " or ".join(rule.kinds)
        told = f"expected {wanted}" if wanted else "none has a threshold of its own"
        raise Invalid(f"about: {kind[:30]!r} for {rule.name}, {told}.", field="about")
    if kind == ThresholdKind.PROJECT:
        return Subject(ThresholdKind.PROJECT, project_get(name).name, name)
    if kind == ThresholdKind.NODE:
        return Subject(ThresholdKind.NODE, node_get(name).name, None)
    endpoint = Endpoint.objects.filter(name=name).first()
    if endpoint is None:
        raise EndpointNotFound(f"There is no endpoint called {name}.")
    return Subject(ThresholdKind.ENDPOINT, name, endpoint.project_name)


def _rows() -> QuerySet[AlertThreshold]:
    rows = AlertThreshold.objects.select_related("endpoint", "node")
    return rows.order_by("project", "endpoint__name", "node__name")


def threshold_rows(rule: str = "") -> dict[str, list[AlertThreshold]]:
    """Of every rule, or of one, by its name."""
    found: dict[str, list[AlertThreshold]] = {}
    for row in _rows().filter(rule=rule) if rule else _rows():
        found.setdefault(row.rule, []).append(row)
    return found


def threshold_of(rule: str, subject: Subject) -> AlertThreshold | None:
    return subject.rows().filter(rule=rule).first()
