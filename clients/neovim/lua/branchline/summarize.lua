--- The `summarize` hook: a Lua function of the user's that writes summaries for the daemon.
local M = {}

---@class branchline.SummaryRequest
---@field kind "compaction"|"turnPrefix"|"branch"
---@field system string
---@field prompt string
---@field maxTokens integer
---@field plan table
---@field cancelled fun(): boolean whether the answer is still wanted

---@type table<branchline.Connection, integer> how often the requests of a connection were taken back
local taken_back = setmetatable({}, { __mode = 'k' })

---@param capabilities? table
---@param options branchline.Options
---@return table
function M.capabilities(capabilities, options)
  capabilities = capabilities or vim.lsp.protocol.make_client_capabilities()
  if not options.summarize then
    return capabilities
  end
  local ours = { experimental = { branchline = { summarize = vim.empty_dict() } } }
  return vim.tbl_deep_extend('force', capabilities, ours)
end

---@param connection branchline.Connection
function M.cancel(connection)
  taken_back[connection] = (taken_back[connection] or 0) + 1
end

--- Answer a `session/summarize`. Runs in the coroutine of the request, and waits in it.
---@param connection branchline.Connection
---@param params table
---@return table|vim.NIL
function M.answer(connection, params)
  local hook = require('branchline.config').get().summarize
  if not hook then
    return vim.NIL
  end
  local running = coroutine.running()
  local before = taken_back[connection] or 0
  local answered, waits, answer = false, false, nil
  local request = vim.tbl_extend('force', {}, params)
  request.cancelled = function()
    return (taken_back[connection] or 0) > before
  end
  local succeeded, message = pcall(hook, request, function(value)
    if answered then
      return
    end
    answered, answer = true, value
    if waits then
      vim.schedule(function()
        coroutine.resume(running)
      end)
    end
  end)
  if not succeeded then
    require('branchline.notify').error('The summarize function failed: ' .. tostring(message))
    return { cancel = true }
  end
  if not answered then
    waits = true
    coroutine.yield()
  end
  return answer == nil and vim.NIL or answer --[[@as table]]
end

return M
