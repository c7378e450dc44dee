"""``shoal experiment``: how the deployments that share an endpoint's traffic compare."""

from typing import Any

import click

from shoal.cli.options import AzCommand
from shoal.cli.output import emit, output_option, print_rows
from shoal.display.units import duration, moment


@click.group(short_help="Compare the deployments that share an endpoint's traffic.")
def experiment() -> None:
    """Compare the arms of an A/B test: deployments with a share of the traffic, or a rule.

    `shoal traffic` says who gets which requests.
    """


@experiment.command(cls=AzCommand, short_help="What was measured of each, and the verdict.")
@click.argument("endpoint")
@click.option("--baseline", metavar="NAME", help="Compare with this.  [default: largest share]")
@click.option(
    "--range",
    "range_s",
    type=click.IntRange(60, 86_400),
    default=3600,
    show_default=True,
    metavar="SECONDS",
    help="The last so many seconds, by the minute.",
)
@output_option
def show(endpoint: str, baseline: str | None, range_s: int, output: str) -> None:
    """Show what was measured of each arm, and how sure it is that one does worse or better.

    An arm is a deployment with a share of the traffic or a rule.
    """
    from shoal.client import Client

    with Client() as client:
        found = client.get_experiment(endpoint, baseline=baseline, range_s=range_s)
    emit(found, output, lambda: _print(found))


@experiment.command(cls=AzCommand, short_help="Ask each the same inputs, and compare answers.")
@click.argument("endpoint")
@click.option("--baseline", metavar="NAME", help="Compare with this.  [default: largest share]")
@click.option(
    "--inputs",
    type=click.IntRange(0, 200),
    default=50,
    show_default=True,
    metavar="COUNT",
    help="So many of the newest captured requests of each arm.",
)
@click.option(
    "--hours",
    type=click.IntRange(1, 168),
    default=24,
    show_default=True,
    help="How long ago these may have been captured.",
)
@click.option(
    "--relative",
    type=click.FloatRange(0, 1),
    default=1e-3,
    show_default=True,
    help="A value may differ by so much of the baseline's,",
)
@click.option(
    "--absolute",
    type=click.FloatRange(0),
    default=1e-5,
    show_default=True,
    help="and by so much more.",
)
@output_option
def compare(
    endpoint: str,
    baseline: str | None,
    inputs: int,
    hours: int,
    relative: float,
    absolute: float,
    output: str,
) -> None:
    """Ask all arms the same inputs, and compare what they answer with the baseline.

    Inputs are the golden cases of their models, and the newest requests that each arm has captured.
    It takes half a minute at most. For deployers, as values of clients are in it.
    """
    from shoal.client import Client

    with Client() as client:
        found = client.compare_answers(
            endpoint,
            baseline=baseline,
            inputs=inputs,
            hours=hours,
            relative=relative,
            absolute=absolute,
        )
    emit(found, output, lambda: _print_answers(found))


def _print_answers(found: Any) -> None:
    arms = [
        {**arm, **one, "first": one is arm["outputs"][0]}
        for arm in found["arms"]
        for one in arm["outputs"]
    ]
    columns = {
        "ARM": lambda row: row["deployment"] if row["first"] else "",
        "OUTPUT": lambda row: f"{row['model']}/{row['output']}",
        "AGREE": lambda row: f"{row['agreed']:,} of {row['compared']:,}",
        "TOP-1": lambda row: f"{row['best']:,} of {row['rows']:,}" if row["rows"] else "–",
        "SCHEMA": lambda row: f"{row['schema']:,} other" if row["schema"] else "same",
        "LARGEST DIFFERENCE": lambda row: (
            "–" if row["largest"] is None else f"{row['largest']:.4g}"
        ),
    }
    print_rows(arms, columns, "Nothing was compared")
    told = [_source(one) for one in found["sources"] if one["found"]]
    if told:
        click.echo(f"\nAsked {', '.join(told)}, in {duration(found['seconds'])}.")
    for arm in found["arms"] if told else ():
        click.echo(_arm_text(arm, found["baseline"]))
    for one in found["missing"]:
        click.echo(f"Missing: {one['text']}")
    for one in found["differing"]:
        of = one["case"] or f"{one['captured_by']}, {one['file'][:12]}:{one['line']}"
        click.echo(f"{one['deployment']}, {one['model']} ({of}): {one['text']}")


def _source(one: Any) -> str:
    kind = f"captured requests of {one['deployment']}" if one["deployment"] else "golden cases"
    return f"{one['asked']:,} of {one['found']:,} {kind}"


def _arm_text(arm: Any, baseline: str) -> str:
    name, golden = arm["deployment"], arm["golden"]
    own = "itself when it was asked again" if name == baseline else baseline
    told = [f"{name} agrees with {own} in {arm['agreed']:,} of {arm['compared']:,} inputs"]
    if arm["refused"]:
        told.append(f"refused {arm['refused']:,}")
    if arm["unanswered"]:
        told.append(f"did not answer {arm['unanswered']:,}")
    if golden["cases"]:
        told.append(f"{golden['wrong']:,} of {golden['cases']:,} golden cases are not as expected")
    return "; ".join(told) + "."


def _print(found: Any) -> None:
    columns = {
        "ARM": lambda arm: arm["deployment"],
        "MODEL": lambda arm: f"{arm['model']}:{arm['version']}",
        "ASKED": lambda arm: f"{arm['asked_percent']} %",
        "MEASURED": lambda arm: _share(arm["measured_percent"], 1),
        "REQUESTS": lambda arm: f"{arm['requests']:,}",
        "FAILED": _failed,
        "P50": lambda arm: _time(arm["p50_us"]),
        "P95": lambda arm: _time(arm["p95_us"]),
        "P99": lambda arm: _time(arm["p99_us"]),
        "VERDICT": _verdict,
    }
    print_rows(
        found["arms"],
        {name: _of(column, found["baseline"]) for name, column in columns.items()},
        "No deployment has a share of the traffic or a rule",
    )
    for arm in found["arms"]:
        click.echo(f"\n{arm['text']}" if arm is found["arms"][0] else arm["text"])
        for told in (arm["golden"], _answers(arm)):
            if told:
                click.echo(f"  {told['text']}")
    for note in found["notes"]:
        click.echo(f"Note: {note}")
    if found["changed_at"]:
        click.echo(f"The traffic's settings were changed {moment(found['changed_at'])}")


def _of(column: Any, baseline: str) -> Any:
    return lambda arm: column({**arm, "is_baseline": arm["deployment"] == baseline})


def _verdict(arm: Any) -> str:
    if arm["verdict"] == "too_little_data":
        return f"{arm['missing']:,} requests missing" if arm["missing"] else "too little data"
    return "baseline" if arm["is_baseline"] else str(arm["verdict"]).replace("_", " ")


def _failed(arm: Any) -> str:
    if arm["failed_share"] is None:
        return "–"
    low, high = (_share(100 * arm[name], 2) for name in ("failed_low", "failed_high"))
    return f"{_share(100 * arm['failed_share'], 2)} ({low} to {high})"


def _share(percent: float | None, digits: int) -> str:
    return "–" if percent is None else f"{percent:.{digits}f} %"


def _time(us: float | None) -> str:
    return "–" if us is None else duration(us / 1e6)


def _answers(arm: Any) -> dict[str, str] | None:
    if arm["answers"] is None:
        return None
    told = arm["answers"]
    return {
        "text": f"{arm['deployment']} answered {told['differed']:,} of {told['inputs']:,} inputs "
        "otherwise than the stable version of its rollout."
    }
