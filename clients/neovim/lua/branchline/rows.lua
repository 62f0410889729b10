--- Draws rows of `session/tree`: pure, from the protocol's Row to text, lanes and columns.
--- The picture is the one of `branchline tree` in a terminal.
local M = {}

local shape = require('branchline.shape')
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

--- All rows as items to draw. `pause` is called now and then, to let others have their turn.
---@param rows table[] without gaps
---@param options {icons: string, now: integer, hidden: table<string, table>, pause: fun()?}
---@return branchline.Item[]
function M.items(rows, options)
  local signs = M.SIGNS[options.icons]
  local begins, covered = shape.of(rows)
  if options.pause and #rows > PAUSE_AFTER then
    options.pause()
  end
  local runs = shape.runs(rows, begins)
  local items = {}
  local run_end, run_level = 0, 0
  for at, row in ipairs(rows) do
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
      local run_title, hidden = shape.run_text(rows, at, runs[at])
      item.run = { text = run_title }
      item.hidden = options.hidden['run ' .. row.id] or hidden
      level = '>' .. run_level
    elseif at <= run_end then
      level = tostring(run_level)
    end
    item.level = level
    if begins[at] and not row.folded then
      item.hidden = options.hidden[row.id] or shape.branch_hidden(rows, begins, at)
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
