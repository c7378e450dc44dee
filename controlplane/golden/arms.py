"""The same inputs asked of all arms of an experiment, and what they answer: golden cases, and the
newest captured requests of each arm. What agrees is ``controlplane.golden.agreement``'s."""

import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum
from itertools import zip_longest
from typing import Final

from answers import Tolerance
from controlplane.capture.services import captured_newest
from controlplane.console.models_served import Specification, served
from controlplane.core import events
from controlplane.core.borrowed import give_back
from controlplane.core.errors import Conflict
from controlplane.deployments.models import Deployment, Endpoint
from controlplane.deployments.selectors import endpoint_get
from controlplane.experiments.selectors import arms_of
from controlplane.golden.agreement import ArmAgreement
from controlplane.golden.asking import CASE_S, Case, Outcome, Status, caller
from controlplane.golden.captured import ASKED_BYTES, READ_BYTES, inputs_captured
from controlplane.golden.cases import MOST_CASES, case_of, golden_cases, target_of
from controlplane.golden.inputs import Input
from controlplane.golden.replays import newest
from controlplane.golden.rollouts import is_asleep
from controlplane.rollouts import CAPTURED, REASONS, Unusable

WITHIN_S: Final = 30.0  # that all of it may take
MOST_INPUTS: Final = 200  # captured ones of each arm
GOLDEN: Final = "golden"


class NothingToCompare(Conflict):
    code = "NothingToCompare"
    tries = ("Give two deployments a share of the traffic, or one of them a rule.",)


class Lack(StrEnum):
    """Why there are fewer inputs, or arms, than there could be."""

    NO_GOLDEN_CASES = "no_golden_cases"
    NO_CAPTURE = "no_capture"
    NOTHING_CAPTURED = "nothing_captured"
    UNUSABLE = "unusable"
    ASLEEP = "asleep"
    OTHER_MODELS = "other_models"
    NOT_ASKED = "not_asked"


@dataclass(frozen=True, slots=True)
class Missing:
    """``deployment``: whose it is, or empty; ``text``: a sentence."""

    code: Lack
    text: str
    deployment: str = ""
    count: int = 0


@dataclass(frozen=True, slots=True)
class Source:
    """Golden cases, or what ``deployment`` has captured: how many inputs were found, and asked."""

    source: str
    deployment: str
    found: int
    asked: int


@dataclass(frozen=True, slots=True)
class Answers:
    """``arms``: the baseline first."""

    endpoint: str
    baseline: str
    seconds: float
    sources: tuple[Source, ...]
    missing: tuple[Missing, ...]
    arms: tuple[ArmAgreement, ...]


@dataclass(frozen=True, slots=True)
class _Found:
    """Inputs of one source. ``cases``: of golden ones what they expect, in their order."""

    source: str
    deployment: str
    inputs: tuple[Input, ...]
    cases: tuple[Case, ...] = ()


_Ask = Callable[[str, Case], Outcome]  # the deployment, and what it is asked


def arms_ask(
    *,
    endpoint: str,
    baseline: str,
    inputs: int,
    hours: int,
    tolerance: Tolerance,
    actor: str,
    now: datetime,
) -> Answers:
    """Ask all arms the golden cases of their models and ``inputs`` of the newest captured requests
    of each arm of the last ``hours``, one after the other. Raises EndpointNotFound,
    DeploymentNotFound, NothingToCompare."""
    row = endpoint_get(endpoint)
    names, missing = _awake(row, arms_of(row, baseline))
    rows = {one.name: one for one in row.deployments.all()}
    shared = _shared(endpoint, names, missing)
    found = [_golden(endpoint, names[0], shared, missing)]
    since = now - timedelta(hours=hours)
    for name in names if inputs else ():
        found.append(_captured(rows[name], shared, inputs, since, hours, missing))
    taken = [one.deployment for one in found if one.source == CAPTURED and one.inputs]
    if taken:
        _tell(endpoint, taken, names, actor)
    targets = {name: target_of(endpoint, name) for name in names}
    give_back()  # why: models may take their time, and others want the pool's connections
    arms = {name: ArmAgreement(name) for name in names}
    began = time.monotonic()
    asked = dict.fromkeys(((one.source, one.deployment) for one in found), 0)
    with caller() as call:

        def answer(name: str, case: Case) -> Outcome:
            return call(targets[name], case, _left(began))

        for of, one, case in _in_turn(found):
            if time.monotonic() - began >= WITHIN_S:
                break
            asked[of.source, of.deployment] += 1
            _ask(one, case, arms, answer, tolerance)
    late = sum(len(one.inputs) for one in found) - sum(asked.values())
    if late:
        text = f"{late:,} inputs were not asked within {WITHIN_S:.0f} s."
        missing.append(Missing(Lack.NOT_ASKED, text, count=late))
    return Answers(
        endpoint=endpoint,
        baseline=names[0],
        seconds=time.monotonic() - began,
        sources=tuple(
            Source(one.source, one.deployment, len(one.inputs), asked[one.source, one.deployment])
            for one in found
        ),
        missing=tuple(missing),
        arms=tuple(arms.values()),
    )


