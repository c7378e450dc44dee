"""Command line to Settings: ``--flag=value`` and ``--flag value``, as Triton takes them."""

from worker_runtime.cli.build import parse
from worker_runtime.cli.errors import HelpRequested, UsageError
from worker_runtime.cli.help import help_text

__all__ = ["HelpRequested", "UsageError", "help_text", "parse"]
