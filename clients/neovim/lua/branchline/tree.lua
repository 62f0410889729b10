--- The tree buffer: fetches rows, keeps the buffer equal to them, and answers where things are.
--- What keys do is in `keys` and `actions`.
local M = {}

local rows = require('branchline.rows')
local text = require('branchline.text')
local notify = require('branchline.notify')

local FIRST = 200
local CHUNK = 500
local MOST = 20000
local PASSES = 12
local STREAM_LINES = 6

local lanes_space = vim.api.nvim_create_namespace('branchline_lanes')
local stream_space = vim.api.nvim_create_namespace('branchline_stream')

---@class branchline.Tree
---@field buf integer
---@field session branchline.Session
---@field filter string
---@field query? string
---@field items branchline.Item[]
---@field lines table<string, integer> line of an entry
---@field expanded table<string, true>
---@field hidden table<string, table>
---@field loads integer counts what was begun, so that what is late is dropped
---@field complete boolean whether all rows are here
---@field left_out integer rows that the buffer does not hold, because there are too many
---@field branches integer
---@field cancel? fun()
---@field waiting (fun())[] what is to be done once all rows are here
---@field stand_ins table<integer, {id: string, put: string}> by window: where a cursor is for want of its entry
---@field follows_leaf boolean whether the cursor goes with the leaf: while an answer is awaited
---@field capped boolean whether something stays folded because there would be too many rows
local Tree = {}
Tree.__index = Tree

---@type table<integer, branchline.Tree> by buffer
M.trees = {}

--- The tree of a buffer, by default the current one.
---@param buf? integer
---@return branchline.Tree?
function M.get(buf)
  return M.trees[buf or vim.api.nvim_get_current_buf()]
end

---@param session branchline.Session
---@return branchline.Tree?
function M.of(session)
  for _, tree in pairs(M.trees) do
    if tree.session == session then
      return tree
    end
  end
end

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

---@param win integer
local function set_window_options(win)
  local fillchars = vim.go.fillchars
  require('branchline.window').set(win, {
    foldmethod = 'expr',
    foldexpr = "v:lua.require'branchline.tree'.foldexpr()",
    foldtext = "v:lua.require'branchline.tree'.foldtext()",
    foldlevel = 0,
    foldminlines = 0,
    foldenable = true,
    foldcolumn = '0',
    fillchars = (fillchars == '' and '' or fillchars .. ',') .. 'fold: ',
    wrap = false,
    number = false,
    relativenumber = false,
    signcolumn = 'no',
    spell = false,
    list = false,
    cursorline = true,
    conceallevel = 0,
    winbar = "%{%v:lua.require'branchline.tree'.winbar()%}",
  })
end

--- Show the tree of a session, in a window that a command makes.
---@param session branchline.Session
---@param options? {filter?: string, query?: string, command?: string}
---@return branchline.Tree
function M.show(session, options)
  options = options or {}
  local config = require('branchline.config').get()
  local tree = M.of(session)
  if tree then
    local win = vim.fn.win_findbuf(tree.buf)[1]
    if win then
      vim.api.nvim_set_current_win(win)
    else
      M.place(tree.buf, options.command or config.open)
    end
    if options.filter or options.query then
      tree:view(options.filter or tree.filter, options.query)
    end
    return tree
  end
  require('branchline.highlights').define()
  local buf = vim.api.nvim_create_buf(true, true)
  tree = setmetatable({
    buf = buf,
    session = session,
    filter = options.filter or config.filter,
    query = options.query,
    items = {},
    lines = {},
    expanded = {},
    hidden = {},
    loads = 0,
    complete = false,
    left_out = 0,
    branches = session.info.branchCount or 0,
    waiting = {},
    stand_ins = {},
    follows_leaf = false,
    capped = false,
  }, Tree)
  M.trees[buf] = tree
  vim.bo[buf].bufhidden = 'hide'
  vim.bo[buf].modifiable = false
  vim.bo[buf].undolevels = -1
  pcall(vim.api.nvim_buf_set_name, buf, 'branchline://tree/' .. session.id:gsub('[^%w._-]', '_'))
  vim.bo[buf].buftype = 'nofile'
  vim.bo[buf].swapfile = false
  M.place(buf, options.command or config.open)
  vim.bo[buf].filetype = 'branchline'
  local unsubscribe = session:listen(function(event, facts)
    tree:_on(event, facts)
  end)
  local group = vim.api.nvim_create_augroup('branchline_tree_' .. buf, {})
  vim.api.nvim_create_autocmd('BufWinEnter', {
    group = group,
    buffer = buf,
    callback = function()
      set_window_options(vim.api.nvim_get_current_win())
    end,
  })
  vim.api.nvim_create_autocmd('BufWipeout', {
    group = group,
    buffer = buf,
    callback = function()
      M.trees[buf] = nil
      tree.loads = tree.loads + 1
      unsubscribe()
      pcall(vim.api.nvim_del_augroup_by_id, group)
    end,
  })
  require('branchline.keys').map('tree', buf)
  tree:load()
  return tree
