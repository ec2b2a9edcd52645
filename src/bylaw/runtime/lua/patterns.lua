-- Lua patterns implemented in Lua, so that the limit of instructions covers every step.
--
-- A pattern becomes a chain of matchers. Each is a function that takes a position and a depth and
-- returns the position after the match. This module also computes the worst cost of a pattern in
-- C.

-- The number of bytes that are compared in the time of one step.
local BYTES_A_STEP = 16
-- The same limits as in C, so that the same patterns are refused.
local MAX_DEPTH = 200
local MAX_CAPTURES = 32
local MAX_KEPT = 100

local charge, relay = ...
local error, next, pcall, rawset, setmetatable = error, next, pcall, rawset, setmetatable
local byte, char, find, sub = string.byte, string.char, string.find, string.sub
local unpack = table.unpack

-- Only one search runs at a time, and its captures are read before other code runs.
local subject
local starts, stops = {}, {}

-- Sets of bytes ------------------------------------------------------------------------------

-- A set tests each byte once with the C function.
local function set_of(class)
  return setmetatable({}, { __index = function(set, code)
    if code == nil then return false end
    charge(#class)
    local found = find(char(code), class) ~= nil
    rawset(set, code, found)
    return found
  end })
end

local any = setmetatable({}, { __index = function(_, code) return code ~= nil end })

local function set_at(pattern, first, last)
  if first == last then
    local code = byte(pattern, first)
    return code == 46 and any or { [code] = true }
  end
  return set_of(sub(pattern, first, last))
end

-- Matchers -----------------------------------------------------------------------------------

local function deeper(depth)
  if depth >= MAX_DEPTH then error("pattern too complex", 0) end
  return depth + 1
end

local single, matchers = {}, {}

single[0] = function(set, rest)
  return function(at, depth)
    if set[byte(subject, at)] then return rest(at + 1, depth) end
  end
end

local function greedy(least)
  return function(set, rest)
    return function(at, depth)
      if not set[byte(subject, at)] then
        if least == 0 then return rest(at, depth) end
        return nil
      end
      local stop = at + 1
      while set[byte(subject, stop)] do stop = stop + 1 end
      local inner = deeper(depth)
      for try = stop, at + least, -1 do
        local found = rest(try, inner)
        if found then return found end
      end
    end
  end
end

single[42] = greedy(0) -- *
single[43] = greedy(1) -- +

single[45] = function(set, rest) -- -
  return function(at, depth)
    if not set[byte(subject, at)] then return rest(at, depth) end
    local inner = deeper(depth)
    while true do
      local found = rest(at, inner)
      if found then return found end
      if not set[byte(subject, at)] then return nil end
      at = at + 1
    end
  end
end

single[63] = function(set, rest) -- ?
  return function(at, depth)
    if set[byte(subject, at)] then
      local found = rest(at + 1, deeper(depth))
      if found then return found end
    end
    return rest(at, depth)
  end
end

function matchers.single(item, rest) return single[item.times](item.set, rest) end

function matchers.open(item, rest)
  local number, position = item.number, item.position
  return function(at, depth)
    starts[number], stops[number] = at, position
    return rest(at, deeper(depth))
  end
end

function matchers.close(item, rest)
  local number = item.number
  return function(at, depth)
    stops[number] = at
    return rest(at, deeper(depth))
  end
end

function matchers.same(item, rest)
  local number = item.number
  return function(at, depth)
    local start, stop = starts[number], stops[number]
    if stop == "position" then return nil end
    local size = stop - start
    charge(size // BYTES_A_STEP)
    if sub(subject, at, at + size - 1) == sub(subject, start, stop - 1) then
      return rest(at + size, depth)
    end
  end
end

function matchers.balance(item, rest)
  local opening, closing = item.opening, item.closing
  return function(at, depth)
    if byte(subject, at) ~= opening then return nil end
    local nested = 1
    for stop = at + 1, #subject do
      local code = byte(subject, stop)
      if code == closing then
        nested = nested - 1
        if nested == 0 then return rest(stop + 1, depth) end
      elseif code == opening then
        nested = nested + 1
      end
    end
  end
end

function matchers.frontier(item, rest)
  local set = item.set
  return function(at, depth)
    local before = at > 1 and byte(subject, at - 1) or 0
    if not set[before] and set[byte(subject, at) or 0] then return rest(at, depth) end
  end
end

function matchers.last(_, rest)
  return function(at, depth)
    if at > #subject then return rest(at, depth) end
  end
end

-- A mistake in a pattern is an error only when it is reached, as in C.
function matchers.mistake(item)
  return function() error(item.message, 0) end
end

-- Reading patterns -----------------------------------------------------------------------------

local function mistake(message) return { kind = "mistake", message = message } end

-- Return the end of the class that begins at a position, or nil and an error message.
local function class_end(pattern, at)
  local code = byte(pattern, at)
  if code == 37 then
    if at == #pattern then return nil, "malformed pattern (ends with '%')" end
    return at + 1
  elseif code ~= 91 then
    return at
  end
  at = at + (byte(pattern, at + 1) == 94 and 2 or 1)
  repeat
    if at > #pattern then return nil, "malformed pattern (missing ']')" end
    at = at + (byte(pattern, at) == 37 and at < #pattern and 2 or 1)
  until byte(pattern, at) == 93
  return at
end

local readers = {}

local function read_single(pattern, at)
  local last, problem = class_end(pattern, at)
  if not last then return mistake(problem) end
  local times = byte(pattern, last + 1) or 0
  if not single[times] then times = 0 end
  local item = { kind = "single", set = set_at(pattern, at, last), times = times }
  return item, last + (times == 0 and 1 or 2)
end

readers[40] = function(pattern, at, open) -- (
  if open.count >= MAX_CAPTURES then return mistake("too many captures") end
  open.count = open.count + 1
  local position = byte(pattern, at + 1) == 41 and "position" or nil
  open[open.count] = not position
  local item = { kind = "open", number = open.count, position = position }
  return item, at + (position and 2 or 1)
end

readers[41] = function(_, at, open) -- )
  for number = open.count, 1, -1 do
    if open[number] then
      open[number] = false
      return { kind = "close", number = number }, at + 1
    end
  end
  return mistake("invalid pattern capture")
end

readers[36] = function(pattern, at) -- $
  if at < #pattern then return read_single(pattern, at) end
  return { kind = "last" }, at + 1
end

local function read_balance(pattern, at)
  local opening, closing = byte(pattern, at + 2, at + 3)
  if not closing then return mistake("malformed pattern (missing arguments to '%b')") end
  return { kind = "balance", opening = opening, closing = closing }, at + 4
end

local function read_frontier(pattern, at)
  if byte(pattern, at + 2) ~= 91 then return mistake("missing '[' after '%f' in pattern") end
  local last, problem = class_end(pattern, at + 2)
  if not last then return mistake(problem) end
  return { kind = "frontier", set = set_at(pattern, at + 2, last) }, last + 1
end

readers[37] = function(pattern, at, open) -- %
  local code = byte(pattern, at + 1) or 0
  if code == 98 then return read_balance(pattern, at) end
  if code == 102 then return read_frontier(pattern, at) end
  if code < 48 or code > 57 then return read_single(pattern, at) end
  local number = code - 48
  if number == 0 or number > open.count or open[number] then
    return mistake("invalid capture index %" .. number)
  end
  return { kind = "same", number = number }, at + 2
end

local function read(pattern, at, open)
  local items = {}
  while at and at <= #pattern do
    local reader = readers[byte(pattern, at)] or read_single
    items[#items + 1], at = reader(pattern, at, open)
  end
  return items
end

-- The worst cost in C for one position: `factor` times the length of the text to the `power`.
local function weigh(items, size)
  -- Floats, because integers would overflow.
  local power, options, recursions, sound = 0, 1.0, 0, true
  for _, item in next, items do
    local kind, times = item.kind, item.times
    if kind == "mistake" then sound = false end
    if times == 63 then
      options = options * 2
    elseif kind == "same" or kind == "balance" or kind == "single" and times ~= 0 then
      power = power + 1
    end
    if kind == "open" or kind == "close" or kind == "single" and times ~= 0 then
      recursions = recursions + 1
    end
  end
  return power, (power + 1) * options * (size + 1), sound and recursions < MAX_DEPTH
end

local function chain(items)
  local matcher = function(at) return at end
  for place = #items, 1, -1 do
    local item = items[place]
    matcher = matchers[item.kind](item, matcher)
  end
  return matcher
end

local kept, kept_count = {}, 0

local function compiled(pattern)
  local known = kept[pattern]
  if known then return known end
  local anchored = byte(pattern) == 94
  local open = { count = 0 }
  local items = read(pattern, anchored and 2 or 1, open)
  local power, factor, sound = weigh(items, #pattern)
  local whole = true
  for number = 1, open.count do whole = whole and not open[number] end
  known = {
    anchored = anchored, open = open, power = power, factor = factor, sound = sound and whole,
    items = items,
  }
  if kept_count == MAX_KEPT then kept, kept_count = {}, 0 end
  kept[pattern], kept_count = known, kept_count + 1
  return known
end

-- Searching ------------------------------------------------------------------------------------

local function search(pattern, from)
  if not pattern.matcher then pattern.matcher = chain(pattern.items) end
  local matcher = pattern.matcher
  for start = from, pattern.anchored and from or #subject + 1 do
    local stop = matcher(start, 1)
    if stop then return start, stop end
  end
end

-- Return the start of the first match from a position on, and the position after the match.
local function look(pattern, string, from)
  subject = string
  if pattern.sound then return search(pattern, from) end
  return relay(pcall(search, pattern, from))
end

-- Return a capture of the last match; the first one is the complete match if there are none.
local function capture(pattern, number, start, stop)
  local open = pattern.open
  if number > open.count then
    if number > 1 then error("invalid capture index %" .. number, 0) end
    return sub(subject, start, stop - 1)
  end
  if open[number] then error("unfinished capture", 0) end
  if stops[number] == "position" then return starts[number] end
  return sub(subject, starts[number], stops[number] - 1)
end

local function captures(pattern, start, stop, least)
  local values, count = {}, pattern.open.count
  if count < least then count = least end
  for number = 1, count do values[number] = capture(pattern, number, start, stop) end
  return unpack(values, 1, count)
end

return { compiled = compiled, look = look, capture = capture, captures = captures }
