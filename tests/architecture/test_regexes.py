"""No regular expression of ours takes more than linear time, whatever text it is given."""

import re

import pytest

from tests.support.regexes import MOST, SLOW_S, Found, expressions, slowest

# Patterns made of what is not known before: where from, and why that is no stranger's.
AT_RUN_TIME = {
    "controlplane/deployments/rules.py:re.compile(pattern)": "compiled alone: Envoy matches by it",
    "controlplane/core/validation_messages.py:re.compile(rules[0].regex)": "a field's own",
    "shoal/cli/hints.py:re.compile(pattern)": "of the table there",
    "shoal/local/ready.py:re.compile(pattern)": "the supervisor's, over logs of its programs",
    "worker_runtime/core/parameters.py:re.compile(pattern, re.IGNORECASE)": "of a flag, who starts "
    "the runtime",
    "worker_runtime/inspection/explanations.py:re.compile(pattern)": "of _rule's calls, below",
    "worker_runtime/inspection/edits.py:re.fullmatch(f'{name}\\\\s*:\\\\s*{re.escape(place.value)}"
    "\\\\s*[;,]?\\\\s*(#.*)?', line)": "plain text between repeats that begin with other letters",
}
MAKERS = {"rules": ("_rule", "worker_runtime/inspection/explanations.py")}
# Over what people who run the installation wrote, never over what comes by network.
TRUSTED = {
    "controlplane/config/spa.py:INLINE_SCRIPT",
}
# Where the text is cut before: characters.
SHORT = {"worker_runtime/inspection/explanations.py": 1_000}
FOUND, UNREAD = expressions(MAKERS)


def test_every_expression_is_known() -> None:
    assert len(FOUND) > 80
    assert sorted(AT_RUN_TIME) == UNREAD
    assert {one.place for one in FOUND} >= TRUSTED


@pytest.mark.parametrize(
    "found", [one for one in FOUND if one.place not in TRUSTED], ids=lambda one: one.place
)
def test_an_expression_takes_linear_time(found: Found) -> None:
    most = SHORT.get(found.place.partition(":")[0], MOST)
    took, text = slowest(found, most)
    assert took < SLOW_S, f"{found.pattern!r} takes {took:.2f} s for {text}"


@pytest.mark.parametrize(
    ("pattern", "searched"),
    [
        # that of config.pbtxt's strings, which stopped the web process
        (r"""'(?:[^'\\\n]|\\.)*'""", True),
        (r"(a|a)*b", False),
        (r"\s*x?\s*y", False),
        (r"(?m)^\s*name", True),
        (r"[a-z]+@", True),
        (r"<(.*)>(.*)!", False),
    ],
)
def test_the_measure_tells_slow_ones(pattern: str, searched: bool) -> None:
    took, _ = slowest(Found("here", pattern, 0, searched))
    assert took > SLOW_S


@pytest.mark.parametrize("pattern", [r"[a-z]+\d*", r'"[^"\n]*"?', r"(?:a|b)*c?"])
def test_and_lets_others_pass(pattern: str) -> None:
    took, _ = slowest(Found("here", pattern, re.IGNORECASE, searched=True))
    assert took < SLOW_S
