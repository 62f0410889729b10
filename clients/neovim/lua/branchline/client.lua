--- Owns the connections to the daemon: one for each workspace, started when it is first used, and
--- again, after growing pauses, when it is lost. What is asked before it is ready waits.
local M = {}

local notify = require('branchline.notify')

local configs = vim.lsp.config --[[@as table<string, vim.lsp.Config?>]]

local FIRST_PAUSE_MS = 200
local LONGEST_PAUSE_MS = 30000
local TRIES = 6
local LEAVE_MS = 1000
local STEADY_S = 5

---@alias branchline.Callback fun(problem: branchline.Error?, result: any)

---@class branchline.Waiting
---@field method string
---@field params table
---@field callback branchline.Callback
---@field cancelled? boolean
---@field request_id? integer
---@field finish? branchline.Callback

---@class branchline.Connection
---@field root string
---@field client? vim.lsp.Client
---@field state "starting"|"ready"|"pausing"|"failed"|"stopped"
---@field queue branchline.Waiting[]
---@field pending table<branchline.Waiting, true>
---@field tries integer starts in a row that came to nothing
---@field ready_at? integer
local Connection = {}
Connection.__index = Connection

---@type table<string, branchline.Connection>
M.connections = {}

--- The same value without `vim.NIL`: some versions of Neovim have it for null, others nothing.
---@param value any
---@return any
local function without_null(value)
  if value == vim.NIL then
    return nil
  elseif type(value) == 'table' then
    for key, item in pairs(value) do
      if item == vim.NIL then
        value[key] = nil
      elseif type(item) == 'table' then
        without_null(item)
      end
    end
  end
  return value
end

---@type fun(connection: branchline.Connection, method: string, params: table)
M.on_notification = function(_, _, _) end
---@type fun(connection: branchline.Connection)
M.on_ready = function(_) end
---@type fun(connection: branchline.Connection)
M.on_lost = function(_) end

---@param message string
---@param was_told? boolean whether the user knows already
---@return branchline.Error
local function gone(message, was_told)
  return { code = 0, message = message, data = { kind = 'gone', wasTold = was_told } }
end

--- The workspace that a folder belongs to.
---@param folder? string
---@return string
function M.root(folder)
  folder = vim.fs.normalize(folder or assert(vim.uv.cwd()))
  local markers = (configs.branchline or {}).root_markers or { '.pi', '.git' }
  return vim.fs.root(folder, markers) or folder
end

--- The connection of a workspace; started if there is none.
---@param folder? string
---@return branchline.Connection
function M.connect(folder)
  local root = M.root(folder)
  local connection = M.connections[root]
  if not connection then
    connection = setmetatable({ root = root, state = 'stopped', queue = {}, pending = {}, tries = 0 }, Connection)
    M.connections[root] = connection
  end
  if connection.state == 'stopped' or connection.state == 'failed' then
    connection.tries = 0
    connection:_start()
  end
  return connection
end

--- End all connections, and begin again those that are in use.
function M.restart()
  local all = vim.tbl_values(M.connections)
  for _, connection in ipairs(all) do
    connection:stop(function()
      connection.tries = 0
      connection:_start()
    end)
  end
  return #all
end

---@param config vim.lsp.ClientConfig
---@param connection branchline.Connection
local function with_handlers(config, connection)
  local handlers = {}
  for _, method in ipairs(require('branchline.methods').NOTIFICATIONS) do
    handlers[method] = function(_, params)
      M.on_notification(connection, method, without_null(params))
    end
  end
  handlers['window/showMessage'] = function(_, params)
    local tell = params.type == 1 and notify.error or params.type == 2 and notify.warn or notify.info
    tell(tostring(params.message))
  end
  handlers['session/summarize'] = function(_, params)
    return require('branchline.summarize').answer(connection, without_null(params))
  end
  handlers['$/cancelRequest'] = function()
    require('branchline.summarize').cancel(connection)
  end
  config.handlers = vim.tbl_extend('force', config.handlers or {}, handlers)
end

--- Neovim drops the answers to cancelled requests: here they come back, without their facts. And it
--- has no good word for a daemon that refuses to begin: that is ours to tell.
---@param rpc vim.lsp.rpc.PublicClient
---@param refused fun(problem: branchline.Error)
---@return vim.lsp.rpc.PublicClient
local function answering_all(rpc, refused)
  local request = rpc.request
  rpc.request = function(method, params, callback, on_reply)
    local answered = false
    return request(method, params, function(problem, ...)
      answered = true
      if method == 'initialize' and problem then
        refused(problem)
        return rpc.terminate()
      end
      return callback(problem, ...)
    end, function(...)
      if on_reply then
        on_reply(...)
      end
      vim.schedule(function()
        if not answered then
          callback({ code = -32800, message = 'Cancelled', data = { kind = 'cancelled' } })
        end
      end)
    end)
  end
  return rpc
end

