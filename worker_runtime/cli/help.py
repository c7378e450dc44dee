"""``--help``: all flags, grouped."""

import textwrap
from collections.abc import Iterator

from worker_runtime.flags import GROUPS, Flag
from worker_runtime.flags.flag import Kind

_TEXT_WIDTH = 84


def help_text() -> str:
    lines = ["Usage: python -m worker_runtime --model-repository <string> [options]"]
    for group in GROUPS:
        lines.extend(("", f"{group.title}:") if group.title else ())
        for flag in group.flags:
            lines.extend(_lines(flag))
    return "\n".join(lines) + "\n"


def _lines(flag: Flag) -> Iterator[str]:
    value = "" if flag.kind is Kind.SWITCH else f" <{flag.shape or flag.kind}>"
    yield f"  --{flag.name}{value}"
    text = f"(ours) {flag.text}" if flag.ours else flag.text
    if not flag.effect:
        text += " (accepted, has no effect)"
    if flag.default:
        text += f" [{flag.default}]"
    yield from textwrap.wrap(text, _TEXT_WIDTH, initial_indent="\t", subsequent_indent="\t")
