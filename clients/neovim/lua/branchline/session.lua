--- The open sessions: what is known of each, kept up to date by what the daemon tells, and told on
--- to whoever listens.
local M = {}

local client = require('branchline.client')
local errors = require('branchline.errors')
local notify = require('branchline.notify')

-- Bytes. Smaller files are read whole by the daemon about as soon as their end.
local LARGE = 16 * 1024 * 1024

---@alias branchline.Event "changed"|"reset"|"busy"|"summaryText"|"messageText"|"reopened"|"lost"

---@class branchline.Session
---@field connection branchline.Connection
---@field path string
---@field id string
---@field info table SessionInfo
---@field name? string
---@field leafId? string
---@field revision integer this and the next three are nil until it is open
---@field usage table
---@field settings table
---@field warnings table[]
---@field waiting? (fun(problem: branchline.Error?))[] what is to be done once it is open; nil: it is
---@field tail? {filter: string, rows: table[]} the rows around the leaf, until it is open
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

--- Jobs that were told before the answer to `session/open`.
---@type table<string, table>
M.early_jobs = {}

---@param connection branchline.Connection
---@param info table SessionInfo
---@return branchline.Session
local function add(connection, info)
  local session = setmetatable({
    connection = connection,
    path = info.path,
    id = info.id,
    name = info.name,
    info = info,
    answer = '',
    listeners = {},
    opened_at = vim.uv.hrtime(),
    job = M.early_jobs[info.id],
  }, Session)
  M.early_jobs[info.id] = nil
  M.sessions[session.path] = session
  require('branchline.interrupt').follow()
  return session
end

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

---@param which string path or id
---@return boolean
local function is_large(which)
  local stat = vim.uv.fs_stat(which)
  return stat ~= nil and stat.size > LARGE
end

--- Open a session, or find it open.
---@param connection branchline.Connection
---@param which string path or id
---@param callback fun(problem: branchline.Error?, session: branchline.Session?)
---@param early? boolean whether it may be given a large session that is still being read, with its `tail`
function M.open(connection, which, callback, early)
  local known = M.sessions[which]
  if known and early then
    return callback(nil, known)
  elseif known then
    return known:when_open(function(problem)
      callback(problem, not problem and known or nil)
    end)
  end
  local answered = false
  local begun ---@type branchline.Session?
  if early and is_large(which) then
    local filter = require('branchline.config').get().filter
    local params = { session = which, filter = filter, runs = 'tools' }
    connection:request('session/tail', params, function(problem, tail)
      -- Whatever is wrong, `session/open` says it.
      if not problem and not answered and #tail.rows > 0 and not M.sessions[tail.session.path] then
        begun = add(connection, tail.session)
        begun.leafId, begun.waiting = tail.leafId, {}
        begun.tail = { filter = filter, rows = tail.rows }
        callback(nil, begun)
      end
    end)
  end
  connection:request('session/open', { session = which }, function(problem, opened)
    answered = true
    if begun then
      begun:_settle(problem, opened)
    elseif problem then
      callback(problem)
    else
      local session = M.sessions[opened.session.path] or add(connection, opened.session)
      session:_settle(nil, opened)
      callback(nil, session)
    end
  end)
end

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
    self:_settle(problem, opened)
    if not problem then
      self.undone_at = nil
      self:tell('reopened', {})
    end
  end)
end

--- It is open, or it cannot be. If the daemon ended instead, it is asked again when it is back.
---@param problem? branchline.Error
---@param opened? table
function Session:_settle(problem, opened)
  if errors.is(problem, 'gone') then
    return
  end
  local waiting = self.waiting or {}
  self.waiting, self.tail = nil, nil
  if problem then
    M.sessions[self.path] = nil
    self:tell('reset', { reason = problem.message })
    notify.problem(problem)
  else
    take(self, assert(opened))
  end
  for _, callback in ipairs(waiting) do
    callback(problem)
  end
end

--- Do something once it is open, or cannot be opened.
---@param callback fun(problem: branchline.Error?)
function Session:when_open(callback)
  if self.waiting then
    self.waiting[#self.waiting + 1] = callback
  else
    callback()
  end
end

---@type branchline.Error
local CANCELLED = { code = -32800, message = 'Cancelled', data = { kind = 'cancelled' } }
---@type branchline.Error
local NOT_OPENED = { code = 0, message = 'The session was not opened', data = { kind = 'gone', wasTold = true } }

--- Ask something about this session, once it is open. If it cannot be opened, `_settle` says why.
---@param method string
---@param params table without `session`
---@param callback branchline.Callback
---@return fun() cancel
function Session:request(method, params, callback)
  params.session = self.path
  if not self.waiting then
    return self.connection:request(method, params, callback)
  end
  local cancelled, cancel = false, nil
  self:when_open(function(problem)
    if problem and not cancelled then
      callback(NOT_OPENED)
    elseif not cancelled then
      cancel = self.connection:request(method, params, callback)
    end
  end)
  return function()
    if cancel then
      cancel()
    elseif not cancelled then
      cancelled = true
      callback(CANCELLED)
    end
  end
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
  elseif self.waiting then
    -- Its opening cannot be taken back. By then somebody may show it again.
    return self:when_open(vim.schedule_wrap(function()
      if next(self.listeners) == nil then
        self:close()
      end
    end))
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
