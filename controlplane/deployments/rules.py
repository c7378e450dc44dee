"""Pure: rules that send requests with a header to a deployment, before the shares have a say."""

import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final

from controlplane.deployments.errors import RuleInvalid

FIELD: Final = "traffic_rules"
MOST_RULES: Final = 16
LONGEST_NAME: Final = 64
LONGEST_VALUE: Final = 128
KINDS: Final = ("exact", "prefix", "regex", "present")
NAME: Final = re.compile(r"[a-z0-9][a-z0-9_-]*")
COOKIE_NAME: Final = re.compile(r"[A-Za-z0-9_-]+")
VALUE: Final = re.compile(r"[!-~](?:[ -~]*[!-~])?")
# Keys and sessions: who may change traffic, and watch who answers, could find them out bit by bit.
SECRET: Final = frozenset({"authorization", "proxy-authorization", "cookie", "set-cookie"})
# Of one connection or of the message's framing: they say nothing about who asks.
OF_CONNECTION: Final = frozenset(
    {
        "connection", "content-length", "expect", "host", "keep-alive", "proxy-authenticate",
        "proxy-connection", "te", "trailer", "transfer-encoding", "upgrade",
    }
)  # fmt: skip
OURS: Final = ("x-shoal-", "x-envoy-")
PIN: Final = "azureml-model-deployment"

# What Python and Envoy's RE2 read alike, and whose program in RE2 stays below Envoy's limit
# (gateway.bootstrap.MAX_REGEX_PROGRAM): no counts, which make it many times as long as the text.
_UNLIKE: Final = (
    (re.compile(r"\(\?(?!:)"), "groups that begin with (?, other than (?:...)"),
    (re.compile(r"[{}]"), "counts or braces ({n}): repeat it in the text, or use + and *"),
    (
        re.compile(r"\\[^dwsDWSbB\-\]\[().*+?|^$/\\@:,=!#%&~;<>'\" ]"),
        "escapes other than \\d, \\w, \\s, \\b, their opposites and punctuation",
    ),
    (
        re.compile(r"\[\[|\[:|[*+?]\+|--|&&|~~|\|\|"),
        "classes in classes, possessive repeats, or --, &&, ~~, || in a row",
    ),
)


def header_problem(name: str) -> str | None:
    """Why requests cannot be told apart by the header ``name`` (lower case); None when they can."""
    if len(name) > LONGEST_NAME or NAME.fullmatch(name) is None:
        return (
            f"{name!r} is no name of a header: expected 1 to {LONGEST_NAME} of a-z, 0-9, - and _, "
            "and a letter or digit first."
        )
    if name in SECRET:
        return f"{name} carries keys or sessions, by which nobody is routed: use another header."
    if name in OF_CONNECTION:
        return f"{name} is of the connection, not of who asks: use a header that clients choose."
    if name.startswith(OURS) or name == PIN:
        return f"{name} is the gateway's own: use a header that clients choose."
    return None


def cookie_problem(name: str) -> str | None:
    if len(name) > LONGEST_NAME or COOKIE_NAME.fullmatch(name) is None:
        return (
            f"{name!r} is no name of a cookie: expected 1 to {LONGEST_NAME} of A-Z, a-z, 0-9, - "
            "and _."
        )
    return None


def value_problem(kind: str, value: str) -> str | None:
    """Why no header's value is compared with ``value``; ``kind``: exact, prefix or regex."""
    if len(value) > LONGEST_VALUE or VALUE.fullmatch(value) is None:
        return (
            f"{value!r} cannot be compared with: expected 1 to {LONGEST_VALUE} printable ASCII "
            "characters, without a space at either end."
        )
    return expression_problem(value) if kind == "regex" else None


def expression_problem(pattern: str) -> str | None:
    """Why Envoy might not take ``pattern``, or read it in another way than written here."""
    for unlike, what in _UNLIKE:
        if unlike.search(pattern):
            return f"{pattern!r} has {what}; expected an expression that RE2 knows."
    try:
        re.compile(pattern)
    except (re.error, RecursionError) as error:
        return f"{pattern!r} is no regular expression: {error}."
    return None


def rules_check(
    rules: Sequence[Mapping[str, Any]],
    before: Sequence[Mapping[str, Any]],
    *,
    deployments: Collection[str],
    unready: Mapping[str, str],
) -> list[dict[str, Any]]:
    """``rules``, whose shapes are checked already. Raises RuleInvalid.

    ``unready`` says which deployments may not get requests, and why; rules of ``before`` stay.
    """
    if len(rules) > MOST_RULES:
        raise RuleInvalid(f"{len(rules)} rules: expected at most {MOST_RULES}.", field=FIELD)
    held = {_asked(rule): place for place, rule in reversed(list(enumerate(rules)))}
    for place, rule in enumerate(rules):
        name = rule["deployment"]
        if name not in deployments:
            known = ", ".join(sorted(deployments)) or "none yet"
            raise RuleInvalid(
                f"Rule {place + 1}: there is no deployment {name}; the endpoint has {known}.",
                field=FIELD,
            )
        if held[_asked(rule)] != place:
            raise RuleInvalid(
                f"Rule {place + 1} asks for the same as rule {held[_asked(rule)] + 1}, which comes "
                "first: no request would ever come to it.",
                field=FIELD,
            )
        if name in unready and rule not in before:
            raise RuleInvalid(
                f"Rule {place + 1}: {name} {unready[name]}.",
                field=FIELD,
                hints=("Wait until it is Succeeded and has a ready replica, or see why not.",),
            )
    return [dict(rule) for rule in rules]


def rules_without(rules: Sequence[Mapping[str, Any]], gone: str) -> list[dict[str, Any]]:
    """What remains of them once the deployment ``gone`` is leaving."""
    return [dict(rule) for rule in rules if rule["deployment"] != gone]


def rules_naming(rules: Sequence[Mapping[str, Any]], deployment: str) -> str:
    """Those that send requests to it, as people read them; empty where none does."""
    return "; ".join(rule_text(rule) for rule in rules if rule["deployment"] == deployment)


def rule_text(rule: Mapping[str, Any]) -> str:
    """As people read it: ``x-group = testers -> green``."""
    header, signs = rule["header"], {"exact": "=", "prefix": "^=", "regex": "~"}
    asked = next((f"{header} {sign} {rule[kind]}" for kind, sign in signs.items() if kind in rule),
                 header)  # fmt: skip
    return f"{asked} -> {rule['deployment']}"


def _asked(rule: Mapping[str, Any]) -> tuple[Any, ...]:
    return (rule["header"], *(rule.get(kind) for kind in KINDS))
