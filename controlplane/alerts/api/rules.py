"""REST of the rules behind alerts, and of thresholds for a project, an endpoint or a node."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import status
from rest_framework.request import Request
from rest_framework.response import Response

from controlplane.accounts.permissions import actor, may
from controlplane.accounts.policy import Permission
from controlplane.accounts.project_views import ProjectAPIView
from controlplane.alerts.models import AlertThreshold
from controlplane.alerts.rules import Settings
from controlplane.alerts.selectors import rules as selectors
from controlplane.alerts.serializers.alerts import (
    AlertRuleChangeSerializer,
    AlertRuleListSerializer,
    AlertRuleSerializer,
    AlertThresholdInputSerializer,
    AlertThresholdSerializer,
)
from controlplane.alerts.services import rules as services
from controlplane.alerts.types import ThresholdKind
from controlplane.core.errors import Forbidden
from controlplane.core.etags import IF_MATCH, LastChange, etag_of, if_match
from controlplane.core.rehearsal import DRY_RUN, ONLY_ASKED, rehearsable
from controlplane.core.requests import read_body, read_only


def rule_shown(found: Settings, own: Iterable[AlertThreshold]) -> dict[str, Any]:
    rule = found.rule
    return {
        "name": rule.name,
        "title": rule.title,
        "about": rule.about,
        "enabled": found.enabled,
        "threshold": found.threshold if rule.unit else None,
        "default_threshold": rule.threshold if rule.unit else None,
        "unit": rule.unit,
        "for_s": found.for_s,
        "clear_s": rule.clear_s,
        "severity": str(found.severity),
        "runbook": rule.runbook,
        "steps": list(rule.steps),
        "kinds": list(rule.kinds),
        "thresholds": [threshold_shown(found, selectors.Subject.of(row), row) for row in own],
    }


def threshold_shown(
    found: Settings, subject: selectors.Subject, row: AlertThreshold | None
) -> dict[str, Any]:
    """Its own, if it has one, and what counts, with where that comes from."""
    limit = found.limit(subject.about, subject.project)
    own = row.threshold if row else None
    return {
        "rule": found.rule.name,
        "about": subject.about,
        "threshold": own,
        "effective": limit.value,
        "source": limit.source,
        "installation": found.threshold,
        "unit": found.rule.unit,
        "changed_by": row.changed_by if row else "",
        "changed_at": row.updated_at if row else None,
        "etag": etag_of(found.rule.name, subject.about, own),
    }


def threshold_changed(row: AlertThreshold | None) -> LastChange | None:
    """Who set it so; of one that was removed the event log alone says who did."""
    if row is None:
        return None
    return LastChange(row.changed_by, row.updated_at, f"It became {row.threshold:g}")


def rule_answer(found: Settings) -> Response:
    own = selectors.threshold_rows(found.rule.name).get(found.rule.name, ())
    return Response(AlertRuleSerializer(rule_shown(found, own)).data)


class AlertRulesView(ProjectAPIView):
    @extend_schema(operation_id="alert_rules_list", responses=AlertRuleListSerializer)
    def get(self, request: Request) -> Response:
        """What is looked at, from where on it fires, and what to do then."""
        del request
        own = selectors.threshold_rows()
        items = [
            rule_shown(found, own.get(name, ()))
            for name, found in selectors.rule_settings().items()
        ]
        return Response(AlertRuleListSerializer({"items": items}).data)


class AlertRuleView(ProjectAPIView):
    write_permission = Permission.OPERATE

    @extend_schema(operation_id="alert_rules_get", responses=AlertRuleSerializer)
    def get(self, request: Request, rule: str) -> Response:
        """One rule, and what to do where it is broken."""
        del request
        return rule_answer(selectors.rule_settings_get(rule))

    @extend_schema(
        operation_id="alert_rules_update",
        parameters=[DRY_RUN],
        request=AlertRuleChangeSerializer,
        responses={**ONLY_ASKED, 200: AlertRuleSerializer},
    )
    @rehearsable
    def patch(self, request: Request, rule: str) -> Response:
        """Change threshold, time or severity, or turn it off: then its alerts are resolved."""
        values = read_body(AlertRuleChangeSerializer, request)
        found = services.rule_update(name=rule, actor=actor(request), **values)
        return rule_answer(found)


SHOWN_ONLY = read_only(AlertThresholdSerializer, AlertThresholdInputSerializer) - {"rule", "about"}
ABOUT = [
    OpenApiParameter(
        "kind", str, OpenApiParameter.PATH, enum=ThresholdKind.values, description="as the rule has"
    ),
    OpenApiParameter("name", str, OpenApiParameter.PATH, description="of the project, ..."),
]


class AlertThresholdView(ProjectAPIView):
    """Of a project or an endpoint for who may deploy there; of a node for operators."""

    @extend_schema(
        operation_id="alert_thresholds_get", parameters=ABOUT, responses=AlertThresholdSerializer
    )
    def get(self, request: Request, rule: str, kind: str, name: str) -> Response:
        """The threshold that counts for it, and where that comes from."""
        return _answer(rule, _subject(request, Permission.READ, rule, kind, name))

    @extend_schema(
        operation_id="alert_thresholds_set",
        parameters=[*ABOUT, IF_MATCH, DRY_RUN],
        request=AlertThresholdInputSerializer,
        responses={**ONLY_ASKED, 200: AlertThresholdSerializer},
    )
    @rehearsable
    def put(self, request: Request, rule: str, kind: str, name: str) -> Response:
        """Give it a threshold of its own, from the next look on."""
        values = read_body(
            AlertThresholdInputSerializer,
            request,
            ignored=SHOWN_ONLY,
            fixed={"rule": rule, "about": f"{kind}/{name}"},
        )
        subject = _subject(request, Permission.OPERATE, rule, kind, name)
        with _as_seen(request, rule, subject):
            services.threshold_set(rule=rule, subject=subject, actor=actor(request), **values)
        return _answer(rule, subject)

    @extend_schema(
        operation_id="alert_thresholds_remove",
        parameters=[*ABOUT, IF_MATCH, DRY_RUN],
        request=None,
        responses={**ONLY_ASKED, 200: AlertThresholdSerializer},
    )
    @rehearsable
    def delete(self, request: Request, rule: str, kind: str, name: str) -> Response:
        """Its project's threshold counts then, or the installation's. Harmless without one."""
        subject = _subject(request, Permission.OPERATE, rule, kind, name)
        with _as_seen(request, rule, subject):
            services.threshold_remove(rule=rule, subject=subject, actor=actor(request))
        return _answer(rule, subject)


def _subject(
    request: Request, of_nodes: Permission, rule: str, kind: str, name: str
) -> selectors.Subject:
    """``of_nodes``: what nodes, which are the installation's, need. Raises Forbidden."""
    about = selectors.rule_get(rule)
    if kind == ThresholdKind.NODE and not may(request, of_nodes):
        raise Forbidden(
            "Nodes are the installation's: this needs a role there.",
            extra={"needed_permission": of_nodes},
        )
    return selectors.subject_get(about, kind, name)


def _shown(rule: str, subject: selectors.Subject) -> Any:
    found = selectors.rule_settings_get(rule)
    row = selectors.threshold_of(rule, subject)
    return AlertThresholdSerializer(threshold_shown(found, subject, row)).data


def _answer(rule: str, subject: selectors.Subject) -> Response:
    body = _shown(rule, subject)
    return Response(body, status=status.HTTP_200_OK, headers={"ETag": body["etag"]})


@contextmanager
def _as_seen(request: Request, rule: str, subject: selectors.Subject) -> Iterator[None]:
    with if_match(
        request,
        subject.thing(),
        lambda: _shown(rule, subject),
        lambda body: str(body["etag"]),
        changed=lambda: threshold_changed(selectors.threshold_of(rule, subject)),
    ):
        yield
