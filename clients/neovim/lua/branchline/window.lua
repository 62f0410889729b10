--- Options of windows, set so that they do not stay when another buffer is shown there.
local M = {}

---@param win integer
---@param options table<string, any>
function M.set(win, options)
  for name, value in pairs(options) do
    vim.api.nvim_set_option_value(name, value, { scope = 'local', win = win })
  end
end

return M
