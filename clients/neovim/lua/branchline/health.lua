--- `:checkhealth branchline`.
local M = {}

local configs = vim.lsp.config --[[@as table<string, vim.lsp.Config?>]]

local function command_line()
  local command = (configs.branchline or {}).cmd
  return type(command) == 'table' and command or nil
end

function M.check()
  local health = vim.health
  health.start('Branchline: the editor')
  if vim.fn.has('nvim-0.11') == 1 then
    health.ok(('Neovim %s'):format(tostring(vim.version())))
  else
    health.error('Neovim 0.11 or newer is needed')
  end
  local problems = require('branchline.config').problems(require('branchline.config').given())
  for _, problem in ipairs(problems) do
    health.error(problem, ':help branchline-options')
  end
  if #problems == 0 then
    health.ok('The options are right')
  end
  if pcall(vim.treesitter.language.inspect, 'markdown') then
    health.ok('The preview is highlighted')
  else
    health.info('No treesitter parser for Markdown: the preview is plain')
  end
  if require('branchline.pick').is_stock() then
    health.info('vim.ui.select is the plain one: lists are short and numbered')
  else
    health.ok('A picker has taken vim.ui.select over')
  end

  health.start('Branchline: the daemon')
  local command = command_line()
  if not command then
    health.info('It is started by a function of yours')
  elseif vim.fn.executable(command[1]) == 0 then
    health.error(('%s cannot be run'):format(command[1]), {
      'Install Branchline so that `branchline` is on PATH',
      "or say where it is: vim.lsp.config('branchline', { cmd = { '/path/to/branchline', 'connect' } })",
    })
    return
  else
    health.ok(('%s is %s'):format(command[1], vim.fn.exepath(command[1])))
    local answer = vim.system({ command[1], '--version' }, { text = true, timeout = 10000 }):wait()
    if command[2] ~= 'connect' then
      health.info('It is not started with `connect`: other editors have another daemon')
    elseif answer.code == 0 then
      health.ok(vim.trim(answer.stdout or ''))
    else
      health.error('`branchline --version` failed', vim.trim(answer.stderr or ''))
    end
  end
  local connections = require('branchline.client').connections
  for root, connection in pairs(connections) do
    local line = ('%s: %s'):format(root, connection.state)
    if connection.state == 'ready' then
      health.ok(line)
    else
      health.warn(line, ':Branchline restart tries again')
    end
  end
  if next(connections) == nil then
    health.info('No connection yet: it is made when it is first needed')
  end
  health.info('The log of the connection: ' .. vim.lsp.log.get_filename())
end

return M
