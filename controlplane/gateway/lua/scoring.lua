-- Before a request is routed: the key check and how long it took, the caller's own id if it is one.
-- `check` and `NOT_COUNTED` are joined in front of this file. Only on the way in: a hook on answers costs more
-- than both, so what answers tell (Server-Timing, the id) is written by Envoy's header formatters.
local ffi = require("ffi")
-- why in halves: reading 64 bits makes an object. The upper ones are zero; all machines that Envoy
-- is built for have the lower half first.
ffi.cdef [[
  typedef struct { uint32_t seconds, unused; uint32_t nanoseconds, unused_too; } shoal_time;
  int clock_gettime(int clock, shoal_time* into);
]]
local MONOTONIC = 1
local MAX_ID_CHARS = 40
local clock_gettime = ffi.C.clock_gettime
local read = ffi.new("shoal_time") -- one Lua state per worker thread, and nothing below waits

local function now_us()
  clock_gettime(MONOTONIC, read)
  return read.seconds * 1e6 + read.nanoseconds / 1e3
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
  if slot ~= nil and slot ~= NOT_COUNTED then
    metadata:set("shoal", "slot", slot) -- limits per key count by it
  end
  if refusal ~= nil then
    handle:respond({ [":status"] = "401", ["www-authenticate"] = 'Bearer realm="shoal"' }, refusal)
  end
end
