"""``--help``: all flags, grouped."""

import textwrap
from collections.abc import Iterator

from worker_runtime.config.flags import GROUPS, Flag
from worker_runtime.config.flags.flag import Kind

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
    text = _meaning(flag)
    if flag.default:
        text += f" [{flag.default}]"
    yield from textwrap.wrap(text, _TEXT_WIDTH, initial_indent="\t", subsequent_indent="\t")


def flags_table() -> str:
    """The same as tables in Markdown, for docs/flags.md."""
    parts = []
    for group in GROUPS:
        if group.title:
            rows = [_row(flag) for flag in group.flags]
            head = f"## {group.title}\n\n| flag | default | meaning |\n|---|---|---|"
            parts.append("\n".join([head, *rows]))
    return "\n\n".join(parts) + "\n"


def _row(flag: Flag) -> str:
    value = "" if flag.kind is Kind.SWITCH else f" <{flag.shape or flag.kind}>"
    shown = f"`--{flag.name}{value}`".replace("|", "\\|")
    text = _meaning(flag).replace("|", "\\|").replace("*", "\\*").replace("<", "&lt;")
    return f"| {shown} | {f'`{flag.default}`' if flag.default else ''} | {text} |"


def _meaning(flag: Flag) -> str:
    text = f"(ours) {flag.text}" if flag.ours else flag.text
    return text if flag.effect else f"{text} (accepted, has no effect)"
