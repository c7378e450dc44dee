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
BY_STEPS, BLUE_GREEN = "steps", "blue_green"
STRATEGIES: Final = (BY_STEPS, BLUE_GREEN)
MOST_COPIED: Final = 50  # percent, as mirrors of endpoints have it
SOURCES: Final = ("cases", "random", "captured")
SOURCES_BEFORE: Final = ("cases", "random")  # of plans from before captured requests were asked
LONGEST_CAPTURED_HOURS: Final = 168
HOLD_S: Final = 300
MIN_REQUESTS: Final = 200


@dataclass(frozen=True, slots=True)
class Step:
    """The candidate has ``percent`` of the traffic for ``hold_s`` seconds at least, and gets copies
    of ``mirror`` percent of the requests besides, whose answers nobody reads."""

    percent: int
    hold_s: int = HOLD_S
    mirror: int = 0


@dataclass(frozen=True, slots=True)
class Shadow:
    """What goes before all steps: copies of ``percent`` of the requests, and no traffic."""

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
CHECK_S: Final = 60  # before the switch, where no copies are sent
SWITCH: Final = (Step(0, CHECK_S), Step(100))


def guardrails_default() -> dict[str, Guardrail]:
    return {name: Guardrail(one.tolerance, one.confidence) for name, one in MEASURES.items()}


@dataclass(frozen=True, slots=True)
class Plan:
    """``min_requests``: that each arm has answered in a step before the next. ``guardrails``: by
    name; what is not there is not looked at. ``compare``: None where no input is asked.
    ``strategy``: by ``steps``, or at once from 0 to 100 % (``blue_green``), which is watched for as
    long as its last step holds. Raises Invalid, which names the field."""

    steps: tuple[Step, ...] = STEPS
    min_requests: int = MIN_REQUESTS
    guardrails: Mapping[str, Guardrail] = field(default_factory=guardrails_default)
    compare: Compare | None = None
    strategy: str = BY_STEPS
    shadow: Shadow | None = None

    @property
    def stages(self) -> tuple[Step, ...]:
        """What is gone through: copies take the place of what else has no traffic."""
        if self.shadow is None:
            return self.steps
        first = Step(0, self.shadow.hold_s, self.shadow.percent)
        return (first, *(step for step in self.steps if step.percent))

    @property
    def ends_at(self) -> int:
        """The index of the stage that is none any more: a switch is watched first."""
        return len(self.stages) - (self.strategy == BY_STEPS)

    def is_watched(self, index: int) -> bool:
        """Whether the candidate answers alone in this stage, with nothing beside it."""
        return self.stages[index].percent == 100

    def __post_init__(self) -> None:
        if self.strategy not in STRATEGIES:
            told = f"{self.strategy!r:.60}, expected one of {', '.join(STRATEGIES)}"
            raise _invalid("strategy", told)
        if self.shadow is not None:
            _within("shadow.percent", self.shadow.percent, 1, MOST_COPIED)
            _within("shadow.hold_s", self.shadow.hold_s, 0, LONGEST_HOLD_S)
        if not 1 <= len(self.steps) <= MOST_STEPS:
            raise _invalid("steps", f"{len(self.steps)}, expected 1 to {MOST_STEPS}")
        for index, step in enumerate(self.steps):
            least = 1 if self.strategy == BY_STEPS else 0
            _within(f"steps.{index}.percent", step.percent, least, 100)
            _within(f"steps.{index}.hold_s", step.hold_s, 0, LONGEST_HOLD_S)
        percents = [step.percent for step in self.steps]
        if any(after <= before for before, after in pairwise(percents)) or percents[-1] != 100:
            told = ", ".join(map(str, percents))
            raise _invalid("steps", f"{told}; expected rising percents, of which the last is 100")
        if self.strategy == BLUE_GREEN and percents != [0, 100]:
            told = ", ".join(map(str, percents))
            raise _invalid("steps", f"{told}; expected 0 and 100, as the strategy is {BLUE_GREEN}")
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
    strategy: str = BY_STEPS,
    shadow: Mapping[str, int] | None = None,
) -> Plan:
    """What is not said has its default; a guardrail that is None is not looked at. Raises
    Invalid."""
    wanted: dict[str, Any] = {"strategy": strategy}
    if steps is not None:
        wanted["steps"] = _steps(steps, strategy)
    elif strategy == BLUE_GREEN:
        wanted["steps"] = SWITCH
    if shadow is not None:
        wanted["shadow"] = Shadow(**shadow)
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


def _steps(asked: Sequence[Mapping[str, int]], strategy: str) -> tuple[Step, ...]:
    """Raises Invalid for a last step that is to hold, where nothing would be watched."""
    found = tuple(Step(**step) for step in asked)
    if strategy == BLUE_GREEN:  # before the switch there is always a look
        return (Step(0, 0), *found) if [one.percent for one in found] == [100] else found
    if not found:
        return found
    held = asked[-1].get("hold_s", 0)
    if held and found[-1].percent == 100:
        raise _invalid(
            f"steps.{len(found) - 1}.hold_s",
            f"{held}, expected 0 or nothing: after the last step nothing is watched. The strategy "
            f"{BLUE_GREEN} watches the candidate for so long once it has all of the traffic",
        )
    return (*found[:-1], replace(found[-1], hold_s=0))


def plan_to_json(plan: Plan) -> dict[str, Any]:
    """As rows keep it and REST shows it."""
    return {
        "steps": [{"percent": step.percent, "hold_s": step.hold_s} for step in plan.steps],
        "min_requests": plan.min_requests,
        "guardrails": {name: asdict(one) for name, one in plan.guardrails.items()},
        "compare": asdict(plan.compare) if plan.compare else None,
        "strategy": plan.strategy,
        "shadow": asdict(plan.shadow) if plan.shadow else None,
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
        # why defaults: rows from before there were these
        strategy=told.get("strategy", BY_STEPS),
        shadow=Shadow(**told["shadow"]) if told.get("shadow") else None,
    )


def _compare(told: Mapping[str, Any]) -> Compare:
    return Compare(**{**told, "sources": tuple(told["sources"])})
