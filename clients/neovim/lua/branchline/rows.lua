--- Draws rows of `session/tree`: pure, from the protocol's Row to text, lanes and columns.
--- The picture is the one of `branchline tree` in a terminal.
local M = {}

local text = require('branchline.text')

---@class branchline.Signs
---@field trunk string
---@field covered string
---@field passing string
---@field branch string
---@field last_branch string
---@field folded string
---@field unfolded string
---@field user string
---@field user_elsewhere string
---@field assistant string
---@field tool string
---@field compaction string
---@field branch_summary string
---@field other string
---@field leaf string
---@field here string
---@field label string
---@field failed string
---@field separator string
---@field cut string

---@type table<string, branchline.Signs>
M.SIGNS = {
  unicode = {
    trunk = '┃',
    covered = '┆',
    passing = '│',
    branch = '├╴',
    last_branch = '└╴',
    folded = '⊞',
    unfolded = '⊟',
    user = '●',
    user_elsewhere = '○',
    assistant = '·',
    tool = '⚙',
    compaction = '◆',
    branch_summary = '⇄',
    other = '◦',
    leaf = '◉',
    here = '◀ here',
    label = '⚑',
    failed = '✗',
    separator = ' · ',
    cut = '…',
  },
  ascii = {
    trunk = '|',
    covered = ':',
    passing = '|',
    branch = '|-',
    last_branch = '`-',
    folded = '+',
    unfolded = '-',
    user = '*',
    user_elsewhere = 'o',
    assistant = '.',
    tool = '%',
    compaction = '=',
    branch_summary = '~',
    other = "'",
    leaf = '@',
    here = '< here',
    label = '!',
    failed = 'x',
    separator = ' - ',
    cut = '...',
  },
}

local SHORTEST_RUN = 3
local PAUSE_AFTER = 500
local DEEPEST_LANES = 12
local WIDEST_LABEL = 14

---@class branchline.Item a row, with what is drawn of it
---@field row table
---@field id string
---@field begins boolean whether a branch begins here
---@field covered boolean? whether the trunk beside it is compacted away; nil where there is none
---@field level string for 'foldexpr'
---@field run? {text: string} of the first row of a run
---@field hidden? table what a fold that begins here stands for; its row shows that, open or closed
---@field line string
---@field lanes string
---@field highlight string
---@field right [string, string][]
---@field key string two items with the same key look the same

---@param row table
---@param signs branchline.Signs
local function sign_of(row, signs)
  if row.isLeaf and row.depth > 0 then
    return signs.leaf
  elseif row.role == 'user' then
    return row.onActivePath and signs.user or signs.user_elsewhere
  elseif row.role == 'assistant' then
    return signs.assistant
  elseif row.role == 'toolResult' or row.role == 'bashExecution' then
    return signs.tool
  elseif row.type == 'compaction' then
    return signs.compaction
  elseif row.type == 'branch_summary' then
    return signs.branch_summary
  end
  return signs.other
end

---@param row table
local function highlight_of(row)
  if row.error then
    return 'BranchlineError'
  elseif row.type == 'run' or row.role == 'toolResult' then
    return 'BranchlineTool'
  elseif not row.onActivePath then
    return 'BranchlineElsewhere'
  elseif row.context == 'covered' then
    return 'BranchlineCovered'
  elseif row.isLeaf then
    return 'BranchlineLeaf'
  elseif row.role == 'user' then
    return 'BranchlineUser'
  elseif row.type == 'compaction' or row.type == 'branch_summary' then
    return 'BranchlineSummary'
  end
  return 'BranchlineText'
end

