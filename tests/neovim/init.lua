-- What a user has in their init.lua, and nothing of ~/.config.
vim.opt.runtimepath:prepend(vim.env.BRANCHLINE_PLUGIN)
vim.o.swapfile = false
vim.o.shada = ''
vim.o.more = false
vim.o.writebackup = false

-- No test passes in which the plugin calls what is deprecated.
local deprecate = vim.deprecate
vim.deprecate = function(name, ...) -- luacheck: ignore 122
  if debug.traceback():find('clients/neovim/lua', 1, true) then
    error(name .. ' is deprecated')
  end
  return deprecate(name, ...)
end
