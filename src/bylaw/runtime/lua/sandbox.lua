-- Run one script with its context. Every run has its own Lua runtime.
--
-- A script can use only `environment`. It is stopped after a number of instructions. Functions
-- whose cost is not visible as instructions are charged separately. Nothing that a script sees
-- depends on addresses, time or chance.

local MAX_INSTRUCTIONS = 10000000
-- Limit for the charged steps of C functions.
local MAX_WORK = 10000000
local MAX_MESSAGE = 1000

local OUT_OF_STEPS = "the script took more than " .. MAX_INSTRUCTIONS .. " steps"
-- The message of Lua itself.
local OUT_OF_MEMORY = "not enough memory"

local tables_code, patterns_code, strings_code = ...
local error, load, next, pcall, select, tostring, type =
  error, load, next, pcall, select, tostring, type
local sethook, getinfo = debug.sethook, debug.getinfo
local byte, sub = string.byte, string.sub

-- Errors and limits ------------------------------------------------------------------------------

local spent = false
local work = 0

local function stop()
  spent = true
  error(OUT_OF_STEPS, 0)
end

local function charge(steps)
  work = work + steps
  if work > MAX_WORK then stop() end
end

-- The current line of the script, for errors in functions that it called.
local function where()
  local level = 2
  local info = getinfo(level, "Sl")
  while info do
    if info.source == "=script" then return "script:" .. info.currentline .. ": " end
    level = level + 1
    info = getinfo(level, "Sl")
  end
  return ""
end

local function refuse(message) error(where() .. message, 0) end

-- Whether an error ends the script even if the script would catch it.
local function final(problem) return spent or problem == OUT_OF_MEMORY end

-- Pass on the results of a `pcall`; an error is raised again at the line of the script.
local function relay(ok, ...)
  if ok then return ... end
  local problem = ...
  if final(problem) or type(problem) ~= "string" then error(problem, 0) end
  refuse(problem)
end

local function caught(ok, ...)
  if ok or not final((...)) then return ok, ... end
  error((...), 0)
end

local function safe_pcall(f, ...) return caught(pcall(f, ...)) end

-- The handler runs after the error was caught, so that all limits apply to it.
local function handled(handler, ok, ...)
  if ok then return true, ... end
  return false, select(2, safe_pcall(handler, ...))
end

local function safe_xpcall(f, handler, ...)
  if type(handler) ~= "function" then
    refuse("bad argument #2 to 'xpcall' (function expected, got " .. type(handler) .. ")")
  end
  return handled(handler, safe_pcall(f, ...))
end

local function safe_tostring(value)
  local kind = type(value)
  if kind == "table" or kind == "function" then return kind end
  return tostring(value)
end

-- What a script can use ---------------------------------------------------------------------------

-- All functions of Lua, hidden from scripts.
local library, globals = {}, _G

local function part(code, ...) return load(code, "=part", "b", library)(...) end

-- Loaded on first use: many scripts need none of these, and loading is slow.
local tables, strings

local function in_tables(name)
  return function(...)
    tables = tables or part(tables_code, charge, relay, refuse)
    return tables[name](...)
  end
end

local function in_strings(name)
  return function(...)
    if not strings then
      local patterns = part(patterns_code, charge, relay)
      strings = part(strings_code, patterns, charge, relay, refuse, safe_tostring)
    end
    return strings[name](...)
  end
end

local safe_string = {
  byte = string.byte, char = string.char, find = in_strings("find"),
  format = in_strings("format"), gmatch = in_strings("gmatch"), gsub = in_strings("gsub"),
  len = string.len, lower = string.lower, match = in_strings("match"), rep = in_strings("rep"),
  reverse = string.reverse, sub = string.sub, upper = string.upper,
}

local environment = {
  assert = assert, error = error, ipairs = ipairs, next = in_tables("next"),
  pairs = in_tables("pairs"), pcall = safe_pcall, select = select, tonumber = tonumber,
  tostring = safe_tostring, type = type, xpcall = safe_xpcall,
  math = {
    abs = math.abs, acos = math.acos, asin = math.asin, atan = math.atan, ceil = math.ceil,
    cos = math.cos, deg = math.deg, exp = math.exp, floor = math.floor, fmod = math.fmod,
    huge = math.huge, log = math.log, max = math.max, maxinteger = math.maxinteger,
    min = math.min, mininteger = math.mininteger, modf = math.modf, pi = math.pi, rad = math.rad,
    sin = math.sin, sqrt = math.sqrt, tan = math.tan, tointeger = math.tointeger,
    type = math.type, ult = math.ult,
  },
  string = safe_string,
  table = {
    concat = table.concat, insert = in_tables("insert"), pack = table.pack,
    remove = in_tables("remove"), sort = in_tables("sort"), unpack = in_tables("unpack"),
  },
}

-- Methods of strings are the same functions; no other function is reachable.
getmetatable("").__index = safe_string
for name, value in next, globals do library[name], globals[name] = value, nil end

-- Results --------------------------------------------------------------------------------------

-- The bytes of a message, which may not be valid UTF-8.
local function failed(message) return "e", byte(sub(message, 1, MAX_MESSAGE), 1, -1) end

local function ended(ok, ...)
  sethook()
  local value = ...
  if not ok then
    local kind = type(value)
    if kind == "string" or kind == "number" then return failed(tostring(value)) end
    return failed("the script raised a " .. kind .. " as its error")
  end
  if select("#", ...) > 1 then return failed("the script returned more than one value") end
  if value == nil then return "n" end
  if value == true then return "t" end
  if value == false then return "f" end
  return failed("the script returned a " .. type(value) .. ", not true, false or nil")
end

return function(script, context)
  environment.context = context
  local chunk, problem = load(script, "=script", "t", environment)
  if not chunk then return failed(problem) end
  sethook(stop, "", MAX_INSTRUCTIONS)
  return ended(pcall(chunk))
end
