-- What a user has in their init.lua, and nothing of ~/.config.
vim.opt.runtimepath:prepend(vim.env.BRANCHLINE_PLUGIN)
vim.o.swapfile = false
vim.o.shada = ''
vim.o.more = false
vim.o.writebackup = false
