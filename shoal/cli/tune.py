"""``shoal tune``: seeks instances, batch size and delay for a deployment's model."""

from typing import Any, Final

import click

from shoal.cli.load_options import levels_of, load_asked, load_options
from shoal.cli.options import AzCommand
from shoal.cli.output import emit, output_option, print_fields, print_rows
from shoal.cli.runs import Measuring, Tell, add_commands
from shoal.cli.sweep import case_called
from shoal.display.units import byte_count, duration, significant

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
    **load: Any,
) -> int:
    """Seek the most answers a second within --slo; with --rate, the least latency at that rate.

    With --watch, Ctrl-C ends the search; what was measured until then is kept.
    """
    from shoal.client import Client

    asked = load_asked(load, usual="")
    with Client() as client:
        more: dict[str, Any] = {"case": case_called(client, case_name, model)} if case_name else {}
        item = client.start_tuning(
            endpoint,
            deployment,
            instances=_whole(instances, "--instances"),
            batch_sizes=_whole(batch_sizes, "--batch-sizes"),
            delays_us=_whole(delays, "--delays"),
            model=model,
            runs=runs,
            node=node,
            while_serving=while_serving,
            **asked,
            **more,
        )
        return KIND.begun(client, item, output, watch=watch)


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


def _teller(begun: Any) -> Tell:
    from shoal.cli.report import note

    told, under_way = 0, None
    note(
        f"Tuning {begun['id']} on {begun['node']}: {begun['budget']} of "
        f"{begun['configurations']} configurations at most"
    )

    def tell(item: Any) -> None:
        nonlocal told, under_way
        for run in item["runs"][told:]:
            note(f"… {setting_words(run['setting'])}: {_outcome(run)}")
        told = len(item["runs"])
        current = item["current"] or {}
        setting = current.get("setting")
        if setting is not None and setting != under_way:
            note(f"  measuring {setting_words(setting)}: {current['reason']}")
            under_way = setting

    return tell


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
    gpu = f", {byte_count(run['gpu_memory_bytes'])} on GPUs" if _on_gpus(run) else ""
    return f"{significant(run['throughput'])}/s, {latency}, {byte_count(run['memory_bytes'])}{gpu}"


def _on_gpus(run: Any) -> bool:
    return bool(run.get("gpu_memory_bytes"))  # which servers of before do not tell


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
    }
    if any(map(_on_gpus, item["runs"])):
        columns["GPU MEMORY"] = lambda run: (
            byte_count(run["gpu_memory_bytes"]) if _on_gpus(run) else None
        )
    columns[""] = _marks
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


KIND: Final = Measuring(
    noun="tuning",
    get=lambda client, run_id: client.get_tuning(run_id),
    cancel=lambda client, run_id: client.cancel_tuning(run_id),
    every=lambda client, endpoint, deployment: client.list_tunings(endpoint, deployment),
    columns={
        "MODEL": lambda item: item["model"],
        "RUNS": lambda item: f"{item['measured']} of {item['configurations']}",
        "NODE": lambda item: item["node"],
        "SAVED AS": lambda item: item["applied"],
    },
    teller=_teller,
    show=_print,
)
add_commands(tune, KIND)