def _ask(
    one: Input,
    case: Case,
    arms: Mapping[str, ArmAgreement],
    answer: _Ask,
    tolerance: Tolerance,
) -> None:
    """The baseline first, each other arm once, and the baseline again: what it answers otherwise
    then, it does by itself."""
    baseline, *others = arms
    first = answer(baseline, case)
    if one.kind == GOLDEN:
        arms[baseline].told_expected(first)
    comparable = first.status in (Status.PASSED, Status.DIFFERS)
    if not comparable:
        # why others are asked golden cases all the same: those say themselves what is right
        arms[baseline].refused += first.status == Status.REFUSED
        arms[baseline].unanswered += first.status == Status.UNANSWERED
    for name in others:
        if not comparable and one.kind != GOLDEN:
            continue
        own = answer(name, case)
        if one.kind == GOLDEN:
            arms[name].told_expected(own)
        if comparable:
            arms[name].told(one, first, own, tolerance)
    if comparable:
        arms[baseline].told(one, first, answer(baseline, case), tolerance)


def _left(began: float) -> float:
    """Of one call; a little at least, so that the answer to it is a time-out of ours."""
    return min(CASE_S, max(0.1, began + WITHIN_S - time.monotonic()))


def _awake(row: Endpoint, arms: Sequence[str]) -> tuple[list[str], list[Missing]]:
    """Arms that are not woken by this; the first is the baseline."""
    rows = {one.name: one for one in row.deployments.all()}
    asleep = [name for name in arms if is_asleep(rows[name])]
    names = [name for name in arms if name not in asleep]
    if len(names) < 2 or arms[0] in asleep:
        sleeps = f" ({', '.join(asleep)} asleep, and not woken for this)" if asleep else ""
        known = f"{len(arms)} deployments with a share or a rule{sleeps}"
        raise NothingToCompare(
            f"{row.name} has {known}, expected two or more that run, the baseline among them."
        )
    told = "is asleep, and is not woken for this."
    return names, [Missing(Lack.ASLEEP, f"{name} {told}", name) for name in asleep]


def _shared(endpoint: str, names: Sequence[str], missing: list[Missing]) -> list[Specification]:
    """Models that all arms serve, as the baseline does."""
    first, *others = (served(endpoint, name).models for name in names)
    for name, models in zip(names[1:], others, strict=True):
        lacks = {model["name"] for model in first} - {model["name"] for model in models}
        if lacks:
            text = f"{name} does not serve {', '.join(sorted(lacks))}: nobody is asked for that."
            missing.append(Missing(Lack.OTHER_MODELS, text, name, len(lacks)))
    known = [{model["name"] for model in models} for models in others]
    return [model for model in first if all(model["name"] in one for one in known)]


def _golden(
    endpoint: str, baseline: str, shared: Collection[Specification], missing: list[Missing]
) -> _Found:
    names = [model["name"] for model in shared]
    rows = list(golden_cases(endpoint, baseline).filter(model__in=names)[:MOST_CASES])
    if not rows:
        text = "The models have no golden cases: `shoal test save` keeps a call with its answer."
        missing.append(Missing(Lack.NO_GOLDEN_CASES, text))
    cases = tuple(case_of(row) for row in rows)
    inputs = tuple(Input(GOLDEN, case.name, case.call) for case in cases)
    return _Found(GOLDEN, "", inputs, cases)


def _captured(
    row: Deployment,
    shared: Sequence[Specification],
    count: int,
    since: datetime,
    hours: int,
    missing: list[Missing],
) -> _Found:
    def lacks(code: Lack, text: str, met: int = 0) -> None:
        missing.append(Missing(code, text, row.name, met))

    none = _Found(CAPTURED, row.name, ())
    capture = inputs_captured(row)
    if capture is None:
        lacks(
            Lack.NO_CAPTURE,
            f"{row.name} captures no inputs: `capture:` in its file says what is captured.",
        )
        return none
    files = captured_newest(deployment=row, since=since, most_bytes=READ_BYTES)
    drawn = newest(files, count, models=shared, capture=capture, most_bytes=ASKED_BYTES)
    if drawn.unusable:
        met = sum(drawn.unusable.values())
        which = ", ".join(
            f"{drawn.unusable[one]:,} {REASONS[one]}" for one in Unusable if one in drawn.unusable
        )
        lacks(
            Lack.UNUSABLE,
            f"Of what {row.name} has captured {met:,} cannot be asked again: {which}.",
            met,
        )
    elif not drawn.inputs:
        lacks(
            Lack.NOTHING_CAPTURED,
            f"{row.name} has captured nothing in the last {hours} h, or its node has not sent it.",
        )
    # why renamed: by a model nobody sees whose clients sent it
    inputs = tuple(replace(one, source=row.name) for one in drawn.inputs)
    return _Found(CAPTURED, row.name, inputs)


def _in_turn(found: Sequence[_Found]) -> Iterator[tuple[_Found, Input, Case]]:
    """One of each source after the other, so that all have their turn where the time ends."""
    columns = ([(of, one, case) for one, case in _asked(of)] for of in found)
    for row in zip_longest(*columns):
        yield from (one for one in row if one is not None)


def _asked(of: _Found) -> Iterator[tuple[Input, Case]]:
    """With what is expected; nothing, where nobody has said."""
    if of.cases:
        return zip(of.inputs, of.cases, strict=True)
    cases = (Case("", CAPTURED, one.call, {}, Tolerance()) for one in of.inputs)
    return zip(of.inputs, cases, strict=True)


def _tell(endpoint: str, taken: Sequence[str], arms: Sequence[str], actor: str) -> None:
    """That captured values were asked, and that who asked could read them."""
    events.record(
        actor=actor,
        verb="capture.asked_again",
        subject=f"endpoint/{endpoint}",
        message=f"{actor} had captured requests of {', '.join(taken)} asked again, of "
        f"{', '.join(arms)}, to compare their answers",
        data={"deployments": list(taken), "arms": list(arms)},
    )
