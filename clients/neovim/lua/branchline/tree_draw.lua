--- How a tree makes its buffer equal to the rows it has fetched: by the smallest changes, a piece at
--- a time, with every cursor on the entry it was on. Its functions become methods of
--- `branchline.Tree`.

local rows = require('branchline.rows')
local text = require('branchline.text')

local CHUNK = 500
local STREAM_LINES = 6

local lanes_space = vim.api.nvim_create_namespace('branchline_lanes')
local stream_space = vim.api.nvim_create_namespace('branchline_stream')

---@class (partial) branchline.Tree
local Tree = {}

---@param diff_old string[]
---@param diff_new string[]
---@return [integer, integer, integer, integer][]
local function differences(diff_old, diff_new)
  local diff = vim.text and vim.text.diff or vim.diff
  return diff(table.concat(diff_old, '\n') .. '\n', table.concat(diff_new, '\n') .. '\n', {
    result_type = 'indices',
    algorithm = 'histogram',
  }) --[[@as [integer, integer, integer, integer][] ]]
end

---@return integer
local function now()
  return os.time()
end

---@param item branchline.Item
---@param line integer from 0
function Tree:_mark(item, line)
  vim.api.nvim_buf_set_extmark(self.buf, lanes_space, line, 0, {
    virt_text = { { item.lanes, 'BranchlineLane' } },
    virt_text_pos = 'inline',
    end_row = line,
    end_col = #item.line,
    hl_group = item.highlight,
  })
  vim.api.nvim_buf_set_extmark(self.buf, lanes_space, line, 0, {
    virt_text = item.right,
    virt_text_pos = 'right_align',
  })
end

