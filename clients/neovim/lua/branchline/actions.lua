--- What the keys of a tree do.
local M = {}

local notify = require('branchline.notify')
local text = require('branchline.text')

---@alias branchline.Act fun(tree: branchline.Tree)

--- A callback that tells of a problem, and goes on only without one.
---@param callback fun(result: any)
---@return branchline.Callback
local function unless_problem(callback)
  return function(problem, result)
    if problem then
      notify.problem(problem)
    else
      callback(result)
    end
  end
end
M.unless_problem = unless_problem

--- Go here, with a question if something is left behind.
---@param tree branchline.Tree
function M.go(tree)
  local item = tree:current()
  if item and item.row.isLeaf and item.row.role ~= 'user' then
    notify.info('You are here; a asks from here')
  elseif item then
    require('branchline.switch').go(tree.session, item.id, {})
  end
end

---@param tree branchline.Tree
function M.go_with_summary(tree)
  local item = tree:current()
  if item then
    require('branchline.switch').go(tree.session, item.id, { summary = true })
  end
end

---@param tree branchline.Tree
function M.compact(tree)
  require('branchline.compact').ask(tree.session)
end

---@param session branchline.Session
local function take_back(session, done)
  session:change(
    'session/undo',
    {},
    unless_problem(function(answer)
      session.undone_at = done == 'Undone' and (answer.leafId or vim.NIL) or nil
      notify.info(done)
    end)
  )
end

---@param tree branchline.Tree
function M.undo(tree)
  local session = tree.session
  if session.undone_at ~= nil and session.undone_at == (session.leafId or vim.NIL) then
    notify.info('Only the last move can be taken back; <C-r> makes it again')
    return
  end
  take_back(session, 'Undone')
end

---@param tree branchline.Tree
function M.redo(tree)
  local session = tree.session
  if session.undone_at == nil or session.undone_at ~= (session.leafId or vim.NIL) then
    notify.info('Nothing to make again')
    return
  end
  take_back(session, 'Made again')
end

---@param tree branchline.Tree
function M.ask_here(tree)
  local item = tree:current()
  require('branchline.ask').open(tree.session, { from = item and item.id })
end

---@param tree branchline.Tree
function M.preview(tree)
  local item = tree:current()
  if item then
    require('branchline.preview').show(tree.session, item.id)
  end
end

---@param tree branchline.Tree
function M.leaf(tree)
  tree:to_leaf()
end

---@param step string what `session/locate` calls it
---@param next_line fun(tree: branchline.Tree): integer?
---@return branchline.Act
local function motion(step, next_line)
  return function(tree)
    for left = vim.v.count1, 1, -1 do
      local line = next_line(tree)
      if not line then
        return tree:go_beyond(step, left)
      end
      tree:jump(line)
    end
  end
end

---@param step string
---@param direction 1|-1
---@param fits fun(item: branchline.Item): boolean
---@return branchline.Act
local function motion_to(step, direction, fits)
  return motion(step, function(tree)
    return tree:next_line(direction, fits)
  end)
end

local function is_user(item)
  return item.row.role == 'user'
end

local function is_labelled(item)
  return item.row.label ~= nil
end

M.previous_user = motion_to('previousUser', -1, is_user)
M.next_user = motion_to('nextUser', 1, is_user)
M.previous_label = motion_to('previousLabel', -1, is_labelled)
M.next_label = motion_to('nextLabel', 1, is_labelled)

M.previous_branch = motion('previousSibling', function(tree)
  return tree:sibling_line(-1)
end)
M.next_branch = motion('nextSibling', function(tree)
  return tree:sibling_line(1)
end)

---@param tree branchline.Tree
function M.label(tree)
  local item = tree:current()
  if not item then
    return
  end
  local session, id = tree.session, item.id
  vim.ui.input({ prompt = 'Label (empty clears it): ', default = item.row.label }, function(label)
    if label then
      session:request('session/label', { targetId = id, label = label }, unless_problem(function() end))
    end
  end)
end

---@param tree branchline.Tree
function M.rename(tree)
  local session = tree.session
  vim.ui.input({ prompt = 'Name of the session: ', default = session.name }, function(name)
    if name then
      session:request('session/rename', { name = name }, unless_problem(function() end))
    end
  end)
