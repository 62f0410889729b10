--- What the keys of the search hits do, and the way from a hit to its entry in the tree.
local M = {}

local notify = require('branchline.notify')

--- Put the cursor of a tree on an entry, wherever it lies; if its filter hides it, all is shown.
---@param tree branchline.Tree
---@param id string
local function bring(tree, id)
  local function is_there()
    local item = vim.api.nvim_get_current_buf() == tree.buf and tree.items[vim.api.nvim_win_get_cursor(0)[1]]
    return item and item.id == id
  end
  local function keep_open()
    tree:when_complete(function()
      if is_there() and vim.fn.foldclosed('.') > 0 then
        vim.cmd('normal! zv')
      end
    end)
  end
  local function show_all()
    tree:view('all')
    tree:reveal(id, keep_open)
  end
  local is_narrowed = tree.filter ~= 'all' or tree.query ~= nil
  tree.session:request('session/tree', {
    filter = tree.filter,
    query = tree.query,
    runs = 'tools',
    around = id,
    limit = 1,
  }, function(problem, answer)
    local row = answer and answer.rows[1]
    if not problem and is_narrowed and not (row and (row.id == id or row.folded)) then
      return show_all()
    end
    tree:reveal(id, function()
      if is_narrowed and not is_there() then
        show_all()
      else
        keep_open()
      end
    end)
  end)
end

--- Show the tree of a session, with the cursor on an entry of it.
---@param connection branchline.Connection
---@param path string
---@param id? string nil: where the conversation is
---@param options {command?: string, here?: boolean} here: in this very window
function M.visit(connection, path, id, options)
  require('branchline.session').open(connection, path, function(problem, session)
    if problem then
      return notify.problem(problem)
    end
    local trees = require('branchline.tree')
    local tree = options.here and trees.of(assert(session)) or nil
    if tree then
      trees.place(tree.buf, 'edit')
    else
      tree = trees.show(assert(session), { command = options.here and 'edit' or options.command })
    end
    if id then
      bring(tree, id)
    end
  end, not id)
end

--- The list of hits, and the line under the cursor.
---@return branchline.Hits?
---@return branchline.HitLine?
local function under_cursor()
  local list = require('branchline.hits').current
  return list, list and list.lines[vim.api.nvim_win_get_cursor(0)[1]]
end

---@param command? string
local function open(command)
  local list, line = under_cursor()
  if list and line then
    M.visit(list.connection, line.path, line.entryId, { command = command })
  end
end

function M.open()
  open(nil)
end

function M.open_split()
  open('split')
end

function M.preview()
  local list, line = under_cursor()
  if not list or not line or not line.entryId then
    return
  end
  require('branchline.session').open(list.connection, line.path, function(problem, session)
    if problem then
      return notify.problem(problem)
    end
    require('branchline.preview').show(assert(session), line.entryId)
  end)
end

function M.refresh()
  local list = under_cursor()
  if list then
    list:refresh()
  end
end

function M.more()
  local list = under_cursor()
  if list then
    list:more(true)
  end
end

---@param direction 1|-1
local function to_session(direction)
  local list = under_cursor()
  local at = vim.api.nvim_win_get_cursor(0)[1] + direction
  while list and list.lines[at] and list.lines[at].entryId do
    at = at + direction
  end
  if list and list.lines[at] then
    vim.cmd("normal! m'")
    vim.api.nvim_win_set_cursor(0, { at, 0 })
  end
end

function M.next_session()
  to_session(1)
end

function M.previous_session()
  to_session(-1)
end

function M.close()
  -- In the last window another buffer takes its place.
  if not pcall(vim.cmd.close) and not pcall(vim.cmd.buffer, '#') then
    vim.cmd.enew()
  end
end

function M.help()
  require('branchline.keys').help('hits')
end

-- ---------------------------------------------------------------------------- the quickfix list

-- An item of the list is a buffer that stands for an entry: when it is entered, the tree takes its
-- place. It is unloaded when it is left, so that it is read, and the tree shown, each time.
local SCHEME = 'branchline://hit/'

---@param buf integer
local function enter(buf)
  vim.bo[buf].buftype = 'nofile'
  vim.bo[buf].bufhidden = 'unload'
  vim.bo[buf].buflisted = false
  vim.bo[buf].swapfile = false
  vim.bo[buf].modifiable = false
  local win = vim.api.nvim_get_current_win()
  local entry, path = vim.api.nvim_buf_get_name(buf):match('^' .. vim.pesc(SCHEME) .. '([^/]*)/(.*)$')
  -- Later: whoever enters the buffer has yet to put the cursor into it.
  vim.schedule(function()
    if entry and vim.api.nvim_get_current_win() == win and vim.api.nvim_win_get_buf(win) == buf then
      local connection = require('branchline.client').connect()
      M.visit(connection, vim.uri_decode(path), vim.uri_decode(entry), { here = true })
    end
  end)
end

--- Make the hits the quickfix list, and open it in place of their buffer.
function M.quickfix()
  local list = under_cursor()
  if not list then
    return
  end
  vim.api.nvim_create_autocmd('BufReadCmd', {
    group = vim.api.nvim_create_augroup('branchline_hit', {}),
    pattern = SCHEME .. '*',
    callback = function(event)
      enter(event.buf)
    end,
  })
  local items, title = {}, ''
  for _, line in ipairs(list.lines) do
    if line.entryId then
      items[#items + 1] = {
        filename = SCHEME .. vim.uri_encode(line.entryId, 'rfc2396') .. '/' .. vim.uri_encode(line.path, 'rfc2396'),
        module = title,
        text = vim.trim(line.text),
        valid = 1,
      }
    else
      title = line.text
    end
  end
  vim.fn.setqflist({}, ' ', {
    title = 'Branchline: ' .. require('branchline.text').clean(list.query),
    items = items,
  })
  M.close() -- where a window stays, its next buffer is one that quickfix commands may replace
  vim.cmd('botright copen')
end

return M
