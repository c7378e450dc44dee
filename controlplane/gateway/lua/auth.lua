-- Who may call: the SHA-256 of the bearer token must be one of the endpoint's hashes in `lines`.
-- A route that names no endpoint (nobody's) answers by itself. `sha256` and `lines` ("endpoint hash
-- slot", one key each) are joined in front of this file.
local MAX_TOKEN_BYTES = 1024
local opened_by = {} -- endpoint -> hash -> slot
for endpoint, hash, slot in string.gmatch(lines, "(%S+) (%x+) (%S+)\n") do
  opened_by[endpoint] = opened_by[endpoint] or {}
  opened_by[endpoint][hash] = slot
end

-- The reason why the request is refused, or nil; and the slot of the key that opened the endpoint.
local function check(handle, headers)
  local pinned = headers:get("azureml-model-deployment")
  if pinned ~= nil and headers:get("x-shoal-deployment") == nil then
    headers:replace("x-shoal-deployment", pinned)
    handle:clearRouteCache()
  end

  local route = handle:metadata()
  local endpoint = route:get("endpoint")
  if endpoint == nil and route:get("keys") == nil then
    return nil
  end
  local authorization = headers:get("authorization")
  if authorization == nil then
    return "No key: send the header 'Authorization: Bearer <key of this endpoint>'."
  end
  local scheme, token = string.match(authorization, "^(%a+)%s+(%S+)%s*$")
  if token == nil or string.lower(scheme) ~= "bearer" or #token > MAX_TOKEN_BYTES then
    return "The Authorization header must read 'Bearer <key of this endpoint>'."
  end
  local keys = opened_by[endpoint or ""]
  local slot = keys and keys[sha256(token)]
  if slot == nil then
    return "This key does not open this endpoint."
  end
  headers:remove("authorization")
  return nil, slot
end
