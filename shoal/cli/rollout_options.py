"""The options that say how a rollout goes: of ``shoal rollout start``, and of what deploys."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

import click

from shoal.cli.options import pairs

if TYPE_CHECKING:
    from shoal.entities import Rollout

CommandT = TypeVar("CommandT", bound=Callable[..., Any])
STEPS, HOLD_S = "1,10,50,100", 300
SOURCES = ("cases", "random", "captured")
CHECK_S = 60  # before a switch
GUARDRAILS = (
    *("errors", "refusals", "latency_p95", "latency_p99", "latency_mean", "restarts"),
    *("saturation", "answers", "golden"),
)
_OPTIONS = (
    click.option(
        "--steps",
        metavar="PERCENT[:SECONDS],...",
        help="Shares of the candidate, and how long each but the last holds.  "
        "[default: 1,10,50,100]",
    ),
    click.option(
        "--hold",
        type=click.IntRange(min=0),
        metavar="SECONDS",
        help="How long each step holds that --steps says nothing of.  [default: 300]",
    ),
    click.option(
        "--strategy",
        type=click.Choice(["steps", "blue_green"]),
        help="blue_green: all of the traffic at once, back where it does worse while --hold lasts."
        "  [default: steps]",
    ),
    click.option(
        "--shadow",
        metavar="PERCENT[:SECONDS]",
        help="Copies of so many of the requests first, before any traffic; 300 s unless said.",
    ),
    click.option(
        "--min-requests",
        type=click.IntRange(min=1),
        help="That each version answers in a step before the next.  [default: 200]",
    ),
    click.option(
        "--tolerance",
        multiple=True,
        metavar="GUARDRAIL=TIMES",
        help=f"So many times as much is no concern, of {', '.join(GUARDRAILS)}.",
    ),
    click.option(
        "--confidence",
        multiple=True,
        metavar="GUARDRAIL=SHARE",
        help="That the candidate is worse, from which on it is withdrawn: errors=0.99.",
    ),
    click.option(
        "--without",
        multiple=True,
        type=click.Choice(GUARDRAILS),
        metavar="GUARDRAIL",
        help="Do not look at this one.",
    ),
    click.option(
        "--compare",
        type=click.IntRange(min=1),
        metavar="PER_MINUTE",
        help="Ask both versions so many inputs, and compare the answers.",
    ),
    click.option(
        "--compare-by",
        type=click.Choice(["values", "best_class"]),
        help="best_class: scores of classes agree where the best class does.  [default: values]",
    ),
    click.option(
        "--compare-from",
        "sources",
        multiple=True,
        type=click.Choice(SOURCES),
        help="Where inputs come from; may come more than once. captured: what clients asked of the "
        "stable deployment, where it captures.  [default: all of them]",
    ),
    click.option(
        "--captured-hours",
        type=click.IntRange(1, 168),
        help="Captured requests of so many hours until now.  [default: 24]",
    ),
)
_NAMES = (
    *("steps", "hold", "strategy", "shadow", "min_requests", "tolerance", "confidence"),
    *("without", "compare", "compare_by", "sources", "captured_hours"),
)
_FIRST = (
    click.option(
        "--traffic",
        type=click.IntRange(0, 100),
        metavar="PERCENT",
        help="Share of the requests that it gets once it is ready; all of them where nothing else "
        "gets any.",
    ),
    click.option(
        "--rollout",
        is_flag=True,
        help="Give it its traffic step by step once it is ready, by `shoal rollout`; the options "
        "from --steps to --captured-hours say how, and imply it.",
    ),
)


def plan_options(command: CommandT) -> CommandT:
    """Their values are what ``plan_laid`` takes."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def first_traffic_options(command: CommandT) -> CommandT:
    """Their values are what ``first_traffic`` takes."""
    command = plan_options(command)
    for option in reversed(_FIRST):
        command = option(command)
    return command


def first_traffic(given: dict[str, Any]) -> dict[str, Any]:
    """``traffic`` and ``rollout`` as clients take them, None where nothing is said; their options
    are taken out of ``given``. Raises UsageError for both of them."""
    from shoal.entities import Rollout

    traffic, rolls = given.pop("traffic"), given.pop("rollout")
    asked = {name: given.pop(name) for name in _NAMES}
    rolls = rolls or any(value not in (None, ()) for value in asked.values())
    if not rolls:
        return {"traffic": traffic, "rollout": None}
    if traffic:
        raise click.UsageError(
            f"--traffic {traffic}: the rollout that is asked for gives it its traffic. Say one of "
            "them."
        )
    plan = Rollout(endpoint="", deployment="")
    plan_laid(plan, asked)
    said = {name: value for name, value in plan.options().items() if value is not None}
    return {"traffic": None, "rollout": said}


def plan_laid(plan: "Rollout", given: Mapping[str, Any]) -> None:
    """Options go before what ``plan`` says. Raises UsageError."""
    steps, hold, strategy = given["steps"], given["hold"], given["strategy"]
    guardrails: dict[str, Any] = {**(plan.guardrails or {}), **dict.fromkeys(given["without"])}
    for option in ("tolerance", "confidence"):
        for name, value in pairs(given[option], f"--{option}").items():
            guardrails[name] = {**(guardrails.get(name) or {}), option: _number(value, option)}
    said = {"by": given["compare_by"], "sources": list(given["sources"])}
    said["captured_hours"] = given["captured_hours"]
    compared = {name: value for name, value in said.items() if value}
    compared |= {"per_minute": given["compare"]} if given["compare"] else {}
    if compared:
        plan.compare = {**(plan.compare or {}), **compared}
    if plan.compare and "per_minute" not in plan.compare:
        raise click.UsageError(
            "--compare-by, --compare-from and --captured-hours say how --compare compares: give it."
        )
    if strategy is not None and strategy != plan.strategy:
        plan.strategy = strategy
        plan.steps = None  # why: those of a file are of its own strategy
    if steps or hold is not None:
        known = f"0:{CHECK_S},100" if plan.strategy == "blue_green" else STEPS
        plan.steps = _steps(steps or known, hold, last=plan.strategy != "blue_green")
    if (shadow := given["shadow"]) is not None:
        copies = _steps(shadow, None, "--shadow")
        if len(copies) != 1:
            raise click.BadParameter(f"{shadow!r}, expected one", param_hint="--shadow")
        plan.shadow = copies[0]
    if given["min_requests"] is not None:
        plan.min_requests = given["min_requests"]
    plan.guardrails = guardrails or None


def _steps(
    text: str, hold: int | None, option: str = "--steps", *, last: bool = False
) -> list[dict[str, int]]:
    """``last``: the step to 100 percent ends it, and holds only what is said of it."""
    found = []
    for part in text.split(","):
        percent, colon, seconds = part.strip().removesuffix("%").partition(":")
        ends = not colon and last and percent.strip() == "100"
        seconds = seconds if colon else str(HOLD_S if hold is None else hold)
        if not (percent.strip().isdecimal() and seconds.strip().isdecimal()):
            raise click.BadParameter(
                f"{part.strip()!r}, expected PERCENT or PERCENT:SECONDS", param_hint=option
            )
        held = {} if ends else {"hold_s": int(seconds)}
        found.append({"percent": int(percent), **held})
    return found


def _number(text: str, option: str) -> float:
    try:
        return float(text)
    except ValueError as error:
        raise click.BadParameter(f"{text!r} is no number", param_hint=f"--{option}") from error