--- Replace `old_count` lines from `first` (from 1) by items. `self.items` is changed before the
--- buffer is, because Neovim asks for fold levels while it changes.
---@param first integer
---@param old_count integer
---@param new branchline.Item[]
function Tree:_splice(first, old_count, new)
  local items, tail = self.items, {}
  for at = first + old_count, #items do
    tail[#tail + 1] = items[at]
  end
  for at = #items, first, -1 do
    items[at] = nil
  end
  vim.list_extend(items, new)
  vim.list_extend(items, tail)
  local lines = vim.tbl_map(function(item)
    return item.line
  end, new)
  local is_empty = #items - #new + old_count == 0 -- the buffer's one line is no row
  vim.bo[self.buf].modifiable = true
  vim.api.nvim_buf_clear_namespace(self.buf, lanes_space, first - 1, first - 1 + old_count)
  vim.api.nvim_buf_set_lines(self.buf, first - 1, is_empty and -1 or first - 1 + old_count, false, lines)
  vim.bo[self.buf].modifiable = false
  for offset, item in ipairs(new) do
    self:_mark(item, first + offset - 2)
  end
end

---@class branchline.Place where a window's cursor is
---@field win integer
---@field id? string
---@field column integer
---@field row integer line of the window

---@return branchline.Place[]
function Tree:_places()
  local places = {}
  for _, win in ipairs(vim.fn.win_findbuf(self.buf)) do
    local position = vim.api.nvim_win_get_cursor(win)
    local item = self.items[position[1]]
    local id, stand_in = item and item.id, self.stand_ins[win]
    if stand_in and stand_in.put == id then
      id = stand_in.id
    end
    local row = vim.api.nvim_win_call(win, vim.fn.winline)
    places[#places + 1] = { win = win, id = id, column = position[2], row = row }
  end
  return places
end

--- Make the buffer equal to these rows, a piece at a time, with turns for others in between.
---@param fetched table[]
---@param load integer
---@param finish fun()
function Tree:_apply(fetched, load, finish)
  local resume
  local function is_wanted()
    return self.loads == load and vim.api.nvim_buf_is_valid(self.buf)
  end
  local function pause()
    vim.schedule(function()
      if is_wanted() then
        resume()
      end
    end)
    coroutine.yield()
  end
  resume = coroutine.wrap(function()
    self:_draw(fetched, pause)
    finish()
  end)
  if is_wanted() then
    resume()
  end
end

---@param fetched table[]
---@param pause fun()
function Tree:_draw(fetched, pause)
  local config = require('branchline.config').get()
  local new = rows.items(fetched, { icons = config.icons, now = now(), hidden = self.hidden, pause = pause })
  local old_ids, new_ids, parents = {}, {}, {}
  for at, item in ipairs(self.items) do
    old_ids[at] = item.id:gsub('%c', '?')
    parents[item.id] = item.row.parentId
  end
  for at, item in ipairs(new) do
    new_ids[at] = item.id:gsub('%c', '?')
  end
  local is_first = #old_ids == 0
  if not is_first then
    pause()
  end
  local hunks = is_first and { { 0, 0, 1, #new } } or differences(old_ids, new_ids)
  if not is_first then
    pause()
  end
  local pieces = Tree.pieces(self.items, new, hunks, CHUNK)
  local places = self:_places()
  local done = 0
  for _, piece in ipairs(pieces) do
    if done >= CHUNK then
      self:_restore(places, parents)
      pause()
      places, done = self:_places(), 0
    end
    self:_splice(piece.first, piece.old_count, piece.new)
    done = done + #piece.new + 1
  end
  self.items = new
  self.lines = {}
  for line, item in ipairs(new) do
    self.lines[item.id] = line
  end
  self:_restore(places, parents)
  if self.follows_leaf then
    self:_follow_leaf(places)
  end
  for _, win in ipairs(#old_ids > #new and vim.fn.win_findbuf(self.buf) or {}) do
    if vim.api.nvim_win_get_cursor(win)[1] == #new then
      vim.api.nvim_win_call(win, function()
        vim.cmd.normal({ args = { 'zb' }, bang = true }) -- no empty window above the last rows
      end)
    end
  end
  self:_show_stream()
  vim.cmd.redrawstatus({ bang = true })
end

--- The changes that make the old items the new ones, from the last to the first, so that none
--- moves another's lines. Lines that stay but look different are changes too.
---@param old branchline.Item[]
---@param new branchline.Item[]
---@param hunks [integer, integer, integer, integer][]
---@param most integer lines in a piece
---@return {first: integer, old_count: integer, new: branchline.Item[]}[]
function Tree.pieces(old, new, hunks, most)
  local pieces = {}
  local function add(first, old_count, from, count)
    pieces[#pieces + 1] = { first = first, old_count = old_count, new = vim.list_slice(new, from, from + count - 1) }
  end
  local function compare(old_first, new_first, count)
    local start
    for offset = 0, count do
      local differs = offset < count and old[old_first + offset].key ~= new[new_first + offset].key
      if differs and not start then
        start = offset
      elseif start and (not differs or offset - start >= most) then
        add(old_first + start, offset - start, new_first + start, offset - start)
        start = differs and offset or nil
      end
    end
  end
  local old_at, new_at = 1, 1
  for _, hunk in ipairs(hunks) do
    local old_first, old_count, new_first, new_count = unpack(hunk)
    if old_count == 0 then
      old_first = old_first + 1 -- it names the line before
    end
    if new_count == 0 then
      new_first = new_first + 1
    end
    compare(old_at, new_at, old_first - old_at)
    if new_count <= most then
      add(old_first, old_count, new_first, new_count)
    else
      -- Backwards they are inserted before what the piece before them has put there.
      add(old_first, old_count, new_first, most)
      local pieces_of_hunk = {}
      for from = new_first + most, new_first + new_count - 1, most do
        table.insert(pieces_of_hunk, {
          first = old_first + (from - new_first),
          old_count = 0,
          new = vim.list_slice(new, from, math.min(from + most, new_first + new_count) - 1),
        })
      end
      pieces[#pieces].more = pieces_of_hunk
    end
    old_at, new_at = old_first + old_count, new_first + new_count
  end
  compare(old_at, new_at, #old - old_at + 1)
  local ordered = {}
  for at = #pieces, 1, -1 do
    local piece = pieces[at]
    ordered[#ordered + 1] = piece
    vim.list_extend(ordered, piece.more or {})
  end
  return ordered
end

--- The line of an entry, or nil: looked for in what the buffer holds now.
---@param id string
---@return integer?
function Tree:_line_now(id)
  for line, item in ipairs(self.items) do
    if item.id == id then
      return line
    end
  end
end

--- Scroll the current window so that the cursor is in this line of it.
---@param row integer
local function scroll_to(row)
  if vim.fn.winline() == row then
    return
  end
  local function first(line)
    local fold = vim.fn.foldclosed(line)
    return fold > 0 and fold or line
  end
  local top = first(vim.fn.line('.'))
  for _ = 2, row do
    top = first(math.max(1, top - 1))
  end
  vim.fn.winrestview({ topline = top })
end

--- Put each window's cursor back on the entry it was on, or on the nearest one above it; in the
--- line of the window where it was.
---@param places branchline.Place[]
---@param parents table<string, string>
function Tree:_restore(places, parents)
  for _, place in ipairs(places) do
    local is_here = vim.api.nvim_win_is_valid(place.win) and vim.api.nvim_win_get_buf(place.win) == self.buf
    local item = is_here and self.items[vim.api.nvim_win_get_cursor(place.win)[1]]
    if is_here and place.id and not (item and item.id == place.id) then
      local id, line = place.id, self:_line_now(place.id)
      while not line and parents[id] do
        id = parents[id]
        line = self:_line_now(id)
      end
      -- It may come back when a branch is opened by the next pass.
      self.stand_ins[place.win] = id ~= place.id and { id = place.id, put = id } or nil
      if line then
        vim.api.nvim_win_set_cursor(place.win, { line, math.min(place.column, #self.items[line].line) })
      end
    end
    if is_here and place.id then
      vim.api.nvim_win_call(place.win, function()
        scroll_to(place.row)
      end)
    end
  end
end

--- Take the cursors along to the leaf; but not those that were moved away from it meanwhile.
---@param places branchline.Place[] where they were
function Tree:_follow_leaf(places)
  local line = self:leaf_line()
  for _, place in ipairs(line and places or {}) do
    local is_here = vim.api.nvim_win_is_valid(place.win) and vim.api.nvim_win_get_buf(place.win) == self.buf
    if is_here and (not self.followed or place.id == self.followed) then
      vim.api.nvim_win_set_cursor(place.win, { line, 0 })
    end
  end
  self.followed = line and self.items[line].id
end

--- Show what has come of an answer below the leaf.
function Tree:_show_stream()
  vim.api.nvim_buf_clear_namespace(self.buf, stream_space, 0, -1)
  local session = self.session
  local line = self:leaf_line()
  if not session.job or session.job.kind ~= 'prompt' or not line then
    return
  end
  local lines = text.lines(session.answer)
  local shown = {}
  for at = math.max(1, #lines - STREAM_LINES + 1), #lines do
    shown[#shown + 1] = { { '  ' .. lines[at], 'BranchlineStream' } }
  end
  if session.answer == '' then
    shown = { { { '  … waiting for the answer; <C-c> cancels', 'BranchlineStream' } } }
  end
  vim.api.nvim_buf_set_extmark(self.buf, stream_space, line - 1, 0, { virt_lines = shown })
  for _, win in ipairs(vim.fn.win_findbuf(self.buf)) do
    if vim.api.nvim_win_get_cursor(win)[1] == line then
      vim.api.nvim_win_call(win, function()
        -- The lines below the leaf are to be seen: scroll by as many as there is no room for.
        local hidden = vim.fn.winline() + #shown + 1 - vim.api.nvim_win_get_height(win)
        if hidden > 0 then
          vim.cmd.normal({ args = { hidden .. vim.keycode('<C-e>') }, bang = true })
        end
      end)
    end
  end
end

return Tree
