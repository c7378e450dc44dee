"""A rollout as the command line prints it."""

from typing import Any

import click

from shoal.cli.output import print_fields, print_rows
from shoal.display.units import duration, moment

# Of a candidate whose answers no golden case and no comparison looks at.
UNSEEN = (
    "nothing looks at them: save golden cases (`shoal test save`), or begin with `--compare 60`"
)


def print_rollout(item: Any) -> None:
    print_fields(
        {
            "Rollout": item["id"],
            "Candidate": f"{item['deployment']} of {item['endpoint']}, {item['percent']} % now",
            "State": item["state"],
            "Strategy": None if item.get("strategy", "steps") == "steps" else item["strategy"],
            "Why": item["reason"],
            "Golden cases": _golden(item.get("golden")),
            "Inputs": _inputs(item.get("compared")),
            "Answers": None if item.get("answers_checked", True) else UNSEEN,
            "Captured": (item.get("compared") or {}).get("captured") or None,
            "Started": f"{moment(item['created_at'])} by {item['created_by']}",
            "Ended": f"{moment(item['finished_at'])} by {item['ended_by']}"
            if item["finished_at"]
            else None,
            **{
                f"p{100 * one['quantile']:.0f}": f"{_time(one['candidate_us'])}, "
                f"stable {_time(one['stable_us'])}"
                for one in item["latency"]
            },
        }
    )
    click.echo()
    steps = {
        "STEP": lambda stage: (
            f"copies of {stage['mirror']} %" if stage.get("mirror") else f"{stage['percent']} %"
        ),
        "HOLDS": lambda stage: f"{stage['hold_s']} s",
        "STATUS": lambda stage: stage["status"],
        "REQUESTS": lambda stage: stage["requests"],
    }
    print_rows(item["stages"], steps, "No steps")
    if item["figures"]:
        click.echo()
        print_rows(item["figures"], FIGURES, "")


def _golden(found: Any) -> str | None:
    if not found or not found["cases"]:
        return None
    failed = [f"wrong: {text}" for text in found["wrong"]]
    silent = [f"not answered: {text}" for text in found["unanswered"]]
    right = found["cases"] - len(failed) - len(silent)
    return "; ".join([f"{right} of {found['cases']} as expected", *failed, *silent])


KINDS = {"cases": "saved", "random": "random", "captured": "of clients"}


def _inputs(found: Any) -> str | None:
    """How many were compared of each kind."""
    told = [
        f"{one['inputs']:,} {KINDS[one['source']]}, {one['differing']:,} answered otherwise"
        for one in (found or {}).get("sources", ())
    ]
    return "; ".join(told) or None


FIGURES = {
    "GUARDRAIL": lambda one: one["title"],
    "CANDIDATE": lambda one: _counted(one, ""),
    "STABLE": lambda one: (
        None if one["measure"] in ("golden", "latency_mean") else _counted(one, "stable_")
    ),
    "WORSE": lambda one: _share(one["confidence"]),
    "WITHDRAWN AT": lambda one: (
        f"{100 * one['tolerance']:g} %, for 120 s"
        if one.get("counts") == "percent"
        else _share(one["needed"]) or f"more than {one['tolerance']:g}"
    ),
}


def _counted(one: Any, whose: str) -> str:
    bad, of = one[f"{whose}bad"], one[f"{whose}of"]
    if one.get("counts") == "percent":
        return f"{bad} %" if of else "not measured"
    return f"{bad:,} of {of:,}"


def _share(share: float | None) -> str | None:
    """Rounded down: nobody shall read a confidence that is not reached."""
    return None if share is None else f"{int(share * 1000) / 10:g} %"


def _time(micros: float | None) -> str:
    return "–" if micros is None else duration(micros / 1e6)
