"""Events as somebody may see them: filtered, in pages, the latest."""

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from django.db.models import Exists, Model, OuterRef, Q, QuerySet, Value
from django.db.models.functions import Concat, Substr

from controlplane.accounts.scope import scope_now
from controlplane.accounts.selectors import events_shown
from controlplane.core.events import LOOKS
from controlplane.core.models import Event, EventArchive
from controlplane.deployments.models import Endpoint
from controlplane.environments.models import EnvironmentVersion
from controlplane.events.errors import EventArchiveNotFound
from controlplane.registry.models import Model as RegisteredModel

# What belongs to a project and has events, by the kind of their subject.
OF_PROJECTS: Final[dict[str, type[Model]]] = {
    "endpoint": Endpoint,
    "environment": EnvironmentVersion,
    "model": RegisteredModel,
}


@dataclass(frozen=True, slots=True)
class EventFilter:
    """Empty fields let everything through, but for what is about ``people``."""

    people: bool
    subject: str = ""
    kind: str = ""
    actor: str = ""
    severity: frozenset[str] = frozenset()
    q: str = ""
    verb: str = ""  # or what it begins with
    since: datetime | None = None
    until: datetime | None = None  # not included
    looks: bool = True  # with those who only looked: at keys, files, the log

    def rows(self) -> QuerySet[Event]:
        rows = events_shown(people=self.people)
        if scope_now() is not None:
            rows = rows.filter(_of_own_projects())
        if self.since is not None:
            rows = rows.filter(at__gte=self.since)
        if self.until is not None:
            rows = rows.filter(at__lt=self.until)
        if self.subject:
            rows = rows.filter(subject=self.subject)
        if self.kind:
            rows = rows.filter(Q(subject=self.kind) | Q(subject__startswith=f"{self.kind}/"))
        if self.actor:
            rows = rows.filter(actor=self.actor)
        if not self.looks:
            rows = rows.exclude(verb__in=LOOKS)
        if self.verb:
            rows = rows.filter(verb__startswith=self.verb)
        if self.severity:
            rows = rows.filter(severity__in=self.severity)
        if self.q:
            found = Q(message__icontains=self.q) | Q(verb__icontains=self.q)
            rows = rows.filter(found | Q(subject__icontains=self.q))
        return rows


def _of_own_projects() -> Q:
    """Of what is in the caller's projects now, since it was made: before that its name may have
    been another project's."""
    found = Q(pk__in=())
    for kind, model in OF_PROJECTS.items():
        # why the managers: they keep to the projects that the caller may see
        named = model._default_manager.annotate(subject=Concat(Value(f"{kind}/"), "name"))
        own = model._default_manager.filter(
            name=Substr(OuterRef("subject"), len(kind) + 2), created_at__lte=OuterRef("at")
        )
        # why both: the first finds the few events of a project by their index
        found |= Q(subject__in=named.values("subject")) & Q(Exists(own))
    return found


def event_archive_get(number: int) -> EventArchive:
    """Raises EventArchiveNotFound."""
    row = EventArchive.objects.filter(pk=number).first()
    if row is None:
        raise EventArchiveNotFound(f"There is no archive {number} of events.")
    return row


def events_list(
    wanted: EventFilter, *, after_seq: int | None, before_seq: int | None, limit: int
) -> list[Event]:
    """Behind ``after_seq`` in order; without it the latest, or those before ``before_seq``,
    newest first."""
    rows = wanted.rows()
    if after_seq is not None:
        return list(rows.filter(seq__gt=after_seq).order_by("seq")[:limit])
    if before_seq is not None:
        rows = rows.filter(seq__lt=before_seq)
    return list(rows.order_by("-seq")[:limit])
