"""Entry of ``shoal``: the commands, and which failure means which exit code."""

import sys
from collections.abc import Sequence
from pathlib import Path

import click

from shoal import __version__
from shoal.cli import az
from shoal.cli.alert import alert
from shoal.cli.apply import apply, diff, export
from shoal.cli.audit import audit
from shoal.cli.autoscale import autoscale
from shoal.cli.backup import backup, restore
from shoal.cli.bench import bench
from shoal.cli.capacity import capacity
from shoal.cli.capture import capture
from shoal.cli.channel import channel
from shoal.cli.completion import completion
from shoal.cli.config import config
from shoal.cli.deploy import deploy
from shoal.cli.dev import dev
from shoal.cli.doctor import doctor
from shoal.cli.endpoint import endpoint
from shoal.cli.environment import environment
from shoal.cli.experiment import experiment
from shoal.cli.gateway import gateway
from shoal.cli.init import init
from shoal.cli.instance_type import instance_type
from shoal.cli.login import login, logout
from shoal.cli.logs import logs
from shoal.cli.model import model
from shoal.cli.node import node
from shoal.cli.objective import objective
from shoal.cli.online_deployment import online_deployment
from shoal.cli.online_endpoint import online_endpoint
from shoal.cli.operation import op, operation
from shoal.cli.pipeline import pipeline
from shoal.cli.prices import prices
from shoal.cli.project import project
from shoal.cli.proxy import proxy
from shoal.cli.requests import requests
from shoal.cli.rollout import rollout
from shoal.cli.second_factor import second_factor
from shoal.cli.service_account import service_account
from shoal.cli.signing_key import signing_key
from shoal.cli.support_bundle import support_bundle
from shoal.cli.sweep import sweep
from shoal.cli.test import test
from shoal.cli.traffic import traffic
from shoal.cli.tune import tune
from shoal.cli.up import up
from shoal.cli.user import user
from shoal.cli.version import version
from shoal.cli.why_slow import why_slow

FAILURE, USAGE, NOT_FOUND, INTERRUPTED = 1, 2, 3, 130


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="shoal", message="%(prog)s %(version)s")
@click.option(
    "--project",
    "project_name",
    envvar="SHOAL_PROJECT",
    metavar="NAME",
    help="Where new things go, and what lists are of. Default: SHOAL_PROJECT.",
)
@click.pass_context
def cli(ctx: click.Context, project_name: str | None) -> None:
    """Serve machine-learning models: from a file to a live, authenticated endpoint.

    \b
      shoal up                            start an installation here
      shoal deploy model.onnx --name net  make a model file a live endpoint
      shoal endpoint show net             where it answers, and what runs there

    On the machine that runs Shoal nothing needs to be configured: the installation is found through
    SHOAL_HOME or the nearest .shoal folder. Elsewhere use `shoal login`, or set SHOAL_URL and
    SHOAL_TOKEN.

    Exit codes: 0 done, 1 failed, 2 wrong usage, 3 not found. Progress goes to stderr, results to
    stdout; -o json and -o yaml print nothing else there.
    """
    if project_name:
        from shoal.client.discovery import project_option

        chosen = project_option.set(project_name)
        ctx.call_on_close(lambda: project_option.reset(chosen))


COMMANDS = (
    *(up, deploy, init, dev, endpoint, traffic, rollout, experiment, objective),
    *(test, sweep, tune, bench, why_slow, pipeline, requests, logs, proxy, alert, channel, capture),
    autoscale,
    *(capacity, prices, model, environment, online_endpoint, online_deployment),
    *(apply, diff, export, config, operation, op, node, gateway, audit, login, logout),
    *(instance_type, project, user, second_factor, service_account, signing_key),
    *(backup, restore, doctor, support_bundle, completion, version),
)
for command in COMMANDS:
    cli.add_command(command)


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one command and returns its exit code."""
    called_az = Path(sys.argv[0]).name == "az"
    arguments = sys.argv[1:] if argv is None else list(argv)
    try:
        result = az.invoke(arguments) if called_az else _invoke(arguments)
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except (click.Abort, KeyboardInterrupt) as error:
        # click raises its own from what it caught; who waited for a change says that it goes on
        cause = error.__cause__ if isinstance(error, click.Abort) else error
        said = str(cause) if isinstance(cause, KeyboardInterrupt) else ""
        click.echo(said or "Interrupted.", err=True)
        return INTERRUPTED
    except BrokenPipeError:
        # why: the reader (head, less) has gone; Python would complain once more at its exit
        sys.stdout = None
        return FAILURE
    except Exception as error:
        return _failed(error)
    return result if isinstance(result, int) else 0


def _invoke(arguments: list[str]) -> object:
    return cli.main(args=arguments, prog_name="shoal", standalone_mode=False)


def _failed(error: Exception) -> int:
    from shoal.cli.report import report
    from shoal.client.errors import Problem, ShoalError

    if not isinstance(error, ShoalError):
        raise error
    report(error)
    return NOT_FOUND if isinstance(error, Problem) and error.is_not_found else FAILURE


if __name__ == "__main__":
    sys.exit(main())
