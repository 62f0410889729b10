--- The <C-c> that Neovim takes for itself. Pressed while Neovim works through what has come in, it
--- is an interrupt, and no map sees it. While something is being written it is to do in our buffers
--- what the map does, so that one press is enough.
local M = {}

local INTERRUPT = '\3' -- a <C-c> that has run through our maps is something else by now

local space = vim.api.nvim_create_namespace('branchline_interrupt')

--- The session that the current buffer belongs to.
---@return branchline.Session?
local function session_here()
  local tree = require('branchline.tree').get()
  local draft = require('branchline.draft').get()
  return tree and tree.session or draft and draft.session or nil
end

---@param key string
---@return string?
local function on_key(key)
  if key ~= INTERRUPT or vim.api.nvim_get_mode().mode ~= 'n' then
    return nil
  end
  local session = session_here()
  if not session or not session.job then
    return nil
  end
  vim.schedule(function()
    require('branchline.actions').cancel_job(session)
  end)
  return ''
end

--- Watch for it as long as something is being written.
function M.follow()
  local wanted = false
  for _, session in pairs(require('branchline.session').sessions) do
    wanted = wanted or session.job ~= nil
  end
  wanted = wanted and require('branchline.config').get().keys
  vim.on_key(wanted and on_key or nil, space)
end

return M
