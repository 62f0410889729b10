std = 'luajit'
cache = false
read_globals = { 'vim' }
globals = { 'vim.bo', 'vim.wo', 'vim.o', 'vim.opt', 'vim.g', 'vim.ui', 'vim.env', 'vim.notify' }
max_line_length = 120