function Connection:_start()
  local options = require('branchline.config').get()
  local given = configs.branchline
  local config = vim.deepcopy(given or { cmd = { 'branchline', 'connect' } }) --[[@as vim.lsp.ClientConfig]]
  local command = config.cmd
  if type(command) == 'table' and vim.fn.executable(command[1]) == 0 then
    self:_fail(
      ('%q cannot be run. Install Branchline, or say where it is: '):format(command[1])
        .. "vim.lsp.config('branchline', { cmd = { '/path/to/branchline', 'connect' } })"
    )
    return
  end
  self.state = 'starting'
  config.name = 'branchline'
  config.root_dir = self.root
  config.cmd_cwd = self.root
  config.init_options = vim.tbl_deep_extend('force', config.init_options or vim.empty_dict(), options.settings)
  config.capabilities = require('branchline.summarize').capabilities(config.capabilities, options)
  config.flags = vim.tbl_extend('keep', config.flags or {}, { exit_timeout = LEAVE_MS })
  with_handlers(config, self)
  config.on_init = function(client)
    self:_ready(client)
  end
  config.cmd = function(dispatchers, resolved)
    local on_exit = dispatchers.on_exit
    dispatchers.on_exit = function(code, signal)
      -- The code is told as 0: that the daemon ended is ours to handle, and no message of Neovim's.
      on_exit(0, 0)
      vim.schedule(function()
        self:_ended(code, signal)
      end)
    end
    local rpc
    if type(command) == 'function' then
      rpc = command(dispatchers, resolved)
    else
      rpc = vim.lsp.rpc.start(command, dispatchers, {
        cwd = config.cmd_cwd,
        env = config.cmd_env,
        detached = config.detached,
      })
    end
    return answering_all(rpc, function(problem)
      self:_fail(('The daemon does not take the settings: %s. :help branchline-options'):format(problem.message))
    end)
  end
  local started, id = pcall(vim.lsp.start, config, {
    attach = false,
    silent = true,
    reuse_client = function()
      return false
    end,
  })
  if not started or not id then
    self:_fail(('The daemon did not start: %s'):format(started and 'no reason given' or id))
    return
  end
  self.client = vim.lsp.get_client_by_id(id)
end

---@param client vim.lsp.Client
function Connection:_ready(client)
  self.client = client
  self.state = 'ready'
  self.ready_at = vim.uv.now()
  M.on_ready(self)
  local queue = self.queue
  self.queue = {}
  for _, waiting in ipairs(queue) do
    if not waiting.cancelled then
      self:_send(waiting)
    end
  end
end

---@param message string
function Connection:_fail(message)
  self.state = 'failed'
  self.client = nil
  notify.error(message)
  vim.cmd.redrawstatus({ bang = true })
  self:_drop(gone(message, true))
end

--- Answer all that waits with a problem.
---@param problem branchline.Error
function Connection:_drop(problem)
  local queue, pending = self.queue, self.pending
  self.queue, self.pending = {}, {}
  for _, waiting in ipairs(queue) do
    waiting.callback(problem)
  end
  for waiting in pairs(pending) do
    waiting.callback(problem)
  end
end

---@param code integer
---@param signal integer
function Connection:_ended(code, signal)
  local was_steady = self.ready_at and vim.uv.now() - self.ready_at > STEADY_S * 1000
  self.client, self.ready_at = nil, nil
  local pending = self.pending
  self.pending = {}
  for waiting in pairs(pending) do
    waiting.callback(gone('The daemon ended before it answered'))
  end
  if vim.v.exiting ~= vim.NIL then
    return -- the editor leaves: nothing is to be started again
  elseif self.state == 'failed' then
    return -- it was told already
  elseif self.state == 'stopped' then
    if self.on_stopped then
      local callback = self.on_stopped
      self.on_stopped = nil
      callback()
    end
    return
  end
  self.state = 'pausing'
  M.on_lost(self)
  self.tries = was_steady and 1 or self.tries + 1
  if self.tries >= TRIES then
    self:_fail(
      ('The daemon ended %d times (code %d, signal %d). '):format(self.tries, code, signal)
        .. ':checkhealth branchline looks for the reason, :Branchline restart tries again.'
    )
    return
  end
  vim.defer_fn(function()
    if self.state == 'pausing' then
      self:_start()
    end
  end, math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ^ (self.tries - 1)))
end

--- Leave the daemon. `callback` is called when the process has gone.
---@param callback? fun()
function Connection:stop(callback)
  local client = self.client
  self.state = 'stopped'
  self:_drop(gone('The connection was ended'))
  if not client then
    if callback then
      callback()
    end
    return
  end
  self.on_stopped = callback
  client:stop()
end

---@param waiting branchline.Waiting
function Connection:_send(waiting)
  self.pending[waiting] = true
  local sent, request_id = assert(self.client):request(waiting.method, waiting.params, function(problem, result)
    if self.pending[waiting] then
      self.pending[waiting] = nil
      waiting.callback(without_null(problem), without_null(result))
    end
  end)
  waiting.request_id = request_id
  if not sent and self.pending[waiting] then
    self.pending[waiting] = nil
    waiting.callback(gone('The daemon has just ended'))
  end
end

--- Ask the daemon. The callback is called exactly once, also when the daemon ends before it answers.
---@param method string
---@param params table
---@param callback branchline.Callback
---@return fun() cancel
function Connection:request(method, params, callback)
  ---@type branchline.Waiting
  local waiting = { method = method, params = params, callback = callback }
  if self.state == 'ready' then
    self:_send(waiting)
  elseif self.state == 'failed' or self.state == 'stopped' then
    vim.schedule(function()
      callback(gone('There is no connection to the daemon; :Branchline restart makes one'))
    end)
  else
    self.queue[#self.queue + 1] = waiting
  end
  return function()
    if waiting.request_id and self.client and self.pending[waiting] then
      self.client:cancel_request(waiting.request_id)
    elseif not waiting.request_id and not waiting.cancelled then
      waiting.cancelled = true
      callback({ code = -32800, message = 'Cancelled', data = { kind = 'cancelled' } })
    end
  end
end

return M
