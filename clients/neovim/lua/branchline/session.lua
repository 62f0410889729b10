--- The open sessions: what is known of each, kept up to date by what the daemon tells, and told on
--- to whoever listens.
local M = {}

local client = require('branchline.client')
local notify = require('branchline.notify')

---@alias branchline.Event "changed"|"reset"|"busy"|"summaryText"|"messageText"|"reopened"|"lost"

---@class branchline.Session
---@field connection branchline.Connection
---@field path string
---@field id string
---@field info table SessionInfo
---@field name? string
---@field leafId? string
---@field revision integer
---@field usage table
---@field settings table
---@field warnings table[]
---@field job? table what is being written
---@field opened_at integer
---@field external_at? integer when another program last wrote, in seconds
---@field answer string what has come of the answer that is being written
---@field undone_at? string|false where the leaf is after an undo that can be taken back
---@field listeners table<fun(event: branchline.Event, facts: table), true>
local Session = {}
Session.__index = Session

---@type table<string, branchline.Session> by path
M.sessions = {}

---@type table<fun(session: branchline.Session, event: branchline.Event, facts: table), true>
M.watchers = {}

---@param session branchline.Session
---@param opened table
local function take(session, opened)
  session.info = opened.session
  session.id = opened.session.id
  session.name = opened.session.name
  session.leafId = opened.leafId
  session.revision = opened.revision
  session.usage = opened.usage
  session.settings = opened.settings
  session.warnings = opened.warnings
end

--- Open a session, or find it open.
---@param connection branchline.Connection
---@param which string path or id
---@param callback fun(problem: branchline.Error?, session: branchline.Session?)
function M.open(connection, which, callback)
  local known = M.sessions[which]
  if known then
    return callback(nil, known)
  end
  connection:request('session/open', { session = which }, function(problem, opened)
    if problem then
      return callback(problem)
    end
    local session = M.sessions[opened.session.path]
    if not session then
      session = setmetatable({
        connection = connection,
        path = opened.session.path,
        answer = '',
        listeners = {},
        opened_at = vim.uv.hrtime(),
      }, Session)
      M.sessions[session.path] = session
      take(session, opened)
      session.job = M.early_jobs[session.id]
      M.early_jobs[session.id] = nil
      require('branchline.interrupt').follow()
    else
      take(session, opened)
    end
    callback(nil, session)
  end)
end

--- Jobs that were told before the answer to `session/open`.
---@type table<string, table>
M.early_jobs = {}

---@param event branchline.Event
---@param facts table
function Session:tell(event, facts)
  for _, all in ipairs({ self.listeners, M.watchers }) do
    for listener in pairs(all) do
      local succeeded, message
      if all == M.watchers then
        succeeded, message = pcall(listener, self, event, facts)
      else
        succeeded, message = pcall(listener, event, facts)
      end
      if not succeeded then
        notify.error(('A listener failed: %s'):format(message))
      end
    end
  end
end

---@param pattern string
---@param data table
local function autocommand(pattern, data)
  vim.api.nvim_exec_autocmds('User', { pattern = pattern, modeline = false, data = data })
  vim.cmd.redrawstatus({ bang = true })
end

--- What each notification does to a session.
---@type table<string, fun(session: branchline.Session, params: table)>
local ON = {
  ['session/changed'] = function(session, params)
    session.revision = params.revision
    local moved = session.leafId ~= params.leafId
    session.leafId = params.leafId
    session.name = params.name
    session.usage = params.usage
    if params.warnings then
      session.warnings = params.warnings
    end
    if params.origin == 'external' then
      session.external_at = os.time()
    end
    session:tell('changed', params)
    autocommand('BranchlineChanged', {
      path = session.path,
      leafId = params.leafId,
      previousLeafId = params.previousLeafId,
      origin = params.origin,
      moved = moved,
    })
    if params.externalBranch then
      notify.info('Another program made a branch here; you stay where you are. ]b goes there.')
    end
  end,
  ['session/reset'] = function(session, params)
    notify.warn(
      ('The session was %s. %s'):format(
        params.reason,
        params.reason:find('deleted', 1, true) and 'It is closed here.' or 'It is read anew.'
      )
    )
    if params.reason:find('deleted', 1, true) then
      M.sessions[session.path] = nil
      session:tell('reset', params)
    else
      session:_reopen()
    end
  end,
  ['session/busy'] = function(session, params)
    local ended = session.job
    session.job = params.job
    if params.job and not (ended and ended.id == params.job.id) then
      session.answer = ''
    end
    require('branchline.interrupt').follow()
    session:tell('busy', params)
    autocommand('BranchlineBusy', { path = session.path, job = params.job })
  end,
  ['session/summaryText'] = function(session, params)
    session:tell('summaryText', params)
  end,
  ['session/messageText'] = function(session, params)
    session.answer = session.answer .. params.delta
    session:tell('messageText', params)
  end,
}

---@param params table
---@return branchline.Session?
local function find(connection, params)
  if params.path then
    local session = M.sessions[params.path]
    return session and session.connection == connection and session or nil
  end
  for _, session in pairs(M.sessions) do
    if session.id == params.session and session.connection == connection then
      return session
    end
  end
end

client.on_notification = function(connection, method, params)
  if method == 'session/indexing' then
    return require('branchline.hits').on_indexing(connection, params)
  end
  local session = find(connection, params)
  if session then
    ON[method](session, params)
  elseif method == 'session/busy' then
    M.early_jobs[params.session] = params.job
  end
end

client.on_lost = function(connection)
  for _, session in pairs(M.sessions) do
    if session.connection == connection then
      session.job = nil
      require('branchline.interrupt').follow()
      session:tell('lost', {})
    end
  end
  vim.cmd.redrawstatus({ bang = true })
end

client.on_ready = function(connection)
  for _, session in pairs(M.sessions) do
    if session.connection == connection then
      session:_reopen()
    end
  end
end

function Session:_reopen()
  self.connection:request('session/open', { session = self.path }, function(problem, opened)
    if problem then
      M.sessions[self.path] = nil
      self:tell('reset', { reason = problem.message })
      return notify.problem(problem)
    end
    take(self, opened)
    self.undone_at = nil
    self:tell('reopened', {})
  end)
end

--- Ask something about this session.
---@param method string
---@param params table without `session`
---@param callback branchline.Callback
---@return fun() cancel
function Session:request(method, params, callback)
  params.session = self.path
  return self.connection:request(method, params, callback)
end

--- The same for what changes the session: it is refused if the leaf is not where we think.
---@param method string
---@param params table
---@param callback branchline.Callback
function Session:change(method, params, callback)
  params.expectedLeafId = self.leafId == nil and vim.NIL or self.leafId
  return self:request(method, params, callback)
end

---@param listener fun(event: branchline.Event, facts: table)
---@return fun() unsubscribe
function Session:listen(listener)
  self.listeners[listener] = true
  return function()
    self.listeners[listener] = nil
    if next(self.listeners) == nil then
      self:close()
    end
  end
end

--- Let the session go, once nobody shows it any more.
function Session:close()
  if M.sessions[self.path] ~= self then
    return
  end
  M.sessions[self.path] = nil
  if self.connection.state == 'ready' then
    self:request('session/close', {}, function() end)
  end
end

--- A title for people.
---@return string
function Session:title()
  return require('branchline.text').clean(self.name or self.info.firstMessage or self.id)
end

return M
