"""How often replicas were started again in the last ten minutes. Rows know the number alone, so the
moments at which it changed are kept."""

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Final

from controlplane.alerts.evaluation import Observation
from controlplane.alerts.models import RestartMarks
from controlplane.alerts.rules import Settings
from controlplane.deployments.models import Deployment, Replica

WINDOW_S: Final = 600.0
MOST_MARKS: Final = 50
Marks = Sequence[Sequence[float]]


def restarted(marks: Marks, now: float) -> int:
    """Pure: restarts since the last mark that is older than the window, or the first of all."""
    if not marks:
        return 0
    before = [count for at, count in marks if at <= now - WINDOW_S]
    return max(0, int(marks[-1][1] - (before[-1] if before else marks[0][1])))


def marked(marks: Marks, count: int, now: float, age_s: float) -> list[Sequence[float]]:
    """Pure: the marks with ``count``. One that is seen first began with none, if it is young."""
    if not marks:
        first = 0 if age_s <= WINDOW_S else count
        return [(now - min(age_s, WINDOW_S), first), *([(now, count)] if count != first else [])]
    if marks[-1][1] == count:
        return list(marks)
    return [*marks, (now, count)][-MOST_MARKS:]


def observe(rule: Settings, now: datetime) -> Iterator[Observation]:
    at = now.timestamp()
    known = {row.replica: row for row in RestartMarks.objects.all()}
    counts: dict[int, int] = {}
    # why these alone: there may be thousands of replicas, whose rows are long
    columns = ("pk", "deployment_id", "attempts", "created_at", "observed__restarts")
    replicas = list(Replica.objects.order_by("pk").values_list(*columns))
    for pk, deployment, attempts, created_at, restarts in replicas:
        count = int(restarts or 0) + attempts
        row = known.get(pk)
        if row is None and count == 0:
            continue
        before = row.marks if row else []
        marks = marked(before, count, at, max(0.0, (now - created_at).total_seconds()))
        if marks != before:
            RestartMarks.objects.update_or_create(replica=pk, defaults={"marks": marks, "at": at})
        counts[deployment] = counts.get(deployment, 0) + restarted(marks, at)
    if gone := known.keys() - {one[0] for one in replicas}:
        RestartMarks.objects.filter(replica__in=gone).delete()
    for of in Deployment.objects.select_related("endpoint").order_by("pk"):
        times = counts.get(of.pk, 0)
        subject = f"endpoint/{of.endpoint.name}"
        limit = rule.limit(subject, of.endpoint.project_name)
        yield Observation(
            rule=rule.rule.name,
            subject=subject,
            limit=limit.value,
            part=of.name,
            project=of.endpoint.project_name,
            value=float(times),
            summary=f"Replicas of {of.name} were started again {times} times in the last ten "
            f"minutes; {limit.value:g} {limit.told}.",
        )
