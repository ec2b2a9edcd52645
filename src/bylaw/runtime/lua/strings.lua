-- The string functions whose cost can grow: limited before they start, or counted.
-- The worst cost of a pattern in C is known. If it fits into the allowance, C does the work.

-- The allowance: steps that C may take for patterns in one run of a script.
local MAX_FAST_STEPS = 5e7
local MAX_TEXT = 8 << 20
local BYTES_A_STEP = 16

local patterns, charge, relay, refuse, tostring = ...
local compiled, look, capture, captures =
  patterns.compiled, patterns.look, patterns.capture, patterns.captures
local pcall, select, tointeger, tonumber, type =
  pcall, select, math.tointeger, tonumber, type
local byte, find, format, gmatch, gsub, match, rep, sub =
  string.byte, string.find, string.format, string.gmatch, string.gsub, string.match, string.rep,
  string.sub
local concat, pack, unpack = table.concat, table.pack, table.unpack

local function bad_argument(number, name, problem)
  refuse("bad argument #" .. number .. " to '" .. name .. "' (" .. problem .. ")")
end

local function text(value, number, name)
  local kind = type(value)
  if kind == "string" then return value end
  if kind == "number" then return tostring(value) end
  bad_argument(number, name, "string expected, got " .. kind)
end

local function integer(value, default, number, name)
  if value == nil and default then return default end
  local whole = tointeger(tonumber(value))
  if whole then return whole end
  bad_argument(number, name, tonumber(value) and "number has no integer representation"
    or "number expected, got " .. type(value))
end

-- A position as C counts it: a negative one counts from the end.
local function place(init, size)
  if init > 0 then return init end
  if init == 0 or init < -size then return 1 end
  return size + init + 1
end

local allowance = MAX_FAST_STEPS

local function afford(steps)
  if steps > allowance then return false end
  allowance = allowance - steps
  return true
end

local function fast(pattern, size, tries)
  if pattern.anchored then tries = 1 end
  return pattern.sound and afford(pattern.factor * (size + 1.0) ^ pattern.power * tries)
end

local strings = {}

-- Patterns -------------------------------------------------------------------------------------

local function read_captures(pattern, start, stop, least)
  if pattern.sound then return captures(pattern, start, stop, least) end
  return relay(pcall(captures, pattern, start, stop, least))
end

local function slow_find(pattern, s, from)
  local start, stop = look(pattern, s, from)
  if not start then return nil end
  return start, stop - 1, read_captures(pattern, start, stop, 0)
end