end

---@param tree branchline.Tree
function M.fork(tree)
  local item = tree:current()
  if not item then
    return
  end
  local session = tree.session
  local position = item.row.role == 'user' and 'before' or 'at'
  session:request(
    'session/fork',
    { entryId = item.id, position = position },
    unless_problem(function(answer)
      require('branchline.session').open(
        session.connection,
        answer.session.path,
        unless_problem(function(new)
          require('branchline.tree').show(new)
          if answer.editorContent then
            require('branchline.ask').open(new, { content = answer.editorContent })
          end
          notify.info('This is the new session')
        end)
      )
    end)
  )
end

---@param register string
---@param what string
---@param lines string[]
local function yank(register, what, lines)
  vim.fn.setreg(register, lines, 'V')
  notify.info(('Yanked %s: %s'):format(what, text.plural(#lines, 'line')))
end

---@param tree branchline.Tree
function M.yank_entry(tree)
  local item = tree:current()
  local register = vim.v.register -- it is gone when the answer comes
  if not item then
    return
  end
  tree.session:request(
    'session/entries',
    { ids = { item.id } },
    unless_problem(function(answer)
      yank(register, 'the entry', require('branchline.preview').plain(answer.entries[1]))
    end)
  )
end

---@param tree branchline.Tree
function M.yank_context(tree)
  local item = tree:current()
  local register = vim.v.register
  require('branchline').context({ session = tree.session.path, leafId = item and item.id }, function(problem, context)
    if problem then
      return notify.problem(problem)
    end
    local lines = {}
    for _, message in ipairs(context.messages) do
      lines[#lines + 1] = ('## %s'):format(message.role)
      vim.list_extend(lines, require('branchline.preview').plain({ type = 'message', message = message }))
      lines[#lines + 1] = ''
    end
    yank(register, 'the context', lines)
  end)
end

---@param tree branchline.Tree
function M.open_file(tree)
  local item = tree:current()
  if item then
    require('branchline.files').open(tree.session, item.id)
  end
end

---@param tree branchline.Tree
function M.open_image(tree)
  local item = tree:current()
  if item then
    require('branchline.images').open(tree.session, item.id)
  end
end

---@param name string
---@return branchline.Act
local function filter(name)
  return function(tree)
    tree:view(name, nil)
  end
end

M.filter_default = filter('default')
M.filter_no_tools = filter('noTools')
M.filter_user = filter('userOnly')
M.filter_labels = filter('labeledOnly')
M.filter_all = filter('all')

---@param tree branchline.Tree
function M.filter_query(tree)
  vim.ui.input({ prompt = 'Entries with these words: ', default = tree.query }, function(query)
    if query then
      tree:view(tree.filter, query ~= '' and query or nil)
    end
  end)
end

---@param tree branchline.Tree
function M.search(tree)
  require('branchline.search').ask(tree, false)
end

---@param tree branchline.Tree
function M.search_backwards(tree)
  require('branchline.search').ask(tree, true)
end

---@param tree branchline.Tree
function M.search_next(tree)
  require('branchline.search').again(tree, false)
end

---@param tree branchline.Tree
function M.search_previous(tree)
  require('branchline.search').again(tree, true)
end

---@param tree branchline.Tree
function M.cancel(tree)
  M.cancel_job(tree.session)
end

---@param session branchline.Session
function M.cancel_job(session)
  session:request(
    'session/cancel',
    {},
    unless_problem(function(answer)
      notify.info(answer.cancelled and 'Cancelled' or 'Nothing is being written')
    end)
  )
end

---@param tree branchline.Tree
function M.close(tree)
  if pcall(vim.cmd.close) then
    return
  end
  -- The last window: another buffer takes its place.
  local other = vim.fn.bufnr('#')
  if other > 0 and other ~= tree.buf and vim.api.nvim_buf_is_valid(other) then
    vim.api.nvim_set_current_buf(other)
  else
    vim.cmd.enew()
  end
end

function M.help()
  require('branchline.keys').help('tree')
end

return M
