--- The daemon's errors, in words that say what to do.
local M = {}

---@class branchline.Error
---@field code integer
---@field message string
---@field data? table with `kind` and the facts of PROTOCOL.md

local function number(value)
  return require('branchline.text').count(tonumber(value) or 0)
end

--- What to do about it, by kind; the daemon's own sentence stands before it. Empty: that says all.
--- With true, the sentence says all by itself: lines of messages are short.
---@type table<string, fun(facts: table): string, boolean?>
M.ADVICE = {
  parseError = function()
    return 'Please report this.'
  end,
  invalidRequest = function()
    return 'Please report this.'
  end,
  methodNotFound = function()
    return 'The daemon is older than this plugin: update Branchline, then `branchline stop`.'
  end,
  invalidParams = function()
    return ''
  end,
  internalError = function()
    return 'Please report this; the log is named by :checkhealth branchline.'
  end,
  notInitialized = function()
    return ':Branchline restart connects again.'
  end,
  cancelled = function()
    return ''
  end,
  notFound = function()
    return 'The tree is read anew; :Branchline sessions! shows all sessions.'
  end,
  invalidSession = function()
    return 'Choose another with :Branchline sessions.'
  end,
  invalidEntry = function(facts)
    return facts.field and ('Field: ' .. tostring(facts.field)) or ''
  end,
  leafChanged = function()
    return 'Somebody else went on meanwhile: nothing was written. Look, and try again.', true
  end,
  fileChanged = function()
    return 'Open it again with :Branchline tree.'
  end,
  readOnly = function()
    return 'F copies the branch into a session of your own.'
  end,
  busy = function()
    return 'Something else is being written here; <C-c> ends it.', true
  end,
  storage = function(facts)
    return facts.errno == 'ENOSPC' and 'Make room, then try again.' or ''
  end,
  nothingToCompact = function(facts)
    local kept, all = number(facts.keepRecentTokens), number(facts.tokens)
    return ('Nothing to compact: the newest %s tokens stay, and there are %s.'):format(kept, all), true
  end,
  summaryFailed = function(facts)
    return (facts.retryable and 'It may work later. ' or '')
      .. 'In the question before it, "o" takes the offline summary instead.'
  end,
  cancelledByClient = function()
    return ''
  end,
  promptFailed = function(facts)
    if facts.largest then
      return 'c compacts the branch.'
    elseif facts.userEntryId then
      return 'Your message is stored; a asks again from there.'
    end
    return 'Your text is kept. :help branchline-model says how to set a model.'
  end,
  nothingToUndo = function(facts)
    local since = tonumber(facts.messagesSince) or 0
    if since == 0 then
      return 'Nothing to undo: the leaf was never moved.', true
    end
    local messages = require('branchline.text').plural(since, 'message')
    return ('Nothing to undo: %s came since the last move.'):format(messages), true
  end,
}

--- A sentence for the user, and how loud it is.
---@param problem branchline.Error
---@return string message
---@return integer level
function M.explain(problem)
  local facts = type(problem.data) == 'table' and problem.data or {}
  local advice = M.ADVICE[facts.kind]
  local message = problem.message or 'The daemon gave no reason'
  local more, alone = '', nil
  if advice then
    more, alone = advice(facts)
  end
  if alone then
    message = more
  elseif more ~= '' then
    message = ('%s. %s'):format(message:gsub('%s+$', ''):gsub('%.$', ''), more)
  end
  local quiet = facts.kind == 'cancelled'
    or facts.kind == 'cancelledByClient'
    or facts.kind == 'nothingToUndo'
    or facts.kind == 'nothingToCompact'
  return message, quiet and vim.log.levels.INFO or vim.log.levels.ERROR
end

---@param problem branchline.Error?
---@param kind string
function M.is(problem, kind)
  return problem ~= nil and type(problem.data) == 'table' and problem.data.kind == kind
end

return M
