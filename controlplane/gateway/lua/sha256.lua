-- SHA-256 of a string as lower-case hex (FIPS 180-4), on LuaJIT's bit operations.
-- Envoy's Lua offers no hash; one worker thread owns one Lua state, so the schedule table is reused.
local bit = require("bit")
local band, bnot, bxor = bit.band, bit.bnot, bit.bxor
local ror, rshift, tobit, tohex = bit.ror, bit.rshift, bit.tobit, bit.tohex
local byte, char, rep = string.byte, string.char, string.rep

local K = {
  0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
  0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
  0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
  0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
  0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
  0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
  0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
  0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
}
local W = {}

local function be32(n)
  return char(band(rshift(n, 24), 255), band(rshift(n, 16), 255), band(rshift(n, 8), 255), band(n, 255))
end

return function(message)
  local length = #message
  message = message .. "\128" .. rep("\0", (55 - length) % 64) .. be32(0) .. be32(length * 8)
  local h1, h2, h3, h4 = 0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a
  local h5, h6, h7, h8 = 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19
  for block = 1, #message, 64 do
    for i = 1, 16 do
      local b1, b2, b3, b4 = byte(message, block + 4 * i - 4, block + 4 * i - 1)
      W[i] = tobit(b1 * 0x1000000 + b2 * 0x10000 + b3 * 0x100 + b4)
    end
    for i = 17, 64 do
      local w15, w2 = W[i - 15], W[i - 2]
      local s0 = bxor(ror(w15, 7), ror(w15, 18), rshift(w15, 3))
      local s1 = bxor(ror(w2, 17), ror(w2, 19), rshift(w2, 10))
      W[i] = tobit(W[i - 16] + s0 + W[i - 7] + s1)
    end
    local a, b, c, d, e, f, g, h = h1, h2, h3, h4, h5, h6, h7, h8
    for i = 1, 64 do
      local s1 = bxor(ror(e, 6), ror(e, 11), ror(e, 25))
      local choice = bxor(band(e, f), band(bnot(e), g))
      local t1 = tobit(h + s1 + choice + K[i] + W[i])
      local s0 = bxor(ror(a, 2), ror(a, 13), ror(a, 22))
      local majority = bxor(band(a, b), band(a, c), band(b, c))
      h, g, f, e = g, f, e, tobit(d + t1)
      d, c, b, a = c, b, a, tobit(t1 + s0 + majority)
    end
    h1, h2, h3, h4 = tobit(h1 + a), tobit(h2 + b), tobit(h3 + c), tobit(h4 + d)
    h5, h6, h7, h8 = tobit(h5 + e), tobit(h6 + f), tobit(h7 + g), tobit(h8 + h)
  end
  return tohex(h1) .. tohex(h2) .. tohex(h3) .. tohex(h4) .. tohex(h5) .. tohex(h6) .. tohex(h7) .. tohex(h8)
end
