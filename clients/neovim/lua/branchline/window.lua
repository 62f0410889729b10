--- Options of windows, set so that they do not stay when another buffer is shown there.
local M = {}

---@param win integer
---@param options table<string, any>
function M.set(win, options)
  for name, value in pairs(options) do
    vim.api.nvim_set_option_value(name, value, { scope = 'local', win = win })
  end
end

--- The same for a window with a row in each line, with what such windows have in common.
---@param win integer
---@param options table<string, any> more than that
function M.set_rows(win, options)
  local plain = {
    wrap = false,
    number = false,
    relativenumber = false,
    signcolumn = 'no',
    spell = false,
    list = false,
    cursorline = true,
    conceallevel = 0,
  }
  M.set(win, vim.tbl_extend('error', plain, options))
end

return M
