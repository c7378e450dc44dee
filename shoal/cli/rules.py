"""Rules by header and what clients are told apart by, as commands spell them."""

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

import click

RULE: Final = "HEADER=VALUE->DEPLOYMENT"
STICKY: Final = "header=NAME|cookie=NAME|none"
SIGNS: Final = {"=": "exact", "^=": "prefix", "~": "regex"}
ASKED: Final = re.compile(r"\s*([A-Za-z0-9_-]+)\s*(?:(=|\^=|~)\s*(.*))?", re.DOTALL)


def rules_of(expressions: Iterable[str]) -> list[dict[str, Any]]:
    return [_rule(expression) for expression in expressions]


def _rule(expression: str) -> dict[str, Any]:
    left, arrow, deployment = expression.rpartition("->")
    asked = ASKED.fullmatch(left)
    if not arrow or not deployment.strip() or asked is None:
        raise click.BadParameter(
            f"{expression!r}: expected {RULE}, or ^= for a prefix, ~ for a regular expression, "
            "or the header alone for any value",
            param_hint="--rule",
        )
    header, sign, value = asked.groups()
    said = {SIGNS[sign]: value.strip()} if sign else {"present": True}
    return {"header": header, **said, "deployment": deployment.strip()}


def rule_text(rule: Mapping[str, Any]) -> str:
    """As ``--rule`` takes it."""
    said = [f"{sign}{rule[kind]}" for sign, kind in SIGNS.items() if kind in rule]
    return f"{rule['header']}{''.join(said)}->{rule['deployment']}"


def sticky_of(text: str, max_age_s: int | None) -> dict[str, Any]:
    kind, sign, name = text.partition("=")
    if text == "none" and max_age_s is None:
        return {}
    if kind not in ("header", "cookie") or not sign or not name:
        raise click.BadParameter(f"{text!r}: expected {STICKY}", param_hint="--sticky")
    lifetime = {} if max_age_s is None else {"max_age_s": max_age_s}
    return {kind: name, **lifetime}


def sticky_text(sticky: Mapping[str, Any] | None) -> str | None:
    if not sticky:
        return None
    if "header" in sticky:
        return f"by header {sticky['header']}"
    return f"by cookie {sticky['cookie']}, for {sticky['max_age_s']} s"
