"""``shoal deploy``: the command's arguments; ``deploying`` does it."""

from pathlib import Path
from typing import Any

import click

from shoal.cli.lineage import lineage_given, lineage_options
from shoal.cli.options import skip_golden_option, supersede_option
from shoal.cli.other_tensors import other_tensors_option
from shoal.cli.output import emit, output_option
from shoal.cli.rollout_options import first_traffic, first_traffic_options

DEFAULT_TIMEOUT_S = 900


@click.command()
@click.argument("path", type=click.Path(exists=True, path_type=Path))
@click.option(
    "--name",
    "-n",
    help="Name of the endpoint and, for a single file, of the model. Default: from PATH.",
)
@click.option(
    "--deployment",
    "-d",
    help="Name of the deployment. Default: blue, or the other of blue and green than has traffic.",
)
@click.option(
    "--instance-count", type=click.IntRange(1), help="Replicas to run. Default: as now, or 1."
)
@click.option(
    "--apply-fixes",
    is_flag=True,
    help="Mend mistakes in config.pbtxt where the inspection of the upload knows the remedy.",
)
@other_tensors_option
@first_traffic_options
@lineage_options
@supersede_option
@skip_golden_option
@click.option(
    "--wait/--no-wait",
    default=True,
    show_default=True,
    help="Follow the deployment to its end, or return once it has been accepted.",
)
@click.option(
    "--timeout",
    type=click.FloatRange(min=1),
    default=DEFAULT_TIMEOUT_S,
    show_default=True,
    help="Seconds to wait for the deployment; it goes on afterwards.",
)
@output_option
def deploy(
    path: Path,
    name: str | None,
    deployment: str | None,
    instance_count: int | None,
    apply_fixes: bool,
    allow_other_tensors: bool,
    supersede: bool,
    skip_golden: bool,
    wait: bool,
    timeout: float,
    output: str,
    **more: Any,
) -> None:
    """Make a model file a live endpoint.

    PATH is an .onnx file, a .zip, or a folder: a Triton model repository, or one model's folder
    (config.pbtxt and 1/, both optional). Of a folder only what the studio does not have is sent.

    \b
      shoal deploy resnet.onnx
      shoal deploy ./model_repository --name vision --wait -o json

      shoal deploy resnet.onnx --traffic 10
      shoal deploy resnet.onnx --rollout --steps 5:60,25:600,100

    An endpoint that exists gets the new version beside the old one (blue/green), then all of its
    traffic once that is ready; callers notice nothing. With --rollout it gets it step by step, as
    long as it does no worse: the server begins that, whether anybody waits or not.

    Where the model has golden cases it is asked them before its first request; one that it answers
    otherwise ends the deployment, and the old version answers on. --skip-golden does without.

    If a model of that name has other inputs and outputs, it may be somebody else's: on a terminal
    you are asked, elsewhere it is refused without --allow-other-tensors.

    The result holds scoring_uri, grpc_target and primaryKey.
    """
    from shoal.cli import deploying
    from shoal.client import names

    if name is not None and not names.is_valid(name):
        raise click.BadParameter(
            f"{name!r} is not usable: {names.RULE}. For instance: {names.from_text(name)}",
            param_hint="--name",
        )
    first = first_traffic(more)
    result = deploying.run(
        path,
        name or names.from_path(path),
        serve_as=name,
        deployment=deployment,
        instance_count=instance_count,
        apply_fixes=apply_fixes,
        allow_other_tensors=allow_other_tensors,
        lineage=lineage_given(**more),
        **first,
        supersede=supersede,
        skip_golden=skip_golden,
        wait=wait,
        timeout_s=timeout,
    )
    emit(result, output, lambda: deploying.print_result(result, ready=wait))
