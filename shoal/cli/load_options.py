"""What ``shoal sweep`` and ``shoal bench`` ask and print alike."""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeVar

import click

from shoal.cli.output import print_fields, print_rows
from shoal.display.units import duration, significant

DEFAULT_LEVELS: Final = "1..32"
MOST_STEPS: Final = 1000  # more than any plan may have: the server refuses it in its words
BUSY: Final = 0.9  # of a processor: from here on the load client may have been the limit
_SLO = re.compile(r"p(95|99)=([0-9]+(?:\.[0-9]+)?)(?:ms)?")
CommandT = TypeVar("CommandT", bound=Any)


def load_options(
    *, levels: str = DEFAULT_LEVELS, seconds: float = 5.0, warm_up_s: float = 1.0
) -> Callable[[CommandT], CommandT]:
    """Adds what is asked for, and how long; the arguments are what is usual."""
    options = (
        click.option(
            "--concurrency",
            metavar="LEVELS",
            help=f"Requests at a time: 1,2,4, 1..32 (doubling), 8:64:8.  [default: {levels}]",
        ),
        click.option("--rate", metavar="LEVELS", help="Instead: requests a second, likewise."),
        click.option(
            "--seconds", type=float, default=seconds, show_default=True, help="Of each point."
        ),
        click.option(
            "--warm-up",
            "warm_up_s",
            type=float,
            default=warm_up_s,
            show_default=True,
            help="Seconds at each level before what counts.",
        ),
        click.option(
            "--slo",
            metavar="p95=MS|p99=MS",
            help="The first point above it is the last one: p99=20.",
        ),
        click.option("--batch", type=int, default=1, show_default=True, help="Of random data."),
        click.option(
            "--shape",
            "shapes",
            multiple=True,
            metavar="INPUT:D1,D2",
            help="Of an input of any size, without the batch; may be repeated.",
        ),
    )

    def with_them(command: CommandT) -> CommandT:
        for option in reversed(options):
            command = option(command)
        return command

    return with_them


def levels_of(text: str, option: str) -> list[float]:
    """``1,2,4``, ``1..32`` (doubling) and ``8:64:8`` (first, last, step), in any mixture."""
    found: list[float] = []
    for part in text.split(","):
        try:
            if ".." in part:
                first, last = (float(word) for word in part.split(".."))
                found += _doubling(first, last)
            elif ":" in part:
                first, last, step = (float(word) for word in part.split(":"))
                found += _stepping(first, last, step)
            else:
                found.append(float(part))
        except (ValueError, OverflowError) as error:
            raise click.BadParameter(
                f"{part!r}, expected 4, 1..32 or 8:64:8", param_hint=option
            ) from error
    return sorted(set(found))


def _doubling(first: float, last: float) -> list[float]:
    """Raises ValueError."""
    if first > last:
        raise ValueError("falling")
    found = [first]
    while 0 < found[-1] * 2 <= last and len(found) < 64:
        found.append(found[-1] * 2)
    return found if found[-1] >= last else [*found, last]


def _stepping(first: float, last: float, step: float) -> list[float]:
    """Raises ValueError."""
    if first > last or step <= 0:
        raise ValueError("falling, or without an end")
    count = min(int((last - first) / step) + 1, MOST_STEPS)
    return [first + step * number for number in range(count)]


def load_asked(load: Mapping[str, Any], usual: str = DEFAULT_LEVELS) -> dict[str, Any]:
    """``load_options`` as REST names them; no levels where neither is given and ``usual`` empty."""
    concurrency, rate = load["concurrency"], load["rate"]
    if concurrency and rate:
        raise click.UsageError("--concurrency and --rate are two ways: give one.")
    text = rate or concurrency or usual
    percentile, slo_ms = slo_asked(load["slo"])
    return {
        "mode": "rate" if rate else "concurrency",
        "levels": levels_of(text, "--rate" if rate else "--concurrency") if text else [],
        "slo_percentile": percentile,
        "slo_ms": slo_ms,
        "shapes": shapes_asked(load["shapes"]),
        **{name: load[name] for name in ("batch", "seconds", "warm_up_s")},
    }


