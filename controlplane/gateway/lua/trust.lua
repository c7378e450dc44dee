-- Until when the keys above are believed (`trusted_until`, Unix seconds): the agent moves it on as
-- long as it hears from the control plane. Joined behind all others, where that is asked for.
local believed = envoy_on_request
function envoy_on_request(handle)
  if os.time() > trusted_until then
    local reason = "This gateway has not heard from its control plane for too long to trust the keys that it has."
    return handle:respond({ [":status"] = "503", ["retry-after"] = "5" }, reason)
  end
  return believed(handle)
end
