--- The tree buffer: shows it, follows its session, and answers where things are. Rows are fetched by
--- `tree_load` and drawn by `tree_draw`; what keys do is in `keys` and `actions`.
local M = {}

local rows = require('branchline.rows')

---@class (partial) branchline.Tree
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
---@field early boolean whether the rows are those that were there before the session was open
---@field left_out integer rows that the buffer does not hold, because there are too many
---@field branches integer
---@field cancel? fun()
---@field waiting (fun())[] what is to be done once all rows are here
---@field stand_ins table<integer, {id: string, put: string}> by window: where a cursor is for want of its entry
---@field follows_leaf boolean whether the cursor goes with the leaf: while an answer is awaited
---@field middle? string the entry that the rows stand around, if the buffer does not hold all; the leaf if it is nil
---@field base integer rows above those that the buffer holds
---@field followed? string the leaf that it went to last
---@field capped boolean whether something stays folded because there would be too many rows
local Tree = {}
Tree.__index = Tree
for _, part in ipairs({ 'branchline.tree_load', 'branchline.tree_draw' }) do
  for name, method in pairs(require(part)) do
    Tree[name] = method
  end
end

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

---@param win integer
local function set_window_options(win)
  local fillchars = vim.go.fillchars
  require('branchline.window').set_rows(win, {
    foldmethod = 'expr',
    foldexpr = "v:lua.require'branchline.tree'.foldexpr()",
    foldtext = "v:lua.require'branchline.tree'.foldtext()",
    foldlevel = 0,
    foldminlines = 0,
    foldenable = true,
    foldcolumn = '0',
    fillchars = (fillchars == '' and '' or fillchars .. ',') .. 'fold: ',
    winhighlight = 'Folded:Normal', -- a closed fold is a row like any other
    winbar = "%{%v:lua.require'branchline.tree'.winbar()%}",
  })
end

--- Show the tree of a session, in a window that a command makes.
---@param session branchline.Session
---@param options? {filter?: string, query?: string, command?: string, here?: boolean} here: in this very window
---@return branchline.Tree
function M.show(session, options)
  options = options or {}
  local config = require('branchline.config').get()
  local tree = M.of(session)
  if tree then
    local win = not options.here and vim.fn.win_findbuf(tree.buf)[1]
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
    early = false,
    left_out = 0,
    base = 0,
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
  tree:name()
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
  vim.api.nvim_create_autocmd('BufReadCmd', {
    group = group,
    buffer = buf,
    callback = function()
      tree:_read_anew()
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

-- ---------------------------------------------------------------------------- following

---@param event branchline.Event
---@param facts table
function Tree:_on(event, facts)
  if event == 'changed' then
    self:_take_change(facts)
  elseif event == 'reopened' then
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

--- Give the buffer its name, unless another has it.
function Tree:name()
  pcall(vim.api.nvim_buf_set_name, self.buf, 'branchline://tree/' .. self.session.id:gsub('[^%w._-]', '_'))
end

--- After `:edit`, which has emptied the buffer.
function Tree:_read_anew()
  self.items, self.lines = {}, {}
  vim.bo[self.buf].modifiable = false
  vim.bo[self.buf].undolevels = -1
  self:load()
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

--- Bring an entry into view, wherever it is, and go there; or to the row that stands for it.
---@param id string
---@param done? fun()
function Tree:reveal(id, done)
  self:_show_row(id, function(line)
    if vim.api.nvim_get_current_buf() == self.buf then
      self:jump(line)
      if done then
        done()
      end
    end
  end)
end

function Tree:to_leaf()
  local line = self:leaf_line()
  if line then
    self:jump(line)
  elseif self.session.leafId then
    self:reveal(self.session.leafId)
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

--- Go on to a row that the buffer does not hold, if it does not hold all.
---@param step string what `session/locate` calls it
---@param count integer how many times
function Tree:go_beyond(step, count)
  local item = self:current()
  if not item or not (self.early or self.left_out > 0) then
    return
  end
  local function ask(from, left)
    self.session:request('session/locate', self:_params({ from = from, to = step }), function(problem, place)
      if problem then
        require('branchline.notify').problem(problem)
      elseif place and left > 1 then
        ask(place.id, left - 1)
      elseif place or from ~= item.id then
        self:reveal(place and place.id or from)
      end
    end)
  end
  ask(item.id, count)
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

--- 'winbar'.
---@return string
function M.winbar()
  local win = vim.api.nvim_get_current_win() -- the one that is being drawn
  local tree = M.trees[vim.api.nvim_win_get_buf(win)]
  return tree and require('branchline.winbar').of(tree, win) or ''
end

return M