function strings.find(s, p, init, plain)
  s, p = text(s, 1, "find"), text(p, 2, "find")
  init = place(integer(init, 1, 3, "find"), #s)
  if init > #s + 1 then return nil end
  if plain or not find(p, "[%^%$%*%+%?%.%(%[%%%-]") then
    if afford((#s + 1.0) * (#p + 1) / BYTES_A_STEP) then return find(s, p, init, true) end
    p = gsub(p, "%W", "%%%0")
  end
  local pattern, size = compiled(p), #s + 1 - init
  if fast(pattern, size, size + 1) then return find(s, p, init) end
  return slow_find(pattern, s, init)
end

function strings.match(s, p, init)
  s, p = text(s, 1, "match"), text(p, 2, "match")
  init = place(integer(init, 1, 3, "match"), #s)
  if init > #s + 1 then return nil end
  local pattern, size = compiled(p), #s + 1 - init
  if fast(pattern, size, size + 1) then return match(s, p, init) end
  local start, stop = look(pattern, s, init)
  if not start then return nil end
  return read_captures(pattern, start, stop, 1)
end

function strings.gmatch(s, p, init)
  s, p = text(s, 1, "gmatch"), text(p, 2, "gmatch")
  local at, last = place(integer(init, 1, 3, "gmatch"), #s), nil
  -- `gmatch` has no anchor: a `^` at the start is an ordinary character.
  if byte(p) == 94 then p = "%" .. p end
  local pattern = compiled(p)
  local quick, advance = fast(pattern, #s, 2 * #s + 2), nil
  local function told(start, finish, ...)
    if not start then
      at = #s + 2
      return
    elseif finish + 1 == last then -- skip an empty match directly after the last match
      at = start + 1
      return advance()
    end
    at, last = finish + 1, finish + 1
    if select("#", ...) == 0 then return sub(s, start, finish) end
    return ...
  end
  function advance()
    if at > #s + 1 then return end
    if quick then return told(find(s, p, at)) end
    return told(slow_find(pattern, s, at))
  end
  return advance
end

local function expanded(repl, pattern, start, stop, whole)
  return (gsub(repl, "%%(.?)", function(code)
    if code == "%" then return "%" end
    if code == "0" then return whole end
    if not find(code, "%d") then refuse("invalid use of '%' in replacement string") end
    return relay(pcall(capture, pattern, tonumber(code), start, stop))
  end))
end

local function replacement(repl, pattern, start, stop, whole)
  local kind, value = type(repl), nil
  if kind == "string" then return expanded(repl, pattern, start, stop, whole) end
  if kind == "table" then
    value = repl[relay(pcall(capture, pattern, 1, start, stop))]
  else
    value = repl(read_captures(pattern, start, stop, 1))
  end
  if not value then return whole end
  if type(value) == "string" or type(value) == "number" then return value end
  refuse("invalid replacement value (a " .. type(value) .. ")")
end

local function replaced(s, pattern, repl, max)
  local pieces, at, last, count = {}, 1, nil, 0
  while count < max do
    local start, stop = look(pattern, s, at)
    if not start or stop == last and start > #s then break end
    pieces[#pieces + 1] = sub(s, at, stop == last and start or start - 1)
    if stop == last then
      at = start + 1
    else
      count = count + 1
      pieces[#pieces + 1] = replacement(repl, pattern, start, stop, sub(s, start, stop - 1))
      at, last = stop, stop
    end
    if pattern.anchored then break end
  end
  pieces[#pieces + 1] = sub(s, at)
  return concat(pieces), count
end

function strings.gsub(s, p, repl, max)
  s, p = text(s, 1, "gsub"), text(p, 2, "gsub")
  local kind = type(repl)
  if kind == "number" then repl, kind = tostring(repl), "string" end
  if kind ~= "string" and kind ~= "table" and kind ~= "function" then
    bad_argument(3, "gsub", "string/function/table expected, got " .. kind)
  end
  max = integer(max, #s + 1, 4, "gsub")
  local pattern = compiled(p)
  if kind == "string" and fast(pattern, #s, 2 * #s + 2) then
    return relay(pcall(gsub, s, p, repl, max))
  end
  return replaced(s, pattern, repl, max)
end

-- Building strings -------------------------------------------------------------------------------

function strings.rep(s, n, separator)
  s, n = text(s, 1, "rep"), integer(n, nil, 2, "rep")
  separator = separator == nil and "" or text(separator, 3, "rep")
  local size = (#s + #separator + 0.0) * n
  if size <= 0 then return "" end
  if size > MAX_TEXT then refuse("resulting string too large") end
  charge(size // BYTES_A_STEP)
  return rep(s, n, separator)
end

-- `%s` prints a table as "table" and `%p` is refused: addresses differ from run to run.
function strings.format(form, ...)
  form = text(form, 1, "format")
  local values, number = pack(...), 0
  for conversion in gmatch(form, "%%[-+ #0-9.]*(.?)") do
    if conversion == "p" then refuse("invalid conversion '%p' to 'format'") end
    if conversion ~= "%" then number = number + 1 end
    if conversion == "s" and number <= values.n then values[number] = tostring(values[number]) end
  end
  return relay(pcall(format, form, unpack(values, 1, values.n)))
end

return strings
