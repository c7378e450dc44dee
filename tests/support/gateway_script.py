"""The gateway's key check, as Envoy gets it, in LuaJIT. What Envoy's objects do is told below."""

from collections.abc import Sequence
from hashlib import sha256
from typing import NamedTuple

from lupa import luajit21 as lua

from controlplane.gateway.keys import LUA_FOLDER, Keys, key_check

Headers = Sequence[tuple[bytes, bytes]]
LuaError = lua.LuaError
_ENVOY = """
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
# What is local to the script: counts its hashes, and what it remembers of each endpoint.
_INSIDE = """
local function found(of, name)
  for i = 1, 99 do
    local known, value = debug.getupvalue(of, i)
    assert(known, "the script has no " .. name .. " any more")
    if known == name then return value, i end
  end
end
return function(on_request)
  local check = found(on_request, "check")
  local verified, compare = found(check, "verified"), found(check, "compare")
  local sha256, place = found(compare, "sha256")
  local hashes = 0
  debug.setupvalue(compare, place, function(text)
    hashes = hashes + 1
    return sha256(text)
  end)
  return function() return hashes end, function()
    local entries, bytes = 0, 0
    for _, known in pairs(verified) do
      for header in pairs(known) do entries, bytes = entries + 1, bytes + #header end
    end
    return entries, bytes
  end
end
"""


class Answer(NamedTuple):
    """``refusal``: status and text, or None; ``headers``: what goes on to the router."""

    refusal: bytes | None
    slot: bytes | None
    took_us: bytes
    headers: dict[bytes, bytes]


class Script:
    """One Lua state of one worker of Envoy, which asks for ``keys``."""

    def __init__(self, keys: Keys) -> None:
        self._state = lua.LuaRuntime(encoding=None, unpack_returned_tuples=True)
        source = key_check(keys)["typed_config"]["default_source_code"]["inline_string"]
        self._state.execute(source.encode())
        self._envoy = self._state.execute(_ENVOY.encode())
        self._hook = self._state.globals()[b"envoy_on_request"]
        self.sha256 = self._state.execute((LUA_FOLDER / "sha256.lua").read_bytes())
        self._hashes, self._remembered = self._state.execute(_INSIDE.encode())(self._hook)

    def ask(self, endpoint: str | None, headers: Headers, *, keyed: bool = False) -> Answer:
        """Of a route that names ``endpoint``; ``keyed``: one that has keys, as of older agents.

        Raises LuaError.
        """
        answer, slot, took_us, after = self._envoy(
            self._hook,
            self._state.table_from([name for name, _ in headers]),
            self._state.table_from([value for _, value in headers]),
            None if endpoint is None else endpoint.encode(),
            self._state.table_from({b"a": b"b"}) if keyed else None,
        )
        return Answer(answer, slot, took_us, dict(after))

    def hashes(self) -> int:
        """How many keys it has hashed."""
        return int(self._hashes())

    def remembered(self) -> tuple[int, int]:
        """How many headers that opened something, and their bytes."""
        entries, size = self._remembered()
        return int(entries), int(size)


def opened_by(keys: dict[str, dict[bytes, str]]) -> dict[str, dict[str, str]]:
    """Endpoint -> SHA-256 -> slot, of keys in clear."""
    return {
        endpoint: {sha256(key).hexdigest(): slot for key, slot in known.items()}
        for endpoint, known in keys.items()
    }
