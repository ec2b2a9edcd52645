-- True when the tool that just failed has now failed three times without a success between. At the
-- fourth failure it is false again, so the rule fires once for a row, however long that gets.
local IN_A_ROW = 3

local tool = context.result.tool_name
local failures = 0
for at = #context.history.tools, 1, -1 do
  local call = context.history.tools[at]
  if call.name == tool then
    if call.success ~= false then
      break
    end
    failures = failures + 1
  end
end
return failures == IN_A_ROW
