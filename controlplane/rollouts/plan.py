"""What somebody asks of a rollout, checked once; rows keep it as JSON."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import pairwise
from typing import Any, Final

from controlplane.core.errors import Invalid
from controlplane.rollouts.measures import MEASURES

MOST_STEPS: Final = 20
LONGEST_HOLD_S: Final = 7 * 86_400
MOST_REQUESTS: Final = 10_000_000
LARGEST_TOLERANCE: Final = 100.0
LARGEST_DIFFERENCE: Final = 1e30
LONGEST_SHOWN: Final = 40  # characters of a number; JSON has no largest one
LEAST_CONFIDENCE: Final = 0.5
MOST_INPUTS: Final = 600  # a minute, each of them asked six times
WAYS: Final = ("values", "best_class")
SOURCES: Final = ("cases", "random", "captured")
SOURCES_BEFORE: Final = ("cases", "random")  # of plans from before captured requests were asked
LONGEST_CAPTURED_HOURS: Final = 168
HOLD_S: Final = 300
MIN_REQUESTS: Final = 200


@dataclass(frozen=True, slots=True)
class Step:
    """The candidate has ``percent`` of the traffic for ``hold_s`` seconds at least."""

    percent: int
    hold_s: int = HOLD_S


@dataclass(frozen=True, slots=True)
class Guardrail:
    """``confidence`` and ``tolerance`` as ``measures.Measure`` has them."""

    tolerance: float
    confidence: float | None = None


@dataclass(frozen=True, slots=True)
class Compare:
    """Inputs that both versions are asked. ``by``: whether scores of classes agree where their best
    classes do; all else agrees within the tolerance, as with golden cases. ``sources`` take turns:
    saved cases, random inputs, and requests of clients that the stable version has captured in the
    last ``captured_hours``."""

    per_minute: int
    by: str = "values"
    relative: float = 1e-3
    absolute: float = 1e-5
    sources: tuple[str, ...] = SOURCES
    captured_hours: int = 24


STEPS: Final = (Step(1), Step(10), Step(50), Step(100, 0))


def guardrails_default() -> dict[str, Guardrail]:
    return {name: Guardrail(one.tolerance, one.confidence) for name, one in MEASURES.items()}


@dataclass(frozen=True, slots=True)
class Plan:
    """``min_requests``: that each arm has answered in a step before the next. ``guardrails``: by
    name; what is not there is not looked at. ``compare``: None where no input is asked.
    Raises Invalid, which names the field."""

    steps: tuple[Step, ...] = STEPS
    min_requests: int = MIN_REQUESTS
    guardrails: Mapping[str, Guardrail] = field(default_factory=guardrails_default)
    compare: Compare | None = None

    def __post_init__(self) -> None:
        if not 1 <= len(self.steps) <= MOST_STEPS:
            raise _invalid("steps", f"{len(self.steps)}, expected 1 to {MOST_STEPS}")
        for index, step in enumerate(self.steps):
            _within(f"steps.{index}.percent", step.percent, 1, 100)
            _within(f"steps.{index}.hold_s", step.hold_s, 0, LONGEST_HOLD_S)
        percents = [step.percent for step in self.steps]
        if any(after <= before for before, after in pairwise(percents)) or percents[-1] != 100:
            told = ", ".join(map(str, percents))
            raise _invalid("steps", f"{told}; expected rising percents, of which the last is 100")
        _within("min_requests", self.min_requests, 1, MOST_REQUESTS)
        for name, guardrail in self.guardrails.items():
            _guardrail_check(name, guardrail)
        if self.compare is not None:
            _compare_check(self.compare)


def _guardrail_check(name: str, guardrail: Guardrail) -> None:
    where = f"guardrails.{name}"
    if name not in MEASURES:
        raise _invalid(where, f"no such measure, expected {', '.join(MEASURES)}")
    compared = MEASURES[name].confidence is not None
    _within(f"{where}.tolerance", guardrail.tolerance, 1 if compared else 0, LARGEST_TOLERANCE)
    if compared != (guardrail.confidence is not None):
        wanted = "expected a number" if compared else "it is counted, and not compared"
        raise _invalid(f"{where}.confidence", f"{guardrail.confidence}; {wanted}")
    if guardrail.confidence is not None and not LEAST_CONFIDENCE <= guardrail.confidence < 1:
        wanted = f"expected at least {LEAST_CONFIDENCE}, and less than 1"
        raise _invalid(f"{where}.confidence", f"{guardrail.confidence:g}; {wanted}")


def _compare_check(compare: Compare) -> None:
    _within("compare.per_minute", compare.per_minute, 1, MOST_INPUTS)
    if compare.by not in WAYS:
        raise _invalid("compare.by", f"{compare.by!r:.60}, expected one of {', '.join(WAYS)}")
    _within("compare.relative", compare.relative, 0, 1)
    _within("compare.absolute", compare.absolute, 0, LARGEST_DIFFERENCE)
    if not compare.sources or (strange := sorted(set(compare.sources) - set(SOURCES))):
        told = f"{strange[0]!r:.60}" if compare.sources else "empty"
        raise _invalid("compare.sources", f"{told}, expected some of {', '.join(SOURCES)}")
    _within("compare.captured_hours", compare.captured_hours, 1, LONGEST_CAPTURED_HOURS)


def _within(name: str, value: float, least: float, most: float) -> None:
    if not least <= value <= most:
        told = str(value)[:LONGEST_SHOWN].removesuffix(".0")
        raise _invalid(name, f"{told}, expected {least:g} to {most:g}")


def _invalid(name: str, text: str) -> Invalid:
    return Invalid(f"{name}: {text}.", field=name)


def plan_asked(
    steps: Sequence[Mapping[str, int]] | None = None,
    min_requests: int | None = None,
    guardrails: Mapping[str, Mapping[str, float] | None] | None = None,
    compare: Mapping[str, Any] | None = None,
) -> Plan:
    """What is not said has its default; a guardrail that is None is not looked at. Raises
    Invalid."""
    wanted: dict[str, Any] = {}
    if steps is not None:
        found = [Step(**step) for step in steps]
        # why: the last is the end, and nothing is held there
        wanted["steps"] = tuple(
            replace(one, hold_s=0) if one == found[-1] else one for one in found
        )
    if min_requests is not None:
        wanted["min_requests"] = min_requests
    defaults = guardrails_default()
    said = dict(guardrails or {})
    if strange := sorted(set(said) - set(defaults)):
        raise _invalid(f"guardrails.{strange[0]}", f"expected one of {', '.join(defaults)}")
    wanted["guardrails"] = {
        name: Guardrail(**{**asdict(default), **(said.get(name) or {})})
        for name, default in defaults.items()
        if said.get(name, {}) is not None
    }
    if compare is not None:
        wanted["compare"] = _compare({"sources": SOURCES, **compare})
    return Plan(**wanted)


def plan_to_json(plan: Plan) -> dict[str, Any]:
    """As rows keep it and REST shows it."""
    return {
        "steps": [asdict(step) for step in plan.steps],
        "min_requests": plan.min_requests,
        "guardrails": {name: asdict(one) for name, one in plan.guardrails.items()},
        "compare": asdict(plan.compare) if plan.compare else None,
    }


def plan_from_json(told: Mapping[str, Any]) -> Plan:
    """Guardrails in the order of the table: PostgreSQL keeps objects in one of its own."""
    return Plan(
        steps=tuple(Step(**step) for step in told["steps"]),
        min_requests=told["min_requests"],
        guardrails={
            name: Guardrail(**told["guardrails"][name])
            for name in MEASURES
            if name in told["guardrails"]
        },
        compare=_compare({"sources": SOURCES_BEFORE, **told["compare"]})
        if told.get("compare")
        else None,
    )


def _compare(told: Mapping[str, Any]) -> Compare:
    return Compare(**{**told, "sources": tuple(told["sources"])})
