"""The programs of jobs: ``python -m controlplane.config.jobs worker`` or ``beat``, with the options
of Celery's.

Celery's own program reads its console into each process, and all of Django's models into beat,
which sends names and needs none: 10 MB each, and 20 more.
"""

import logging.config
import sys
from typing import Final

import click
from celery.apps.beat import Beat
from celery.bin.base import CLIContext
from celery.bin.beat import beat
from celery.bin.worker import worker
from django.conf import settings

from controlplane.config.celery import app

PROGRAMS: Final = click.Group(commands={"worker": worker, "beat": beat})


class LightBeat(Beat):
    """Beat that imports no job, hence nothing that jobs work with."""

    def init_loader(self) -> None:
        # why not Django's function: its own loggers would mail pages, made by views and forms
        logging.config.dictConfig(settings.LOGGING)
        app.finalize()


def main() -> None:
    """Does not return: ends the process with the status of the program."""
    app.Beat = app.subclass_with_self(LightBeat)  # type: ignore[misc] # a cached property
    PROGRAMS.main(
        prog_name="controlplane.config.jobs",
        obj=CLIContext(app=app, no_color=not sys.stdout.isatty(), workdir=None),
    )


if __name__ == "__main__":
    main()
