--- The one place that tells the user something.
local M = {}

---@param message string
---@param level integer
local function tell(message, level)
  local text = require('branchline.text').clean(message)
  vim.schedule(function()
    vim.notify('Branchline: ' .. text, level, { title = 'Branchline' })
  end)
end

---@param message string
function M.info(message)
  tell(message, vim.log.levels.INFO)
end

---@param message string
function M.warn(message)
  tell(message, vim.log.levels.WARN)
end

---@param message string
function M.error(message)
  tell(message, vim.log.levels.ERROR)
end

--- Show a line that need not be kept: what the editor itself would show in its place.
---@param message string
function M.echo(message)
  vim.api.nvim_echo({ { require('branchline.text').clean(message) } }, false, {})
end

--- Tell of an error that the daemon answered with.
---@param problem branchline.Error
function M.problem(problem)
  if type(problem.data) == 'table' and problem.data.wasTold then
    return
  end
  local message, level = require('branchline.errors').explain(problem)
  tell(message, level)
end

return M
