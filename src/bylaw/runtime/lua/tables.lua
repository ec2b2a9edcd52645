-- Functions that read or change tables: in a fixed order, and counted.

local MOVES_A_STEP = 4
local MAX_RESULTS = 10000

local charge, relay, refuse = ...
local next, pcall, select, tonumber, type = next, pcall, select, tonumber, type
local insert, remove, sort, unpack = table.insert, table.remove, table.sort, table.unpack
local integer_or_float = math.type

local tables = {}

-- For distinct strings or integers, whose order does not depend on the sort algorithm.
local function sort_plainly(values)
  local count = #values
  local cost, size = count, count
  while size > 1 do size, cost = size // 2, cost + count end
  charge(cost)
  sort(values)
end

local function check_table(value, name)
  if type(value) ~= "table" then
    refuse("bad argument #1 to '" .. name .. "' (table expected, got " .. type(value) .. ")")
  end
end

local function sorted_keys(t)
  local keys, texts = {}, {}
  for key in next, t do
    local kind = type(key)
    if kind == "string" then
      texts[#texts + 1] = key
    elseif kind == "number" then
      keys[#keys + 1] = key
    elseif kind ~= "boolean" then
      refuse("a key that is a " .. kind .. " has no order")
    end
  end
  sort_plainly(keys)
  sort_plainly(texts)
  for place = 1, #texts do keys[#keys + 1] = texts[place] end
  if t[false] ~= nil then keys[#keys + 1] = false end
  if t[true] ~= nil then keys[#keys + 1] = true end
  return keys
end

function tables.pairs(t)
  check_table(t, "pairs")
  local keys, place = sorted_keys(t), 0
  return function()
    local key, value
    repeat
      place = place + 1
      key = keys[place]
      if key == nil then return nil end
      value = t[key]
    until value ~= nil
    return key, value
  end, t, nil
end

local RANK = { number = 1, string = 2, boolean = 3 }

local function before(a, b)
  local kind = type(a)
  if kind ~= type(b) then return RANK[kind] < RANK[type(b)] end
  if kind == "boolean" then return b and not a end
  return a < b
end

function tables.next(t, key)
  check_table(t, "next")
  local found
  for other in next, t do
    if not RANK[type(other)] then refuse("a key that is a " .. type(other) .. " has no order") end
    if (key == nil or before(key, other)) and (found == nil or before(other, found)) then
      found = other
    end
  end
  if found ~= nil then return found, t[found] end
  return nil
end

-- Values after a position are moved; one step covers a few of them.
local function charge_moving(t, place)
  local count = #t - (tonumber(place) or 0)
  if count > 0 then charge(count // MOVES_A_STEP) end
end

function tables.insert(t, ...)
  check_table(t, "insert")
  if select("#", ...) == 1 then
    t[#t + 1] = ...
    return
  end
  charge_moving(t, (...))
  return relay(pcall(insert, t, ...))
end

function tables.remove(t, ...)
  check_table(t, "remove")
  if select("#", ...) > 0 then charge_moving(t, (...)) end
  return relay(pcall(remove, t, ...))
end

function tables.unpack(t, first, last)
  check_table(t, "unpack")
  local size = (tonumber(last) or #t) + 1.0 - (tonumber(first) or 1)
  if size > MAX_RESULTS then refuse("too many results to unpack") end
  if size > 0 then charge(size // 1) end
  return relay(pcall(unpack, t, first, last))
end

local function compare(a, b) return a < b end

-- Check whether C may sort; raise an error if the values have no order.
local function sorts_plainly(t, count)
  local kind, plain = type(t[1]), true
  for place = 1, count do
    local value = t[place]
    local other = type(value)
    if other ~= kind then refuse("attempt to compare " .. kind .. " with " .. other) end
    plain = plain and (kind == "string" or integer_or_float(value) == "integer")
  end
  if count > 1 and kind ~= "string" and kind ~= "number" then
    refuse("attempt to compare two " .. kind .. " values")
  end
  return plain
end

local function merged(from, to, low, middle, high, order)
  local left, right = low, middle
  for place = low, high - 1 do
    if left < middle and (right >= high or not order(from[right], from[left])) then
      to[place], left = from[left], left + 1
    else
      to[place], right = from[right], right + 1
    end
  end
end

-- A stable merge sort: Lua's own sort uses the clock to choose its pivot.
function tables.sort(t, order)
  check_table(t, "sort")
  local count = #t
  if order == nil then
    if sorts_plainly(t, count) then return sort_plainly(t) end
    order = compare
  elseif type(order) ~= "function" then
    refuse("bad argument #2 to 'sort' (function expected, got " .. type(order) .. ")")
  end
  local from, to, width = {}, {}, 1
  for place = 1, count do from[place] = t[place] end
  while width < count do
    for low = 1, count, 2 * width do
      local middle, high = low + width, low + 2 * width
      if middle > count + 1 then middle = count + 1 end
      if high > count + 1 then high = count + 1 end
      merged(from, to, low, middle, high, order)
    end
    from, to, width = to, from, 2 * width
  end
  for place = 1, count do t[place] = from[place] end
end

return tables