end

--- Put a buffer into the window that a command makes.
---@param buf integer
---@param command string edit, split, vsplit, tabedit, with modifiers
function M.place(buf, command)
  if not command:match('edit$') or command:match('tab') then
    vim.cmd(command)
  end
  vim.api.nvim_win_set_buf(0, buf)
  if M.trees[buf] then
    set_window_options(vim.api.nvim_get_current_win())
  end
end

---@return integer
local function now()
  return os.time()
end

-- ---------------------------------------------------------------------------- fetching

---@param problem branchline.Error
local function failed(problem)
  local errors = require('branchline.errors')
  if errors.is(problem, 'cancelled') or errors.is(problem, 'gone') then
    return
  end
  notify.problem(problem)
end

--- Change what is shown.
---@param filter string
---@param query? string
function Tree:view(filter, query)
  self.filter, self.query = filter, query
  self.expanded, self.hidden, self.capped = {}, {}, false
  self:load()
end

---@param more table
---@return table
function Tree:_params(more)
  local expanded = vim.tbl_keys(self.expanded)
  return vim.tbl_extend('error', {
    filter = self.filter,
    query = self.query,
    runs = 'tools',
    expanded = expanded,
  }, more)
end

--- Fetch all rows: the visible ones first, then the rest in chunks; then again with what was folded
--- opened, until nothing is folded or there would be too many.
function Tree:load()
  self.loads = self.loads + 1
  local load = self.loads
  self.complete = false
  if self.cancel then
    self.cancel()
    self.cancel = nil
  end
  if #self.items == 0 then
    local around = self.session.leafId
    local params = self:_params({ limit = FIRST, around = around })
    self.cancel = self.session:request('session/tree', params, function(problem, answer)
      if self.loads ~= load or problem then
        return
      end
      self:_apply(answer.rows, load, function()
        self:go_to_leaf()
      end)
    end)
  end
  self:_count_branches(load)
  self:_fetch({}, load, 1)
end

---@param load integer
function Tree:_count_branches(load)
  self.session:request('session/branches', {}, function(problem, answer)
    if self.loads == load and not problem then
      self.branches = #answer.branches
      vim.cmd.redrawstatus({ bang = true })
    end
  end)
end

