--- Choosing from lists, through `vim.ui.select`, so that the user's picker takes over.
local M = {}

local notify = require('branchline.notify')
local text = require('branchline.text')

local MOST_WITHOUT_PICKER = 30
local MOST = 20000

--- Whether `vim.ui.select` is Neovim's own, which shows a numbered list.
---@return boolean
function M.is_stock()
  return debug.getinfo(vim.ui.select, 'S').source:match('vim[/\\]ui%.lua$') ~= nil
end

---@param session table SessionInfo
---@return string
function M.session_line(session)
  local age = text.age(session.modifiedAt, os.time())
  local title = text.clean(session.name or session.firstMessage or session.id)
  local where = session.cwd and text.clean(vim.fn.fnamemodify(session.cwd, ':~')) or ''
  return ('%4s  %s  (%s)'):format(age, text.crop(title, 60), where)
end

--- Neovim's own list has no room for more than the width of the screen.
---@param format fun(item: table): string
---@return fun(item: table): string
local function fitting(format)
  return function(item)
    local line = format(item)
    return M.is_stock() and text.crop(line, vim.o.columns - 6) or line
  end
end

---@param connection branchline.Connection
---@param which string
local function preview_session(connection, which)
  local buf = require('branchline.preview').buffer()
  connection:request('session/tree', { session = which, runs = 'tools', limit = 200 }, function(problem, answer)
    local lines = {}
    for _, row in ipairs(not problem and answer.rows or {}) do
      lines[#lines + 1] = ('  '):rep(row.depth) .. text.clean(row.text)
    end
    require('branchline.preview').fill(buf, lines)
  end)
  return { buf = buf }
end

---@param connection branchline.Connection
---@param path string
---@param command? string
local function open(connection, path, command)
  require('branchline.session').open(connection, path, function(problem, session)
    if problem then
      return notify.problem(problem)
    end
    require('branchline.tree').show(assert(session), { command = command })
  end, true)
end

--- Choose a session: of this workspace, or of all.
---@param all boolean
---@param command? string
function M.sessions(all, command)
  local connection = require('branchline.client').connect()
  local function list(query)
    local params =
      { scope = all and 'all' or 'workspace', query = query, limit = M.is_stock() and MOST_WITHOUT_PICKER or 500 }
    connection:request('session/list', params, function(problem, answer)
      if problem then
        return notify.problem(problem)
      elseif #answer.sessions == 0 then
        return notify.info(
          all and 'There are no sessions' or 'No sessions of this folder; :Branchline sessions! shows all'
        )
      elseif M.is_stock() and answer.total > MOST_WITHOUT_PICKER and not query then
        vim.ui.input({ prompt = ('%d sessions; with these words: '):format(answer.total) }, function(words)
          if words then
            list(words)
          end
        end)
        return
      end
      vim.ui.select(answer.sessions, {
        prompt = 'Session',
        kind = 'branchline.session',
        format_item = fitting(M.session_line),
        preview_item = function(session)
          return preview_session(connection, session.path)
        end,
      }, function(session)
        if session then
          open(connection, session.path, command)
        end
      end)
    end)
  end
  list(nil)
end

---@param row table
---@return string
function M.entry_line(row)
  local label = row.label and ('⚑%s  '):format(text.clean(row.label)) or ''
  return ('%4s  %s%s'):format(text.age(row.timestamp, os.time()), label, text.clean(row.text))
end

---@param session branchline.Session
---@param id string
local function preview_entry(session, id)
  local preview = require('branchline.preview')
  local buf = preview.buffer()
  preview.read(session, id, function(lines)
    preview.fill(buf, lines)
  end)
  return { buf = buf }
end

--- Choose an entry of a session among the person's messages, and go to its line in the tree. With
--- more than a list can show and no picker, the tree opens with those alone.
---@param session branchline.Session
function M.entries(session)
  session:request('session/tree', { filter = 'userOnly', layout = 'pi', limit = MOST }, function(problem, answer)
    if problem then
      return notify.problem(problem)
    end
    local tree = require('branchline.tree')
    if M.is_stock() and #answer.rows > MOST_WITHOUT_PICKER then
      tree.show(session, { filter = 'userOnly' })
      return
    end
    vim.ui.select(answer.rows, {
      prompt = 'Entry',
      kind = 'branchline.entry',
      format_item = fitting(M.entry_line),
      preview_item = function(row)
        return preview_entry(session, row.id)
      end,
    }, function(row)
      if row then
        local shown = tree.show(session)
        shown:when_complete(function()
          shown:jump(shown.lines[row.id])
        end)
      end
    end)
  end)
end

return M
