--- Buffers that are named as trees are but hold none: from `:edit`, or from a session of Vim's.
local M = {}

--- Put the tree that it is named after into its windows.
---@param buf integer
function M.restore(buf)
  local id = vim.api.nvim_buf_get_name(buf):match('^branchline://tree/(.+)$')
  local trees = require('branchline.tree')
  if not id or trees.get(buf) then
    return
  end
  require('branchline').open(id, function(problem, session)
    if problem then
      return require('branchline.notify').problem(problem)
    end
    for _, win in ipairs(session and vim.fn.win_findbuf(buf) or {}) do
      vim.api.nvim_win_call(win, function()
        trees.show(session, { command = 'edit', here = true })
      end)
    end
    if vim.api.nvim_buf_is_valid(buf) then
      vim.api.nvim_buf_delete(buf, { force = true })
    end
    local tree = session and trees.of(session)
    if tree then
      tree:name()
    end
  end)
end

return M
