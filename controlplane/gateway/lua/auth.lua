-- Who may call: the SHA-256 of the bearer token must be one of the hashes in the route's metadata.
-- A route without "keys" (nobody's endpoint) answers by itself. `sha256` is joined in front of this file.
local MAX_TOKEN_BYTES = 1024

-- The reason why the request is refused, or nil; and the slot of the key that opened the endpoint.
local function check(handle, headers)
  local pinned = headers:get("azureml-model-deployment")
  if pinned ~= nil and headers:get("x-shoal-deployment") == nil then
    headers:replace("x-shoal-deployment", pinned)
    handle:clearRouteCache()
  end

  local keys = handle:metadata():get("keys")
  if keys == nil then
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
  local slot = keys[sha256(token)]
  if slot == nil then
    return "This key does not open this endpoint."
  end
  headers:remove("authorization")
  return nil, slot
end
