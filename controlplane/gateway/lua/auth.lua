-- Who may call: the SHA-256 of the bearer token must be one of the endpoint's hashes in `lines`.
-- A route that names no endpoint (nobody's) answers by itself. `sha256` and `lines` ("endpoint hash
-- slot", one key each) are joined in front of this file.
local MAX_TOKEN_BYTES = 1024
local opened_by = {} -- endpoint -> hash -> slot
-- endpoint -> header -> slot: what was verified needs no second hash. Only keys that open are in it,
-- in one spelling: no more than there are hashes, whatever strangers send. Other keys are another
-- script, in a new Lua state that remembers nothing: so what is revoked is forgotten with it.
local verified = {}
for endpoint, hash, slot in string.gmatch(lines, "(%S+) (%x+) (%S+)\n") do
  opened_by[endpoint] = opened_by[endpoint] or {}
  opened_by[endpoint][hash] = slot
  verified[endpoint] = verified[endpoint] or {}
end

-- The reason why the request is refused, or nil; and the slot of the key that opened the endpoint.
local function compare(endpoint, authorization)
  if authorization == nil then
    return "No key: send the header 'Authorization: Bearer <key of this endpoint>'."
  end
  local scheme, token = string.match(authorization, "^(%a+)%s+(%S+)%s*$")
  if token == nil or string.lower(scheme) ~= "bearer" or #token > MAX_TOKEN_BYTES then
    return "The Authorization header must read 'Bearer <key of this endpoint>'."
  end
  local keys = opened_by[endpoint]
  local slot = keys and keys[sha256(token)]
  if slot == nil then
    return "This key does not open this endpoint."
  end
  if authorization == "Bearer " .. token then
    verified[endpoint][authorization] = slot
  end
  return nil, slot
end

local function check(handle, headers)
  local pinned = headers:get("azureml-model-deployment")
  if pinned ~= nil and headers:get("x-shoal-deployment") == nil then
    headers:replace("x-shoal-deployment", pinned)
    handle:clearRouteCache()
  end

  local route = handle:metadata()
  local endpoint = route:get("endpoint")
  if endpoint == nil then
    if route:get("keys") == nil then
      return nil
    end
    endpoint = ""
  end
  local authorization = headers:get("authorization")
  local known = verified[endpoint]
  local slot = known and known[authorization]
  if slot ~= nil then
    return nil, slot
  end
  return compare(endpoint, authorization)
end
