-- How the daemon is started. Change it with vim.lsp.config('branchline', …); there is nothing to
-- vim.lsp.enable(): the plugin starts it when it is first used, for no buffer in particular.
---@type vim.lsp.Config
return {
  cmd = { 'branchline', 'connect' },
  filetypes = {},
  root_markers = { '.pi', '.git' },
}
