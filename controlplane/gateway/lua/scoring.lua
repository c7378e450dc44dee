-- Before a request is routed: the key check and how long it took, the caller's own id if it is one.
-- `check` is joined in front of this file. Only on the way in: a hook on answers costs more
-- than both, so what answers tell (Server-Timing, the id) is written by Envoy's header formatters.
local ffi = require("ffi")
ffi.cdef [[
  typedef struct { long seconds; long nanoseconds; } shoal_time;
  int clock_gettime(int clock, shoal_time* into);
]]
local MONOTONIC = 1
local MAX_ID_CHARS = 40
local read = ffi.new("shoal_time") -- one Lua state per worker thread, and nothing below waits

local function now_us()
  ffi.C.clock_gettime(MONOTONIC, read)
  return tonumber(read.seconds) * 1e6 + tonumber(read.nanoseconds) / 1e3
end

function envoy_on_request(handle)
  local begun = now_us()
  local headers = handle:headers()
  local id = headers:get("x-ms-client-request-id")
  if id ~= nil and (#id > MAX_ID_CHARS or string.match(id, "^[%w_-]+$") == nil) then
    headers:remove("x-ms-client-request-id")
  end
  local refusal, slot = check(handle, headers)
  local metadata = handle:streamInfo():dynamicMetadata()
  metadata:set("shoal", "auth_us", string.format("%d", now_us() - begun))
  if slot ~= nil then
    metadata:set("shoal", "slot", slot) -- limits per key count by it
  end
  if refusal ~= nil then
    handle:respond({ [":status"] = "401", ["www-authenticate"] = 'Bearer realm="shoal"' }, refusal)
  end
end
