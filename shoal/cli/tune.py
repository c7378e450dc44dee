"""``shoal tune``: seeks instances, batch size and delay for a deployment's model."""

from typing import Any

import click

from shoal.cli.load_options import levels_of, load_options, shapes_asked, slo_asked
from shoal.cli.options import AzCommand
from shoal.cli.output import emit, output_option, print_fields, print_rows
from shoal.cli.sweep import case_called
from shoal.display.units import byte_count, duration, moment, significant

ID = click.argument("tuning_id")


@click.group(short_help="Seek the configuration that serves a model best.")
def tune() -> None:
    """Seek the instances, batch size and delay that serve a model best, by measuring some.

    Each run starts a replica that nobody calls, on a node, with one configuration.

    \b
      shoal tune start net blue --slo p99=20 --watch
      shoal tune show ID
      shoal tune apply ID --roll-out
    """


@tune.command(cls=AzCommand, short_help="Begin to search.")
@click.argument("endpoint")
@click.argument("deployment")
@load_options(levels="4,16,64", seconds=2.0, warm_up_s=0.5)
@click.option("--instances", metavar="VALUES", help="1,2,4 or 1..8. Default: by its processors.")
@click.option(
    "--batch-sizes", metavar="VALUES", help="max_batch_size. Default: from what it is now to 64."
)
@click.option("--delays", metavar="VALUES", help="In µs: 0,500,2000. Default: 0 to 5000.")
@click.option("--runs", type=int, help="At most. Default: a tenth of all configurations.")
@click.option("--node", default="", help="Default: one that serves nobody, if it could.")
@click.option("--model", "-m", default="", help="As clients call it. Default: the first.")
@click.option("--case", "case_name", help="Name of a saved case; default: random data.")
@click.option("--while-serving", is_flag=True, help="Though replicas there answer clients.")
@click.option("--watch", is_flag=True, help="Follow it to its end; exit code 1 unless it succeeds.")
@output_option
def start(
    endpoint: str,
    deployment: str,
    concurrency: str | None,
    rate: str | None,
    seconds: float,
    warm_up_s: float,
    slo: str | None,
    batch: int,
    shapes: tuple[str, ...],
    instances: str | None,
    batch_sizes: str | None,
    delays: str | None,
    runs: int | None,
    node: str,
    model: str,
    case_name: str | None,
    while_serving: bool,
    watch: bool,
    output: str,
) -> int:
    """Seek the most answers a second within --slo; with --rate, the least latency at that rate.

    With --watch, Ctrl-C ends the search; what was measured until then is kept.
    """
    from shoal.client import Client

    if concurrency and rate:
        raise click.UsageError("--concurrency and --rate are two ways: give one.")
    percentile, slo_ms = slo_asked(slo)
    levels = levels_of(rate, "--rate") if rate else []
    if concurrency:
        levels = levels_of(concurrency, "--concurrency")
    with Client() as client:
        more: dict[str, Any] = {"case": case_called(client, case_name, model)} if case_name else {}
        item: Any = client.start_tuning(
            endpoint,
            deployment,
            instances=_whole(instances, "--instances"),
            batch_sizes=_whole(batch_sizes, "--batch-sizes"),
            delays_us=_whole(delays, "--delays"),
            slo_percentile=percentile,
            slo_ms=slo_ms,
            shapes=shapes_asked(shapes),
            levels=levels,
            mode="rate" if rate else "concurrency",
            model=model,
            batch=batch,
            seconds=seconds,
            warm_up_s=warm_up_s,
            runs=runs,
            node=node,
            while_serving=while_serving,
            **more,
        )
        if watch:
            try:
                item = _follow(client, item)
            except KeyboardInterrupt:
                client.cancel_tuning(item["id"])
                raise
    emit(item, output, lambda: _print(item))
    return 0 if not watch or item["state"] == "Succeeded" else 1


@tune.command("list")
@click.argument("endpoint")
@click.argument("deployment")
@output_option
def list_(endpoint: str, deployment: str, output: str) -> None:
    """List tunings of a deployment, the newest first."""
    from shoal.client import Client

    with Client() as client:
        items = list(client.list_tunings(endpoint, deployment))
    columns = {
        "ID": lambda item: item["id"],
        "STATE": lambda item: item["state"],
        "MODEL": lambda item: item["model"],
        "RUNS": lambda item: f"{item['measured']} of {item['configurations']}",
        "NODE": lambda item: item["node"],
        "SAVED AS": lambda item: item["applied"],
        "STARTED": lambda item: moment(item["created_at"]),
    }
    none = f"No tuning yet: shoal tune start {endpoint} {deployment}"
    emit(items, output, lambda: print_rows(items, columns, none))


@tune.command(cls=AzCommand, short_help="Show what was measured, and which to take.")
@ID
@output_option
def show(tuning_id: str, output: str) -> None:
    """Show what was measured: answers, latency and memory of each configuration.

    Marked are those that no other beats in both.
    """
    from shoal.client import Client

    with Client() as client:
        item = client.get_tuning(tuning_id)
    emit(item, output, lambda: _print(item))


@tune.command()
@ID
@output_option
def watch(tuning_id: str, output: str) -> int:
    """Follow a tuning to its end; exit code 1 unless it succeeds. Ctrl-C leaves it running."""
    from shoal.client import Client

    with Client() as client:
        item = _follow(client, client.get_tuning(tuning_id))
    emit(item, output, lambda: _print(item))
    return 0 if item["state"] == "Succeeded" else 1


@tune.command()
@ID
@output_option
def cancel(tuning_id: str, output: str) -> None:
    """End a tuning; what was measured until then is kept."""
    from shoal.client import Client

    with Client() as client:
        item = client.cancel_tuning(tuning_id)
    emit(item, output, lambda: _print(item))


