-- Defines the command, the <Plug> maps and what :edit and sessions of Vim's need, and nothing else:
-- all the rest is loaded when it is used.
if vim.g.loaded_branchline then
  return
end
vim.g.loaded_branchline = true

if vim.fn.has('nvim-0.11') == 0 then
  vim.api.nvim_echo({ { 'Branchline needs Neovim 0.11 or newer', 'WarningMsg' } }, true, {})
  return
end

vim.api.nvim_create_user_command('Branchline', function(command)
  require('branchline.command').run(command)
end, {
  nargs = '*',
  bang = true,
  desc = 'The conversation tree of this folder',
  complete = function(lead, line)
    return require('branchline.command').complete(lead, line)
  end,
})

local group = vim.api.nvim_create_augroup('branchline', {})
vim.api.nvim_create_autocmd('BufReadCmd', {
  group = group,
  pattern = 'branchline://tree/*',
  callback = function(event)
    require('branchline.restore').restore(event.buf)
  end,
})
vim.api.nvim_create_autocmd('SessionLoadPost', {
  group = group,
  callback = function()
    for _, buf in ipairs(vim.api.nvim_list_bufs()) do
      if vim.startswith(vim.api.nvim_buf_get_name(buf), 'branchline://tree/') then
        require('branchline.restore').restore(buf)
      end
    end
  end,
})

for _, name in ipairs({ 'tree', 'ask', 'sessions', 'pick', 'search', 'export' }) do
  vim.keymap.set('n', '<Plug>(branchline-' .. name .. ')', function()
    require('branchline.command').run({ fargs = { name }, bang = false, mods = '' })
  end, { desc = 'Branchline ' .. name })
end