---@param fetched table[]
---@param load integer
---@param pass integer
---@param revision? integer
---@param base? integer the row that the buffer begins with
function Tree:_fetch(fetched, load, pass, revision, base)
  base = base or 0
  local params = self:_params({ offset = base + #fetched, limit = CHUNK })
  self.cancel = self.session:request('session/tree', params, function(problem, answer)
    if self.loads ~= load then
      return
    elseif problem then
      failed(problem)
      return
    elseif revision and answer.revision ~= revision then
      -- Somebody wrote between two chunks.
      self:_fetch({}, load, pass)
      return
    elseif pass > 1 and answer.total > MOST then
      -- Too many rows for a buffer: what was opened by this pass is folded again.
      self.expanded = self.opened_before
      self.capped = true
      self:_fetch({}, load, PASSES + 1)
      return
    end
    if base == 0 and #fetched == 0 and answer.total > MOST and (answer.leafRow or 0) >= MOST then
      -- The buffer holds the rows up to a little after the leaf.
      self:_fetch({}, load, pass, answer.revision, math.min(answer.leafRow + CHUNK, answer.total) - MOST)
      return
    end
    vim.list_extend(fetched, answer.rows)
    if #fetched < math.min(answer.total - base, MOST) and #answer.rows > 0 then
      self:_fetch(fetched, load, pass, answer.revision, base)
      return
    end
    self.cancel = nil
    self.left_out = answer.total - #fetched
    self:_apply(fetched, load, function()
      self:_fetched(fetched, load, pass)
    end)
  end)
end

---@param fetched table[]
---@param load integer
---@param pass integer
function Tree:_fetched(fetched, load, pass)
  local before, found = vim.deepcopy(self.expanded), false
  if not self.capped and pass <= PASSES then
    for _, row in ipairs(fetched) do
      if row.folded then
        local key = row.type == 'branches' and (row.parentId or 'root') or row.id
        if row.type ~= 'branches' then
          self.hidden[(row.type == 'run' and 'run ' or '') .. row.id] = row.hidden
        end
        if not self.expanded[key] then
          self.expanded[key] = true
          found = true
        end
      end
    end
  end
  if found then
    self.opened_before = before
    self:_fetch({}, load, pass + 1)
    return
  end
  self.complete = true
  require('branchline.keys').search_by_daemon(self.buf, self.capped or self.left_out > 0)
  local waiting = self.waiting
  self.waiting = {}
  for _, callback in ipairs(waiting) do
    callback()
  end
  vim.api.nvim_exec_autocmds('User', {
    pattern = 'BranchlineTree',
    modeline = false,
    data = { buf = self.buf, path = self.session.path },
  })
end

--- Do something once all rows are here.
---@param callback fun()
function Tree:when_complete(callback)
  if self.complete then
    callback()
  else
    self.waiting[#self.waiting + 1] = callback
  end
end

-- ---------------------------------------------------------------------------- drawing

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
    places[#places + 1] = { win = win, id = id, column = position[2] }
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
  local hunks = #old_ids == 0 and { { 0, 0, 1, #new } } or differences(old_ids, new_ids)
  local places = self:_places()
  local done = 0
  for _, piece in ipairs(M.pieces(self.items, new, hunks, CHUNK)) do
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
    self:go_to_leaf()
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
function M.pieces(old, new, hunks, most)
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

--- Put each window's cursor back on the entry it was on, or on the nearest one above it.
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
  end
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

-- ---------------------------------------------------------------------------- following

-- Entries that change no row but those at the leaf, where they are appended.
local PLAIN = { message = true, custom = true, custom_message = true, model_change = true }

--- Whether a change only goes on from the leaf: no row above the leaf's looks different then.
---@param facts table of `session/changed`
---@return boolean
local function goes_on(facts)
  local above = facts.previousLeafId
  for _, entry in ipairs(facts.appended) do
    if not PLAIN[entry.type] or entry.parentId ~= above then
      return false
    end
    above = entry.id
  end
  return #facts.appended > 0 and above == facts.leafId and next(facts.labels or {}) == nil
end

--- Fetch the rows from the leaf on, and keep those above; all of them if anything else changed.
---@param facts table of `session/changed`
function Tree:_extend(facts)
  local line = self:leaf_line()
  if not self.complete or self.left_out > 0 or not line then
    return self:_reload_soon()
  end
  -- Tool rows before the leaf may become a run with what comes, so they are asked for as well.
  while line > 1 and self.items[line - 1].row.role == 'toolResult' do
    line = line - 1
  end
  self.loads = self.loads + 1
  local load = self.loads
  self.complete = false
  self:_count_branches(load)
  local params = self:_params({ offset = line - 1, limit = CHUNK })
  self.session:request('session/tree', params, function(problem, answer)
    if self.loads ~= load then
      return
    elseif problem or answer.revision ~= facts.revision or answer.total > line - 1 + #answer.rows then
      return self:load()
    end
    local all = {}
    for at = 1, line - 1 do
      all[at] = self.items[at].row
    end
    vim.list_extend(all, answer.rows)
    self:_apply(all, load, function()
      self:_fetched(all, load, 1)
    end)
  end)
end

---@param event branchline.Event
---@param facts table
function Tree:_on(event, facts)
  if event == 'changed' and goes_on(facts) then
    self:_extend(facts)
  elseif event == 'changed' or event == 'reopened' then
    self:_reload_soon()
  elseif event == 'reset' then
    vim.schedule(function()
      if vim.api.nvim_buf_is_valid(self.buf) then
        vim.api.nvim_buf_delete(self.buf, { force = true })
      end
    end)
  elseif event == 'messageText' or event == 'busy' then
    self:_show_stream()
  end
end

--- Several changes at once are one load.
function Tree:_reload_soon()
  self.complete = false
  if self.reload_planned then
    return
  end
  self.reload_planned = true
  vim.schedule(function()
    self.reload_planned = false
    if vim.api.nvim_buf_is_valid(self.buf) then
      self:load()
    end
  end)
end

-- ---------------------------------------------------------------------------- where things are

---@return integer?
function Tree:leaf_line()
  for line = #self.items, 1, -1 do
    if self.items[line].row.isLeaf then
      return line
    end
  end
end

--- The item under the cursor; of a closed fold, its first.
---@return branchline.Item?
---@return integer line
function Tree:current()
  local line = vim.api.nvim_win_get_cursor(0)[1]
  local fold = vim.fn.foldclosed(line)
  if fold > 0 then
    line = fold
  end
  return self.items[line], line
end

--- Move the cursor to a line, and open the folds that hide it.
---@param line integer?
function Tree:jump(line) -- luacheck: no self
  if not line then
    return
  end
  vim.cmd("normal! m'")
  vim.api.nvim_win_set_cursor(0, { line, 0 })
  if vim.fn.foldclosed(line) > 0 and vim.fn.foldclosed(line) < line then
    vim.cmd('normal! zv')
  end
end

function Tree:go_to_leaf()
  local line = self:leaf_line()
  for _, win in ipairs(vim.fn.win_findbuf(self.buf)) do
    if line then
      vim.api.nvim_win_set_cursor(win, { line, 0 })
    end
  end
end

--- The next line from the cursor, in a direction, whose item fits.
---@param direction 1|-1
---@param fits fun(item: branchline.Item): boolean
---@return integer?
function Tree:next_line(direction, fits)
  local _, line = self:current()
  line = line + direction
  while self.items[line] do
    if fits(self.items[line]) then
      return line
    end
    line = line + direction
  end
end

--- The line where the next branch of the same fork begins, or of the nearest fork above.
---@param direction 1|-1
---@return integer?
function Tree:sibling_line(direction)
  local item, line = self:current()
  while item do
    local parent = item.row.parentId
    local at = line + direction
    while self.items[at] do
      local other = self.items[at]
      if other.row.parentId == parent and other.id ~= item.id then
        return at
      end
      at = at + direction
    end
    local above = parent and self.lines[parent]
    if not above then
      return nil
    end
    item, line = self.items[above], above
  end
end

-- ---------------------------------------------------------------------------- what options call

--- 'foldexpr'.
---@return string
function M.foldexpr()
  local tree = M.trees[vim.api.nvim_get_current_buf()]
  local item = tree and tree.items[vim.v.lnum]
  return item and item.level or '0'
end

--- 'foldtext'.
---@return string|[string, string][]
function M.foldtext()
  local tree = M.trees[vim.api.nvim_get_current_buf()]
  local item = tree and tree.items[vim.v.foldstart]
  if not tree or not item then
    return ''
  end
  local window = vim.fn.getwininfo(vim.api.nvim_get_current_win())[1]
  local is_run = item.run ~= nil and vim.v.foldlevel > item.row.depth
  return rows.fold(item, {
    icons = require('branchline.config').get().icons,
    width = window.width - window.textoff,
    run = is_run,
  })
end

--- What is said above the tree.
---@return string
function M.winbar()
  local win = vim.api.nvim_get_current_win() -- the one that is being drawn
  local tree = M.trees[vim.api.nvim_win_get_buf(win)]
  if not tree then
    return ''
  end
  local session = tree.session
  local separator = rows.SIGNS[require('branchline.config').get().icons].separator
  local parts = {
    text.plural(tree.branches, 'branch'),
    ('%s/%s'):format(text.count(session.usage.tokens), text.count(session.usage.contextWindow)),
    tree.filter,
  }
  if tree.query then
    parts[#parts + 1] = ('"%s"'):format(tree.query)
  end
  if tree.left_out > 0 then
    parts[#parts + 1] = ('%d rows left out'):format(tree.left_out)
  end
  if session.job then
    parts[#parts + 1] = M.job_text(session.job)
  elseif session.connection.state ~= 'ready' then
    parts[#parts + 1] = 'no daemon, trying again'
  elseif session.info.readOnly then
    parts[#parts + 1] = 'read only'
  end
  local leaf, where = tree:leaf_line(), ''
  if leaf and leaf > vim.fn.line('w$', win) then
    where = '↓ here   '
  elseif leaf and leaf < vim.fn.line('w0', win) then
    where = '↑ here   '
  end
  local rest = separator .. table.concat(parts, separator)
  local keys = where .. 'g? keys '
  local room = vim.api.nvim_win_get_width(win) - vim.api.nvim_strwidth(rest .. keys) - 3
  local title = text.crop(session:title(), math.max(8, room))
  return ' ' .. text.escape_statusline(title .. rest) .. '%=' .. text.escape_statusline(keys)
end

---@param job table
---@return string
function M.job_text(job)
  local what = ({ compaction = 'compacting', branch = 'summarising', prompt = 'answering' })[job.kind] or job.kind
  return job.percent and job.percent > 0 and ('%s %d%%'):format(what, job.percent) or what
end

return M
