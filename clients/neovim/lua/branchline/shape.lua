--- What belongs together in the rows of a tree: branches, the covered part of the trunk, and runs of
--- tool calls. Pure; what is drawn of it is decided in `rows`.
local M = {}

local text = require('branchline.text')

local SHORTEST_RUN = 3

--- Where branches begin, where the trunk is covered, and the fold levels, for rows without gaps.
---@param rows table[]
---@return boolean[] begins
---@return (boolean?)[] covered
function M.of(rows)
  local begins, covered, depths = {}, {}, {}
  local previous
  for at, row in ipairs(rows) do
    if previous and previous.type == 'run' and row.parentId and not depths[row.parentId] then
      depths[row.parentId] = previous.depth -- it hangs from the run's last entry, which has no row
    end
    local deeper
    if row.parentId == nil then
      deeper = row.depth > 0
    elseif depths[row.parentId] then
      deeper = row.depth > depths[row.parentId]
    else
      deeper = row.foldable
    end
    begins[at] = deeper and row.depth > 0 and not vim.list_contains(row.guides, row.depth)
    depths[row.id] = row.depth
    previous = row
  end
  local trunk = false
  for at = #rows, 1, -1 do
    local row = rows[at]
    if row.depth == 0 then
      trunk = row.context == 'covered'
    end
    covered[at] = trunk
  end
  return begins, covered
end

local function is_tool(row)
  return row.role == 'toolResult' and row.type ~= 'run'
end

--- The runs of tool rows: where each begins, and how many rows it has.
---@param rows table[]
---@param begins boolean[]
---@return table<integer, integer>
function M.runs(rows, begins)
  local runs = {}
  local at = 1
  while at <= #rows do
    local last = at
    if is_tool(rows[at]) and not rows[at].folded then
      while
        rows[last + 1]
        and is_tool(rows[last + 1])
        and not begins[last + 1]
        and not rows[last + 1].folded
        and rows[last + 1].depth == rows[at].depth
      do
        last = last + 1
      end
      if last - at + 1 >= SHORTEST_RUN then
        runs[at] = last - at + 1
      end
    end
    at = last + 1
  end
  return runs
end

--- What a run is called, and what it stands for.
---@param rows table[]
---@param first integer
---@param count integer
---@return string title
---@return {tokens: integer, lastTimestamp: string?} hidden
function M.run_text(rows, first, count)
  local names, counts, failed, tokens = {}, {}, 0, 0
  for at = first, first + count - 1 do
    local row = rows[at]
    local name = text.clean(row.tool and row.tool.name or 'tool')
    if not counts[name] then
      names[#names + 1] = name
    end
    counts[name] = (counts[name] or 0) + 1
    failed = failed + (row.error and 1 or 0)
    tokens = tokens + (row.tokens or 0)
  end
  local places = {}
  for place, name in ipairs(names) do
    places[name] = place
  end
  table.sort(names, function(a, b)
    if counts[a] ~= counts[b] then
      return counts[a] > counts[b]
    end
    return places[a] < places[b]
  end)
  local parts = vim.tbl_map(function(name)
    return ('%d %s'):format(counts[name], name)
  end, names)
  if failed > 0 then
    parts[#parts + 1] = failed .. '✗'
  end
  return ('%s: %s'):format(text.plural(count, 'step'), table.concat(parts, ' ')),
    { tokens = tokens, lastTimestamp = rows[first + count - 1].timestamp }
end

--- What the rows of a branch that begins at a row stand for, where the daemon has not said.
---@param rows table[]
---@param begins boolean[]
---@param first integer
---@return {messages: integer, tokens: integer, lastTimestamp: string?}
function M.branch_hidden(rows, begins, first)
  local hidden = { messages = 0, tokens = 0 }
  local depth = rows[first].depth
  for at = first, #rows do
    local row = rows[at]
    if at > first and (row.depth < depth or (row.depth == depth and begins[at])) then
      break
    end
    hidden.messages = hidden.messages + (row.type == 'message' and 1 or 0)
    hidden.tokens = hidden.tokens + (row.tokens or 0)
    hidden.lastTimestamp = row.timestamp or hidden.lastTimestamp
  end
  return hidden
end

return M
