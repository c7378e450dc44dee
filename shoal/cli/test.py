"""``shoal test``: golden cases, which say what a model should answer."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from shoal.cli.output import emit, output_option, print_rows
from shoal.display.units import duration, moment

DEPLOYMENT = click.option(
    "--deployment", "-d", help="Ask this one. Default: whichever gets the traffic."
)
TENSOR = ("name", "datatype", "shape", "data")
CASE = click.option("--case", "-c", "names", multiple=True, help="Only this one; may be repeated.")


@click.group(short_help="Ask a deployment saved cases, and compare its answers.")
def test() -> None:
    """Golden cases: saved calls of a model with the answers that they should get.

    \b
      shoal test save seven digits -i seven.json  keep a call and its answer
      shoal test run digits -d green              ask green for all of them
      shoal test accept digits --case seven       expect what it answers now
      shoal test compare digits blue green        send each case to both

    Cases saved in the studio's console are the same cases; `accept` makes them golden.
    """


@test.command("list")
@click.option("--model", "-m", default="", help="Only cases of this model, as clients call it.")
@output_option
def list_(model: str, output: str) -> None:
    """List saved cases; golden ones say what should be answered."""
    from shoal.client import Client

    with Client() as client:
        items = client.list_test_cases(model=model)
    columns = {
        "NAME": lambda item: item["name"],
        "MODEL": lambda item: item["model"],
        "GOLDEN": lambda item: "yes" if item["golden"] else None,
        "INPUTS": lambda item: ", ".join(
            f"{one['name']} {one['datatype']} {one['shape']}" for one in item["tensors"]
        ),
        "CHANGED": lambda item: moment(item["updated_at"]),
    }
    none = "No cases yet: shoal test save NAME ENDPOINT --inputs FILE"
    emit(items, output, lambda: print_rows(items, columns, none))


@test.command()
@click.argument("name")
@click.argument("endpoint")
@click.option(
    "--inputs",
    "-i",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    required=True,
    help='JSON as KServe\'s v2 has it: {"inputs": [{"name", "datatype", "shape", "data"}]}.',
)
@click.option("--model", "-m", help="As clients call it. Default: the deployment's model.")
@click.option("--description", default="", help="What it is about.")
@click.option("--relative", type=float, help="Tolerance, of the expected value. Default: 1e-4.")
@click.option("--absolute", type=float, help="Tolerance besides. Default: 1e-6.")
@DEPLOYMENT
@output_option
def save(
    name: str,
    endpoint: str,
    inputs: Path,
    model: str | None,
    description: str,
    relative: float | None,
    absolute: float | None,
    deployment: str | None,
    output: str,
) -> None:
    """Keep a call under a name, with the answer that it gets now."""
    from shoal.cli.report import note
    from shoal.client import Client
    from shoal.golden import golden

    tolerance = {"relative": relative, "absolute": absolute}
    with Client() as client:
        wanted = {
            "name": name,
            "description": description,
            "model": model or models_of(client, endpoint, deployment)[0],
            "endpoint": endpoint,
            "inputs": _inputs(inputs),
            "tolerance": {key: value for key, value in tolerance.items() if value is not None},
        }
        try:
            answered = golden(client, endpoint, deployment, wanted)
        except ValueError as error:
            raise click.BadParameter(f"{inputs}: {error}", param_hint="--inputs") from error
        case = client.save_test_case(answered)
    emit(case, output, lambda: None)
    note(f"Case {name} of {case['model']} expects what {endpoint} answers now")


@test.command(short_help="Let cases expect what is answered now.")
@click.argument("endpoint")
@DEPLOYMENT
@CASE
@output_option
def accept(endpoint: str, deployment: str | None, names: tuple[str, ...], output: str) -> None:
    """Let cases expect what is answered now; without --case those that are golden already."""
    from shoal.cli.report import note
    from shoal.client import Client
    from shoal.golden import golden

    done = []
    with Client() as client:
        for case in _cases(client, endpoint, deployment, names):
            kept = golden(client, endpoint, deployment, case)
            done.append(client.replace_test_case(case["id"], kept))
            note(f"Case {case['name']} of {case['model']} expects what {endpoint} answers now")
    emit(done, output, lambda: None)


@test.command(short_help="Ask golden cases and compare the answers.")
@click.argument("endpoint")
@DEPLOYMENT
@CASE
@click.option(
    "--junit",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write the outcomes here, as JUnit's XML.",
)
@output_option
def run(
    endpoint: str, deployment: str | None, names: tuple[str, ...], junit: Path | None, output: str
) -> None:
    """Ask a deployment the golden cases of its model, and compare. Exit code 1 where one differs.

    A floating-point value may differ by absolute + relative * |expected|, as the case says; what
    is none must be equal. Each case is asked through the gateway, as a client would.
    """
    from shoal.cli.report import note
    from shoal.client import Client
    from shoal.client.errors import ShoalError
    from shoal.golden import junit as report
    from shoal.golden import run

    outcomes = []
    with Client() as client:
        for one in run(client, endpoint, deployment, _cases(client, endpoint, deployment, names)):
            outcomes.append(one)
            note(f"{'ok  ' if one.passed else 'FAIL'}  {one.case}  {one.text}".rstrip())
    if junit is not None:
        where = f"{endpoint}/{deployment}" if deployment else endpoint
        junit.write_text(report(where, outcomes))
    items = [
        {
            "case": one.case,
            "model": one.model,
            "passed": one.passed,
            "seconds": round(one.seconds, 4),
            "error": one.error,
            "differences": [asdict(found) for found in one.differences],
        }
        for one in outcomes
    ]
    columns = {
        "CASE": lambda item: item["case"],
        "MODEL": lambda item: item["model"],
        "PASSED": lambda item: "yes" if item["passed"] else "no",
        "TOOK": lambda item: duration(item["seconds"]),
    }
    emit(items, output, lambda: print_rows(items, columns, ""))
    failed = [one.case for one in outcomes if not one.passed]
    if failed:
        raise ShoalError(f"{len(failed)} of {len(outcomes)} cases failed", ", ".join(failed))


@test.command(short_help="Send cases to two deployments, and compare their answers.")
@click.argument("endpoint")
@click.argument("deployment")
@click.argument("other")
@CASE
@output_option
def compare(
    endpoint: str, deployment: str, other: str, names: tuple[str, ...], output: str
) -> None:
    """Send saved cases to DEPLOYMENT and to OTHER, and compare the answers of the two.

    All cases of the models of DEPLOYMENT, golden or not; what they expect is no matter. A
    floating-point value may differ by as much as the case says. Exit code 1 where one differs.
    """
    from shoal.cli.report import note
    from shoal.client import Client
    from shoal.client.errors import ShoalError
    from shoal.golden import compare

    found = []
    with Client() as client:
        models_of(client, endpoint, other)
        cases = _cases(client, endpoint, deployment, names, golden=False)
        for one in compare(client, endpoint, (deployment, other), cases):
            found.append(one)
            note(f"{'FAIL' if one.text else 'ok  '}  {one.case}  {one.text}".rstrip())
    items = [
        {
            "case": one.case,
            "model": one.model,
            "equal": not one.text,
            "seconds": dict(
                zip((deployment, other), (round(one, 4) for one in one.seconds), strict=True)
            ),
            "error": one.error,
            "differences": [asdict(found) for found in one.differences],
        }
        for one in found
    ]
    columns = {
        "CASE": lambda item: item["case"],
        "MODEL": lambda item: item["model"],
        "EQUAL": lambda item: "yes" if item["equal"] else "no",
        deployment.upper(): lambda item: duration(item["seconds"][deployment]),
        other.upper(): lambda item: duration(item["seconds"][other]),
    }
    emit(items, output, lambda: print_rows(items, columns, ""))
    failed = [one.case for one in found if one.text]
    if failed:
        raise ShoalError(f"{len(failed)} of {len(found)} answers differ", ", ".join(failed))


def _cases(
    client: Any,
    endpoint: str,
    deployment: str | None,
    names: tuple[str, ...],
    *,
    golden: bool = True,
) -> list[Any]:
    """The named cases of the models that answer there, or else all, or all golden ones."""
    models = models_of(client, endpoint, deployment)
    listed = [item for model in models for item in client.list_test_cases(model=model)]
    chosen = [
        item
        for item in listed
        if (item["name"] in names if names else item["golden"] or not golden)
    ]
    missing = sorted(set(names) - {item["name"] for item in chosen})
    if missing:
        raise click.UsageError(f"No case of {', '.join(models)} is called {', '.join(missing)}.")
    if not chosen and not golden:
        raise click.UsageError(
            f"No saved case of {', '.join(models)}: `shoal test save` makes one."
        )
    if not chosen:
        raise click.UsageError(
            f"No golden case of {', '.join(models)}. `shoal test save` makes one; "
            "`shoal test accept --case NAME` lets a saved one expect what is answered now."
        )
    return [client.get_test_case(item["id"]) for item in chosen]


def models_of(client: Any, endpoint: str, deployment: str | None) -> list[str]:
    """What clients call the models there, the one that has the most traffic first."""
    shown = client.get_endpoint(endpoint)
    traffic = shown["traffic"]
    rows = sorted(shown["deployments"], key=lambda row: -traffic.get(row["name"], 0))
    rows = [row for row in rows if deployment in (None, row["name"])]
    if not rows:
        what = f"has no deployment {deployment}" if deployment else "has no deployment"
        raise click.UsageError(f"{endpoint} {what}.")
    version = client.get_model_version(rows[0]["model"], rows[0]["version"])
    return [model["name"] for model in version["repo_models"]]


def _inputs(file: Path) -> list[Any]:
    try:
        found = json.loads(file.read_text())["inputs"]
        return [{key: one[key] for key in TENSOR} for one in found]
    except (ValueError, TypeError, KeyError) as error:
        raise click.BadParameter(
            f'{file}: expected {{"inputs": [...]}} as JSON, each with {", ".join(TENSOR)}; got '
            f"{error!r}",
            param_hint="--inputs",
        ) from error
