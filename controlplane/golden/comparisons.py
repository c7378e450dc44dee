"""Both versions of a rollout asked the same inputs, as its plan's ``compare`` says. What their
answers mean is ``controlplane.rollouts``'."""

import time
from dataclasses import replace
from datetime import datetime
from typing import Final

from answers import Tolerance
from controlplane.console.inference import Call, Target
from controlplane.console.models_served import served
from controlplane.core.borrowed import give_back
from controlplane.core.jobs import enqueue_on_commit
from controlplane.golden.asking import CASE_S, Caller, Case, Outcome, Status, as_arrays, caller
from controlplane.golden.captured import captured_draw, captured_tell, stable_of
from controlplane.golden.cases import MOST_CASES, call_of, saved_cases, target_of
from controlplane.golden.inputs import Input, inputs
from controlplane.golden.rollouts import candidate_awake
from controlplane.operations.models import Rollout
from controlplane.operations.selectors import rollouts_active
from controlplane.operations.types import ROLLING
from controlplane.rollouts import (
    ANSWERS,
    ASKED_AGAIN,
    CAPTURED,
    Compare,
    Compared,
    Differing,
    Plan,
    captured_asked,
    compared_from_json,
    compared_to_json,
    compared_with,
    place,
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
    stable = stable_of(row.previous_traffic, row.candidate) if row else ""
    if row is None or not count or not stable or candidate_awake(row) is None:
        return False
    plan = plan_from_json(row.plan)
    if plan.compare is None:
        return False
    mine = Rollout.objects.filter(pk=row.pk, state__in=ROLLING)
    if not mine.filter(compared_at=row.compared_at).update(compared_at=now):
        return False
    known = _asked(row, stable, plan, plan.compare, count, now=now)
    if known.captured.taken and not compared_from_json(row.compared).captured.taken:
        captured_tell(row, stable)
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


def _asked(
    row: Rollout, stable: str, plan: Plan, compare: Compare, count: int, *, now: datetime
) -> Compared:
    endpoint = row.endpoint.name
    known = compared_from_json(row.compared)
    models = served(endpoint, row.candidate).models
    saved = (
        _saved(endpoint, [model["name"] for model in models]) if "cases" in compare.sources else {}
    )
    captured, met = captured_draw(row, stable, compare, known.captured, count, now=now)
    known = replace(known, captured=met)
    targets = target_of(endpoint, stable), target_of(endpoint, row.candidate)
    give_back()  # why: models may take their time, and others want the pool's connections
    until = time.monotonic() + WITHIN_S
    made = models if "random" in compare.sources else ()
    seed = int(now.timestamp())
    with caller() as call:
        before = known.candidate.of + known.unanswered
        for one in inputs(made, saved, captured, known.refused, seed, count, before):
            if time.monotonic() >= until or known.confidence >= _needed(plan):
                break
            if one.source not in known.refused and not _is_refused(one, known):
                known = _with(known, plan, compare, call, targets, one, until)
    return known


def _saved(endpoint: str, models: list[str]) -> dict[str, Call]:
    rows = saved_cases(endpoint, models)[:MOST_CASES]
    return {f"{one.model}/{one.name}": call_of(one) for one in rows}


def _is_refused(one: Input, known: Compared) -> bool:
    return one.kind == CAPTURED and known.captured.is_refused


def _needed(plan: Plan) -> float:
    return plan.guardrails[ANSWERS].confidence or 1.0


def _with(
    known: Compared,
    plan: Plan,
    compare: Compare,
    call: Caller,
    targets: tuple[Target, Target],
    asked: Input,
    until: float,
) -> Compared:
    """With one more input. The candidate is not asked what the stable version refuses: there is
    nothing to compare."""
    stable, candidate = targets
    first = call(stable, _case(asked, compare), _left(until))
    refused = first.status == Status.REFUSED and first.code < SERVER_ERRORS
    if asked.kind == CAPTURED:
        where = place(asked.file, asked.line)
        known = replace(known, captured=captured_asked(known.captured, where, refused=refused))
    if first.status != Status.PASSED:
        # why not a captured one: another request to that model may well be answered
        return unanswered(known, asked.source if refused and asked.kind != CAPTURED else "")
    case = _case(asked, compare, first)
    own = call(candidate, case, _left(until))
    again = [call(stable, case, _left(until)) for _ in range(ASKED_AGAIN)]
    if any(one.status == Status.UNANSWERED for one in (own, *again)):
        return unanswered(known)
    return compared_with(
        known,
        _told(own, asked),
        tuple(_told(one, asked) for one in again),
        plan.guardrails[ANSWERS].tolerance,
        source=asked.kind,
        differing=_differing(own, asked) if own.wrong else None,
    )


def _differing(own: Outcome, asked: Input) -> Differing:
    name = asked.source if asked.kind == "cases" else ""
    text = f"{name}: {own.text}" if name else own.text
    return Differing(asked.kind, own.model, time.time(), text, asked.file, asked.line)


def _left(until: float) -> float:
    """Of one call; a little at least, so that the answer to it is a time-out of ours."""
    return min(CASE_S, max(0.1, until - time.monotonic()))


def _case(asked: Input, compare: Compare, first: Outcome | None = None) -> Case:
    return Case(
        id="",
        name=asked.source,
        call=asked.call,
        expected=as_arrays(first.outputs) if first else {},
        tolerance=Tolerance(compare.relative, compare.absolute),
        by_class=compare.by == "best_class",
    )


def _told(one: Outcome, asked: Input) -> str:
    """For all who may see the rollout: of what a client asked, nothing that its answer says."""
    if not one.wrong:
        return ""
    if asked.kind != CAPTURED:
        return f"{one.case}: {one.text}"
    about = f"a captured request to {one.model}"
    if one.status == Status.REFUSED:
        return f"{about}: it was refused" + (f" ({one.code})" if one.code else "")
    outputs = ", ".join(difference.output for difference in one.differences)
    return f"{about}: {outputs} differs"