@tune.command(cls=AzCommand, short_help="Save the chosen configuration as a revision.")
@ID
@click.option("--roll-out", is_flag=True, help="And update the deployment to it.")
@output_option
def apply(tuning_id: str, roll_out: bool, output: str) -> None:
    """Save the chosen configuration as a revision of the model's.

    With --roll-out the deployment takes it: its replicas are replaced while it serves on.
    """
    from shoal.cli.report import note
    from shoal.client import Client

    with Client() as client:
        item = client.apply_tuning(tuning_id)
        endpoint, name, number = item["endpoint"], item["deployment"], item["applied"]
        note(f"Configuration revision {number} of {item['registered_model']} is saved")
        if roll_out:
            operation = client.change_deployment(endpoint, name, config_revision=number)
            if operation is not None:
                client.wait_operation(operation)
            note(f"{endpoint}/{name} runs it")
        else:
            note(f"Roll it out: shoal tune apply {tuning_id} --roll-out")
    emit(item, output, lambda: _print(item))


def _whole(text: str | None, option: str) -> list[int]:
    if text is None:
        return []
    found = levels_of(text, option)
    if any(value % 1 for value in found):
        raise click.BadParameter(f"{text!r}, expected whole numbers", param_hint=option)
    return [int(value) for value in found]


def _follow(client: Any, item: Any) -> Any:
    from shoal.cli.report import note
    from shoal.client.tunings import ACTIVE_TUNING

    told, under_way = 0, None
    note(
        f"Tuning {item['id']} on {item['node']}: {item['budget']} of "
        f"{item['configurations']} configurations at most"
    )
    while True:
        for run in item["runs"][told:]:
            note(f"… {setting_words(run['setting'])}: {_outcome(run)}")
        told = len(item["runs"])
        if item["state"] not in ACTIVE_TUNING:
            return item
        setting = item["current"].get("setting")
        if setting is not None and setting != under_way:
            note(f"  measuring {setting_words(setting)}: {item['current']['reason']}")
            under_way = setting
        client.concurrency.pause(0.5)
        item = client.get_tuning(item["id"])


def setting_words(setting: Any) -> str:
    words = f"{setting['instances']} instance{'s' if setting['instances'] != 1 else ''}"
    if setting["batch"]:
        words += f", batch {setting['batch']}"
    if setting["batch"] > 1:
        words += f", delay {setting['delay_us']} µs"
    return words


def _outcome(run: Any) -> str:
    if run["error"]:
        return str(run["error"]["message"])
    if run["throughput"] is None:
        return "nothing was answered well"
    latency = duration(run["latency_us"] / 1e6)
    return f"{significant(run['throughput'])}/s, {latency}, {byte_count(run['memory_bytes'])}"


def _print(item: Any) -> None:
    error, chosen = item["error"], next((run for run in item["runs"] if run["chosen"]), None)
    print_fields(
        {
            "Tuning": item["id"],
            "State": item["state"],
            "Deployment": f"{item['endpoint']}/{item['deployment']}, revision {item['revision']}",
            "Node": item["node"],
            "Sent": f"{item['case'] or 'random data'} to {item['model']}",
            "Objective": _objective(item),
            "Runs": f"{item['measured']} of {item['configurations']} configurations",
            "Done because": item["stopped_by"] or None,
            "Why": error["message"] if error else None,
            "Detail": error["detail"] or None if error else None,
        }
    )
    click.echo()
    columns = {
        "INSTANCES": lambda run: run["setting"]["instances"],
        "BATCH": lambda run: run["setting"]["batch"] or None,
        "DELAY": lambda run: (
            f"{run['setting']['delay_us']} µs" if run["setting"]["batch"] > 1 else None
        ),
        "ANSWERS": lambda run: (
            None if run["throughput"] is None else f"{significant(run['throughput'])}/s"
        ),
        f"P{item['slo_percentile'] or 99}": lambda run: (
            None if run["latency_us"] is None else duration(run["latency_us"] / 1e6)
        ),
        "MEMORY": lambda run: byte_count(run["memory_bytes"]) if run["memory_bytes"] else None,
        "": _marks,
    }
    print_rows(item["runs"], columns, "Nothing is measured yet")
    click.echo()
    print_fields(
        {
            "Chosen": _chosen(item, chosen) if chosen else None,
            "Saved as": f"configuration revision {item['applied']}" if item["applied"] else None,
        }
    )
    if chosen and not item["applied"] and chosen["setting"] != item["now"]:
        click.echo(f"Save and roll it out: shoal tune apply {item['id']} --roll-out")


def _objective(item: Any) -> str:
    slo = f"p{item['slo_percentile']} ≤ {item['slo_ms']:g} ms" if item["slo_percentile"] else ""
    if item["mode"] == "rate":
        least = f"least latency at {item['levels'][0]:g} requests a second"
        return f"{least}, {slo}" if slo else least
    return f"most answers with {slo}" if slo else "most answers"


def _chosen(item: Any, chosen: Any) -> str:
    words = setting_words(chosen["setting"])
    if chosen["setting"] == item["now"]:
        return f"{words}: what runs today"
    if item["gain"] is None:
        return words
    what = "less latency" if item["mode"] == "rate" else "more answers"
    return f"{words}: {item['gain']:+.0%} {what} than today"


def _marks(run: Any) -> str:
    marks = ["chosen"] if run["chosen"] else []
    if run["frontier"]:
        marks.append("frontier")
    if run["error"]:
        marks.append(run["error"]["message"])
    elif not run["within"]:
        marks.append("over the objective")
    return ", ".join(marks)
