"""The gateway's key check, as Envoy gets it, in LuaJIT: headers that no client would send.

Envoy itself stays out: what its objects do with headers is told below, in Lua.
"""

import hashlib
import re
from collections.abc import Iterator
from functools import cache
from typing import Any

from lupa import luajit21 as lua

from controlplane.gateway.keys import LUA_FOLDER, key_check
from tests.fuzz.finding import Finding

KEY, SECOND_KEY, OTHER_KEY = b"key-of-digits", b"second" * 20, b"x" * 1024
LONG_KEY = b"y" * 1025  # longer than any that is looked at: it opens nothing
OPENED_BY = {
    "digits": {KEY: "primary", SECOND_KEY: "secondary"},
    "other": {OTHER_KEY: "primary", LONG_KEY: "secondary"},
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
ENVOY = """
local Headers = {}
Headers.__index = Headers
function Headers:get(name) return self.all[string.lower(name)] end
function Headers:remove(name) self.all[string.lower(name)] = nil end
function Headers:replace(name, value)
  assert(type(value) == "string", "a header's value is text")
  self.all[string.lower(name)] = value
end
return function(on_request, names, values, endpoint, keys)
  local all = {}
  for i = 1, #names do -- lines of one name are one value, with commas
    local before = all[names[i]]
    all[names[i]] = before and before .. "," .. values[i] or values[i]
  end
  local told, answer = {}, nil
  local route = { endpoint = endpoint, keys = keys }
  local headers = setmetatable({ all = all }, Headers)
  on_request({
    headers = function() return headers end,
    clearRouteCache = function() end,
    metadata = function() return { get = function(_, name) return route[name] end } end,
    streamInfo = function()
      return { dynamicMetadata = function()
        return { set = function(_, filter, name, value) told[filter .. "." .. name] = value end }
      end }
    end,
    respond = function(_, head, body)
      assert(answer == nil, "answered twice")
      answer = head[":status"] .. " " .. body
    end,
  })
  return answer, told["shoal.slot"], told["shoal.auth_us"], headers.all
end
"""


@cache
def script() -> tuple[Any, Any, Any, Any]:
    """A Lua state, what asks the script as Envoy does, the script's hook, and its SHA-256."""
    state = lua.LuaRuntime(encoding=None, unpack_returned_tuples=True)
    hashed = {
        endpoint: {hashlib.sha256(key).hexdigest(): slot for key, slot in opened_by.items()}
        for endpoint, opened_by in OPENED_BY.items()
    }
    source = key_check(hashed)["typed_config"]["default_source_code"]["inline_string"]
    state.execute(source.encode())
    sha256 = state.execute((LUA_FOLDER / "sha256.lua").read_bytes())
    return state, state.execute(ENVOY.encode()), state.globals()[b"envoy_on_request"], sha256


def gateway_headers(data: bytes) -> None:
    """One byte for the route, then lines of headers. Let through is who has a key, nobody else."""
    if not data:
        return
    endpoint, keyed = ROUTES[data[0] % len(ROUTES)]
    lines = [line.partition(b":") for line in data[1:].split(b"\n")]
    # why stripped: Envoy does that, and spells names in lower case
    headers = [(name.strip().lower(), value.strip(b" \t")) for name, colon, value in lines if colon]
    state, ask, hook, sha256 = script()
    told = state.table_from({b"a": b"b"}) if keyed else None
    try:
        answer, slot, took_us, after = ask(
            hook,
            state.table_from([name for name, _ in headers]),
            state.table_from([value for _, value in headers]),
            None if endpoint is None else endpoint.encode(),
            told,
        )
    except lua.LuaError as error:
        raise Finding(f"the script fails: {error}") from error
    before: dict[bytes, bytes] = {}
    for name, value in headers:
        before[name] = before[name] + b"," + value if name in before else value
    open_to_all = endpoint is None and not keyed
    _opened(endpoint, before.get(AUTHORIZATION), answer, slot, open_to_all=open_to_all)
    _left(before, dict(after), let_through=answer is None, open_to_all=open_to_all)
    if not took_us.isdigit():
        raise Finding(f"the time is {took_us!r}")
    for value in before.values():
        if sha256(value) != hashlib.sha256(value).hexdigest().encode():
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
    if slot != (None if mine is None else mine.encode()):
        raise Finding(f"{endpoint} and {sent!r}: counted for {slot!r}")
    if answer is not None and not answer.startswith(b"401 "):
        raise Finding(f"refused with {answer!r}")


def _left(
    before: dict[bytes, bytes], after: dict[bytes, bytes], *, let_through: bool, open_to_all: bool
) -> None:
    """What goes on to a replica: no key, an id that is one, the pin, all else as it came."""
    expected = dict(before)
    if OWN_ID in expected and not ID.fullmatch(expected[OWN_ID]):
        del expected[OWN_ID]
    if PINNED in expected:
        expected.setdefault(PIN, expected[PINNED])
    if let_through and not open_to_all:
        del expected[AUTHORIZATION]
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