---@param row table
---@param begins boolean
---@param covered boolean?
---@param signs branchline.Signs
---@return string
local function lanes_of(row, begins, covered, signs)
  if row.depth == 0 then
    if row.isLeaf then
      return signs.leaf .. ' '
    elseif row.type == 'compaction' then
      return signs.compaction .. ' '
    end
    return (row.context == 'covered' and signs.covered or signs.trunk) .. ' '
  end
  local passes = {}
  for _, depth in ipairs(row.guides) do
    passes[depth] = true
  end
  local lanes = { not passes[0] and ' ' or covered and signs.covered or signs.trunk, ' ' }
  for depth = math.max(1, row.depth - DEEPEST_LANES), row.depth - 1 do
    lanes[#lanes + 1] = (passes[depth] and signs.passing or ' ') .. '  '
  end
  if begins then
    lanes[#lanes + 1] = row.last and signs.last_branch or signs.branch
  else
    lanes[#lanes + 1] = (passes[row.depth] and signs.passing or ' ') .. '  '
  end
  return table.concat(lanes)
end

---@param row table
---@param signs branchline.Signs
---@param hidden? table
---@param now integer
---@return [string, string][]
local function right_of(row, signs, hidden, now)
  local right = { { '  ', 'BranchlineText' } }
  if row.label then
    local label = text.crop(text.clean(row.label), WIDEST_LABEL, signs.cut)
    right[#right + 1] = { signs.label .. label .. ' ', 'BranchlineLabel' }
  end
  if row.isLeaf then
    right[#right + 1] = { signs.here .. ' ', 'BranchlineHere' }
  end
  local tokens = hidden and hidden.tokens or row.tokens
  local age = text.age(hidden and hidden.lastTimestamp or row.timestamp, now)
  right[#right + 1] = {
    ('%5s%5s'):format(tokens and text.count(tokens) or '', age),
    'BranchlineNumber',
  }
  return right
end

---@param row table
---@param begins boolean
---@param signs branchline.Signs
---@return string
local function line_of(row, begins, signs)
  local body = vim.trim(text.clean(row.text))
  if row.type == 'run' then
    return signs.tool .. ' ' .. body
  end
  local ending = (row.context == 'omitted' or row.context == 'replaced') and (' (%s)'):format(row.context) or ''
  if row.hidden then
    ending = signs.separator .. text.plural(row.hidden.messages, 'message')
  elseif row.error then
    ending = ending .. ' ' .. signs.failed
  end
  if row.folded then
    return ('%s %s%s'):format(signs.folded, body, ending)
  end
  local in_lane = row.depth == 0 and row.type == 'compaction' and not row.isLeaf
  local sign = in_lane and '' or sign_of(row, signs) .. ' '
  if begins then
    sign = ('%s %s'):format(signs.unfolded, sign)
  end
  return sign .. body .. ending
end

--- Where branches begin, where the trunk is covered, and the fold levels, for rows without gaps.
---@param rows table[]
---@return boolean[] begins
---@return (boolean?)[] covered
function M.shape(rows)
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

---@param rows table[]
---@param first integer
---@param count integer
local function run_text(rows, first, count)
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
local function branch_hidden(rows, begins, first)
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

--- All rows as items to draw. `pause` is called now and then, to let others have their turn.
---@param rows table[] without gaps
---@param options {icons: string, now: integer, hidden: table<string, table>, pause: fun()?}
---@return branchline.Item[]
function M.items(rows, options)
  local signs = M.SIGNS[options.icons]
  local begins, covered = M.shape(rows)
  if options.pause and #rows > PAUSE_AFTER then
    options.pause()
  end
  local runs = M.runs(rows, begins)
  local items = {}
  local run_end, run_level = 0, 0
  for at, row in ipairs(rows) do
    ---@type branchline.Item
    local item = { row = row, id = row.id, begins = begins[at] }
    item.covered = nil
    local is_covered = covered[at]
    local level = (begins[at] and not row.folded and '>' or '') .. row.depth
    if row.folded then
      -- One row that stands for many, and that the daemon can open: no fold of Vim's.
      level = tostring(math.max(0, begins[at] and row.depth - 1 or row.depth))
    end
    if runs[at] then
      run_end, run_level = at + runs[at] - 1, row.depth + 1
      local run_title, hidden = run_text(rows, at, runs[at])
      item.run = { text = run_title }
      item.hidden = options.hidden['run ' .. row.id] or hidden
      level = '>' .. run_level
    elseif at <= run_end then
      level = tostring(run_level)
    end
    item.level = level
    if begins[at] and not row.folded then
      item.hidden = options.hidden[row.id] or branch_hidden(rows, begins, at)
    end
    item.line = line_of(row, begins[at], signs)
    item.lanes = lanes_of(row, begins[at], is_covered, signs)
    item.covered = is_covered
    item.highlight = highlight_of(row)
    item.right = right_of(row, signs, row.hidden or item.hidden, options.now)
    local key = { item.level, item.line, item.lanes, item.highlight }
    for _, chunk in ipairs(item.right) do
      key[#key + 1] = chunk[1]
    end
    key[#key + 1] = item.run and item.run.text or ''
    key[#key + 1] = item.hidden and item.hidden.messages or ''
    item.key = table.concat(key, '\0')
    items[at] = item
    if options.pause and at % PAUSE_AFTER == 0 then
      options.pause()
    end
  end
  return items
end

--- The chunks of a closed fold. What stands at the right edge is the mark of its first row.
---@param item branchline.Item of its first row
---@param options {icons: string, width: integer, run: boolean}
---@return [string, string][]
function M.fold(item, options)
  local signs = M.SIGNS[options.icons]
  local room = options.width - vim.api.nvim_strwidth(item.lanes)
  for _, chunk in ipairs(item.right) do
    room = room - vim.api.nvim_strwidth(chunk[1])
  end
  local front, ending, highlight
  if options.run then
    front, ending, highlight = signs.tool .. ' ' .. item.run.text, '', 'BranchlineTool'
  else
    front = ('%s %s'):format(signs.folded, vim.trim(text.clean(item.row.text)))
    ending = signs.separator .. text.plural(item.hidden and item.hidden.messages or 1, 'message')
    highlight = 'BranchlineElsewhere'
  end
  -- What a fold holds is to be seen however long its text is.
  front = text.crop(front, math.max(0, room - vim.api.nvim_strwidth(ending)), signs.cut)
  return { { item.lanes, 'BranchlineLane' }, { front .. ending, highlight } }
end

return M
