"""Both versions of a rollout asked the same inputs, as its plan's ``compare`` says. What their
answers mean is ``controlplane.rollouts``'."""

import time
from datetime import datetime
from typing import Final

from answers import Tolerance
from controlplane.console.inference import Call, Target
from controlplane.console.models_served import served
from controlplane.core.borrowed import give_back
from controlplane.core.jobs import enqueue_on_commit
from controlplane.golden.asking import CASE_S, Caller, Case, Outcome, Status, as_arrays, caller
from controlplane.golden.cases import MOST_CASES, call_of, saved_cases, target_of
from controlplane.golden.inputs import inputs
from controlplane.golden.rollouts import candidate_awake
from controlplane.operations.models import Rollout
from controlplane.operations.selectors import rollouts_active
from controlplane.operations.types import ROLLING
from controlplane.rollouts import (
    ANSWERS,
    ASKED_AGAIN,
    Compare,
    Compared,
    Plan,
    compared_from_json,
    compared_to_json,
    compared_with,
    plan_from_json,
    unanswered,
)

PACE_S: Final = 20.0  # so often some of a minute's inputs are asked
WITHIN_S: Final = 15.0  # that they may take; less than the pace, so that nobody asks beside it
SERVER_ERRORS: Final = 500  # a failure of the version, and no word on the input
LONGEST_S: Final = 60.0  # what was missed before is not made up for


def comparisons_due(*, now: datetime) -> int:
    """Have both versions asked where it is time, each rollout by a job of its own. Returns how
    many."""
    due = [row for row in rollouts_active() if _count(row, now)]
    for row in due:
        enqueue_on_commit("golden.comparison", queue="ingest", expires_s=10, rollout=row.pk)
    return len(due)


def comparison_ask(rollout: str, *, now: datetime) -> bool:
    """Ask, compare, and write down what came of it. Whether this one did."""
    row = rollouts_active().filter(pk=rollout).first()
    count = _count(row, now) if row else 0
    stable = _stable(row) if row else ""
    if row is None or not count or not stable or candidate_awake(row) is None:
        return False
    mine = Rollout.objects.filter(pk=row.pk, state__in=ROLLING)
    if not mine.filter(compared_at=row.compared_at).update(compared_at=now):
        return False
    known = _asked(row, stable, count, seed=int(now.timestamp()))
    if not mine.filter(compared_at=now).update(compared=compared_to_json(known)):
        return False
    enqueue_on_commit("operations.rollouts", expires_s=5)
    return True


def _count(row: Rollout, now: datetime) -> int:
    """How many inputs are due; 0: none are, yet or ever."""
    plan = plan_from_json(row.plan)
    if plan.compare is None or ANSWERS not in plan.guardrails:
        return 0
    if row.compared_at is None:
        return 1
    since = (now - row.compared_at).total_seconds()
    if 0 <= since < PACE_S:
        return 0
    passed = min(since, LONGEST_S) if since > 0 else PACE_S  # the clock may have been set back
    return max(1, round(plan.compare.per_minute * passed / 60))


def _stable(row: Rollout) -> str:
    """The one that had most of the traffic before."""
    shares = {name: share for name, share in row.previous_traffic.items() if name != row.candidate}
    return max(shares, key=lambda name: shares[name], default="")


def _asked(row: Rollout, stable: str, count: int, *, seed: int) -> Compared:
    endpoint, plan = row.endpoint.name, plan_from_json(row.plan)
    models = served(endpoint, row.candidate).models
    rows = saved_cases(endpoint, [model["name"] for model in models])[:MOST_CASES]
    saved = {f"{one.model}/{one.name}": call_of(one) for one in rows}
    known = compared_from_json(row.compared)
    targets = target_of(endpoint, stable), target_of(endpoint, row.candidate)
    give_back()  # why: models may take their time, and others want the pool's connections
    until = time.monotonic() + WITHIN_S
    with caller() as call:
        asked = inputs(models, saved, known.refused, seed, count)
        for source, one in asked:
            if time.monotonic() >= until or known.confidence >= _needed(plan):
                break
            if source not in known.refused:
                known = _with(known, plan, call, targets, source, one, until)
    return known


def _needed(plan: Plan) -> float:
    return plan.guardrails[ANSWERS].confidence or 1.0


def _with(
    known: Compared,
    plan: Plan,
    call: Caller,
    targets: tuple[Target, Target],
    source: str,
    asked: Call,
    until: float,
) -> Compared:
    """With one more input. The candidate is not asked what the stable version refuses: that would
    count among its refused requests."""
    stable, candidate = targets
    first = call(stable, _case(source, asked, plan.compare), _left(until))
    if first.status != Status.PASSED:
        refused = first.status == Status.REFUSED and first.code < SERVER_ERRORS
        return unanswered(known, source if refused else "")
    case = _case(source, asked, plan.compare, first)
    own = call(candidate, case, _left(until))
    again = [call(stable, case, _left(until)) for _ in range(ASKED_AGAIN)]
    if any(one.status == Status.UNANSWERED for one in (own, *again)):
        return unanswered(known)
    return compared_with(
        known, _told(own), tuple(_told(one) for one in again), plan.guardrails[ANSWERS].tolerance
    )


def _left(until: float) -> float:
    """Of one call; a little at least, so that the answer to it is a time-out of ours."""
    return min(CASE_S, max(0.1, until - time.monotonic()))


def _case(source: str, asked: Call, compare: Compare | None, first: Outcome | None = None) -> Case:
    wanted = compare or Compare(1)
    return Case(
        id="",
        name=source,
        call=asked,
        expected=as_arrays(first.outputs) if first else {},
        tolerance=Tolerance(wanted.relative, wanted.absolute),
        by_class=wanted.by == "best_class",
    )


def _told(one: Outcome) -> str:
    return f"{one.case}: {one.text}" if one.wrong else ""