def slo_asked(text: str | None) -> tuple[int | None, float | None]:
    """Percentile and milliseconds."""
    if text is None:
        return None, None
    found = _SLO.fullmatch(text)
    if found is None:
        raise click.BadParameter(f"{text!r}, expected p95=20 or p99=20ms", param_hint="--slo")
    return int(found[1]), float(found[2])


def shapes_asked(given: Sequence[str]) -> dict[str, list[int]]:
    found = {}
    for text in given:
        name, _, shape = text.rpartition(":")
        words = shape.split(",")
        if not name or not all(word.isdigit() for word in words):
            raise click.BadParameter(f"{text!r}, expected image:3,224,224", param_hint="--shape")
        found[name] = [int(word) for word in words]
    return found


def point_line(point: Any, mode: str) -> str:
    """One as it comes."""
    level = f"{point['level']:g}" + ("" if mode == "concurrency" else "/s")
    failed = f", {point['failed']:,} failed" if point["failed"] else ""
    return f"… {level}: {significant(point['throughput'])}/s, p95 {_time(point['p95_us'])}{failed}"


def print_points(found: Any) -> None:
    """``found``: a sweep as REST shows it, or what ``load_client.points.points_shown`` says."""
    by_rate = found["mode"] == "rate"
    columns = {
        "RATE" if by_rate else "CONCURRENCY": lambda one: f"{one['level']:g}",
        "ANSWERS": lambda one: f"{significant(one['throughput'])}/s",
        "P50": lambda one: _time(one["p50_us"]),
        "P90": lambda one: _time(one["p90_us"]),
        "P95": lambda one: _time(one["p95_us"]),
        "P99": lambda one: _time(one["p99_us"]),
        "FAILED": lambda one: f"{one['failed']:,}" if one["failed"] else None,
        "BATCH": lambda one: None if one["batch"] is None else significant(one["batch"]),
        "QUEUE": lambda one: _time(one["queue_us"]),
        "COMPUTE": lambda one: _time(one["compute_us"]),
        "": lambda one: _marks(one, found),
    }
    print_rows(found["points"], columns, "Nothing is measured yet")
    kinds: dict[str, int] = {}
    for point in found["points"]:
        for kind, count in point["errors"].items():
            kinds[kind] = kinds.get(kind, 0) + count
    click.echo()
    unit = "a second" if by_rate else "at a time"
    print_fields(
        {
            "Knee": f"{found['knee']:g} {unit}, {significant(found['knee_throughput'])}/s"
            if found["knee"] is not None
            else None,
            "Within the objective": _within(found, unit),
            "Ended early": found["stopped_by"] or None,
            "Failed": ", ".join(f"{kind}: {count:,}" for kind, count in kinds.items()) or None,
            "First": found.get("proxy"),
            "perf_analyzer": found["perf_analyzer"],
        }
    )
    if any(one["client_busy"] > BUSY for one in found["points"]):
        click.echo("! The load client used all of a processor: the server may carry more.")
    if any(one["others"] for one in found["points"]):
        click.echo(
            "! Others sent requests meanwhile: batches and times of the runtime are theirs too."
        )


def _within(found: Any, unit: str) -> str | None:
    if found["slo_percentile"] is None:
        return None
    objective = f"p{found['slo_percentile']} ≤ {found['slo_ms']:g} ms"
    if found["slo_level"] is None:
        return f"{objective}: none"
    best = significant(found["slo_throughput"])
    return f"{objective}: {best}/s, at {found['slo_level']:g} {unit}"


def _marks(point: Any, found: Any) -> str:
    marks = ["knee"] if point["level"] == found["knee"] else []
    if point["within_slo"] is False:
        marks.append("over the objective")
    return ", ".join(marks)


def _time(us: float | None) -> str | None:
    return None if us is None else duration(us / 1e6)
