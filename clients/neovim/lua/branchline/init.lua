--- The API for users and for authors of other plugins. Nothing here needs `setup()`.
local M = {}

---@class branchline.Change
---@field path string
---@field leafId? string
---@field previousLeafId? string
---@field appended table[]
---@field origin "client"|"external"

--- Set options. They may stand in `vim.g.branchline` as well.
---@param options? table
function M.setup(options)
  require('branchline.config').setup(options)
end

--- Open a session and follow it: a path, an id, or nil for the newest of this folder. Without an
--- error and a session there is none.
---@param which? string
---@param callback fun(problem: branchline.Error?, session: branchline.Session?)
---@param early? boolean whether it may be given a large session while that is still being read, to show it
function M.open(which, callback, early)
  local connection = require('branchline.client').connect()
  local sessions = require('branchline.session')
  if which then
    return sessions.open(connection, which, callback, early)
  end
  connection:request('session/list', { scope = 'workspace', limit = 1 }, function(problem, answer)
    if problem or #answer.sessions == 0 then
      return callback(problem, nil)
    end
    sessions.open(connection, answer.sessions[1].path, callback, early)
  end)
end

--- Show the tree of a session, as `open` names it.
---@param which? string
function M.tree(which)
  require('branchline.command').run({ fargs = { 'tree', which }, bang = false, mods = '' })
end

--- Append entries to a session: a text becomes a message of the user's.
---@param entries string|table[]
---@param options? {session?: string}
---@param callback? branchline.Callback
function M.append(entries, options, callback)
  if type(entries) == 'string' then
    entries = { { type = 'message', message = { role = 'user', content = entries } } }
  end
  callback = callback
    or function(problem)
      if problem then
        require('branchline.notify').problem(problem)
      end
    end
  M.open(options and options.session, function(problem, session)
    if problem or not session then
      return callback(problem or { code = 0, message = 'There is no session here', data = { kind = 'notFound' } })
    end
    session:change('session/append', { entries = entries }, callback)
  end)
end

--- What the model is sent, at an entry or the leaf: the answer of `session/context`.
---@param options {session?: string, leafId?: string, format?: string}
---@param callback branchline.Callback
function M.context(options, callback)
  M.open(options.session, function(problem, session)
    if problem or not session then
      return callback(problem or { code = 0, message = 'There is no session here', data = { kind = 'notFound' } })
    end
    session:request('session/context', { leafId = options.leafId, format = options.format }, callback)
  end)
end

--- Search all sessions of this folder, with `all` of all folders: the answer of `session/search`.
--- Without a callback, what is found is shown.
---@param query string
---@param options? {all?: boolean, limit?: integer, perSession?: integer, cursor?: string, wait?: boolean}
---@param callback? branchline.Callback
function M.search(query, options, callback)
  options = options or {}
  if not callback then
    return require('branchline.hits').search(query, { all = options.all })
  end
  require('branchline.client').connect():request('session/search', {
    query = query,
    scope = options.all and 'all' or 'workspace',
    limit = options.limit,
    perSession = options.perSession,
    cursor = options.cursor,
    wait = options.wait,
  }, callback)
end

--- Be told of every change of every open session.
---@param callback fun(change: branchline.Change)
---@return fun() unsubscribe
function M.on_change(callback)
  local watchers = require('branchline.session').watchers
  local function watcher(session, event, facts)
    if event == 'changed' then
      callback({
        path = session.path,
        leafId = facts.leafId,
        previousLeafId = facts.previousLeafId,
        appended = facts.appended,
        origin = facts.origin,
      })
    end
  end
  watchers[watcher] = true
  return function()
    watchers[watcher] = nil
  end
end

--- For a statusline: the session of the current buffer or the last one that was opened, how full
--- its context is, and what is being written. Empty if there is none. Safe in a 'statusline'.
---@return string
function M.status()
  local sessions = package.loaded['branchline.session']
  if not sessions or next(sessions.sessions) == nil then
    return ''
  end
  local text = require('branchline.text')
  local tree = require('branchline.tree').get()
  local session = tree and tree.session
  if not session then
    for _, other in pairs(sessions.sessions) do
      if not session or (other.opened_at or 0) > (session.opened_at or 0) then
        session = other
      end
    end
  end
  local parts = { text.crop(session:title(), 30) }
  if session.usage then
    parts[#parts + 1] = ('%d%%'):format(session.usage.tokens * 100 / session.usage.contextWindow)
  end
  if session.job then
    parts[#parts + 1] = require('branchline.winbar').job_text(session.job)
  elseif session.connection.state ~= 'ready' then
    parts[#parts + 1] = 'no daemon'
  end
  return (table.concat(parts, ' · '):gsub('%%', '%%%%'))
end

return M
