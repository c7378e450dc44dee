"""The gateway's key check, as Envoy gets it, in LuaJIT: headers that no client would send.

Envoy itself stays out: what its objects do with headers is told in `gateway_script`.
"""

import hashlib
import re
from collections.abc import Iterator
from functools import cache
from typing import Any

from controlplane.gateway.keys import NOT_COUNTED
from tests.fuzz.finding import Finding
from tests.support.gateway_script import LuaError, Script, opened_by

KEY, SECOND_KEY, OTHER_KEY = b"key-of-digits", b"second" * 20, b"x" * 1024
LONG_KEY = b"y" * 1025  # longer than any that is looked at: it opens nothing
OPENED_BY = {
    "digits": {KEY: "primary", SECOND_KEY: "secondary"},
    "other": {OTHER_KEY: NOT_COUNTED, LONG_KEY: NOT_COUNTED},
}
# What a route tells the script: endpoint, and whether it has keys as those of an older agent.
ROUTES = (("digits", False), ("other", False), ("gone", False), (None, False), (None, True),
          ("", True))  # fmt: skip
OPENS = re.compile(rb"([A-Za-z]+)[ \t-\r]+([^ \t-\r]+)[ \t-\r]*")
MOST_BYTES = 1024
ID = re.compile(rb"[A-Za-z0-9_-]{1,40}")
AUTHORIZATION, PINNED, PIN, OWN_ID = (
    b"authorization", b"azureml-model-deployment", b"x-shoal-deployment", b"x-ms-client-request-id",
)  # fmt: skip


@cache
def script() -> Script:
    """One for all inputs: what it remembers of one must not let the next one through."""
    return Script(opened_by(OPENED_BY))


def gateway_headers(data: bytes) -> None:
    """One byte for the route, then lines of headers. Let through is who has a key, nobody else."""
    if not data:
        return
    endpoint, keyed = ROUTES[data[0] % len(ROUTES)]
    lines = [line.partition(b":") for line in data[1:].split(b"\n")]
    # why stripped: Envoy does that, and spells names in lower case
    headers = [(name.strip().lower(), value.strip(b" \t")) for name, colon, value in lines if colon]
    try:
        answer, slot, took_us, after = script().ask(endpoint, headers, keyed=keyed)
    except LuaError as error:
        raise Finding(f"the script fails: {error}") from error
    before: dict[bytes, bytes] = {}
    for name, value in headers:
        before[name] = before[name] + b"," + value if name in before else value
    open_to_all = endpoint is None and not keyed
    _opened(endpoint, before.get(AUTHORIZATION), answer, slot, open_to_all=open_to_all)
    _left(before, after)
    if script().remembered()[0] > sum(map(len, OPENED_BY.values())):
        raise Finding("it remembers more than there are keys")
    if not took_us.isdigit():
        raise Finding(f"the time is {took_us!r}")
    for value in before.values():
        if script().sha256(value) != hashlib.sha256(value).hexdigest().encode():
            raise Finding(f"another SHA-256 of {value!r}")


def _opened(
    endpoint: str | None, sent: bytes | None, answer: Any, slot: Any, *, open_to_all: bool
) -> None:
    found = OPENS.fullmatch(sent or b"")
    keys = OPENED_BY.get(endpoint or "", {})
    fits = found and found[1].lower() == b"bearer" and len(found[2]) <= MOST_BYTES
    mine = keys.get(found[2]) if found and fits else None
    if (answer is None) != (open_to_all or mine is not None):
        raise Finding(f"{endpoint} and {sent!r}: answered {answer!r}")
    if slot != (None if mine in (None, NOT_COUNTED) else mine.encode()):
        raise Finding(f"{endpoint} and {sent!r}: counted for {slot!r}")
    if answer is not None and not answer.startswith(b"401 "):
        raise Finding(f"refused with {answer!r}")


def _left(before: dict[bytes, bytes], after: dict[bytes, bytes]) -> None:
    """What goes on to the router, which takes the key away: an id that is one, the pin, all else
    as it came."""
    expected = dict(before)
    if OWN_ID in expected and not ID.fullmatch(expected[OWN_ID]):
        del expected[OWN_ID]
    if PINNED in expected:
        expected.setdefault(PIN, expected[PINNED])
    if after != expected:
        raise Finding(f"{before!r} became {after!r}")


def seeds() -> Iterator[bytes]:
    right = b"authorization: Bearer " + KEY
    lines = (
        right, b"authorization: bearer " + SECOND_KEY, b"Authorization:Bearer\t" + OTHER_KEY,
        b"authorization: Bearer " + KEY + b"\0", b"authorization: Basic " + KEY,
        b"authorization: Bearer " + KEY + b" " + KEY, right + b"\n" + right,
        b"authorization: Bearer " + hashlib.sha256(KEY).hexdigest().encode(),
        b"authorization: Bearer " + LONG_KEY, b"authorization: Bearer %S+", b"authorization:",
        right + b"\nazureml-model-deployment: blue\nx-ms-client-request-id: a-1_b",
        right + b"\nx-shoal-deployment: a\nazureml-model-deployment: b\nx-ms-client-request-id: %",
        b"proxy-authorization: Bearer " + KEY,
    )  # fmt: skip
    for line in lines:
        for route in range(len(ROUTES)):
            yield bytes([route]) + line


DICTIONARY = [
    "authorization: ", "Bearer ", "key-of-digits", "second" * 20, "x" * 1024, "y" * 1025, ",", "\n",
    "\t", "\0",
    "azureml-model-deployment: ", "x-shoal-deployment: ", "x-ms-client-request-id: ", "%S+",
]  # fmt: skip
