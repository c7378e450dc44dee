"""Command line to Settings: ``--flag=value`` and ``--flag value``, as Triton takes them."""

from worker_runtime.config.arguments import HelpRequested, UsageError
from worker_runtime.config.build import parse
from worker_runtime.config.help import help_text

__all__ = ["HelpRequested", "UsageError", "help_text", "parse"]
