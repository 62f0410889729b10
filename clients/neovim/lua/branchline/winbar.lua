--- What is said above a tree: its name, branches, tokens and filter, and what is going on.
local M = {}

local rows = require('branchline.rows')
local text = require('branchline.text')

--- What is said above the tree.
---@param tree branchline.Tree
---@param win integer
---@return string
function M.of(tree, win)
  local session = tree.session
  local separator = rows.SIGNS[require('branchline.config').get().icons].separator
  local parts = { 'the rest is still being read', tree.filter }
  if not tree.early then
    parts = {
      text.plural(tree.branches, 'branch'),
      ('%s/%s'):format(text.count(session.usage.tokens), text.count(session.usage.contextWindow)),
      tree.filter,
    }
  end
  if tree.query then
    parts[#parts + 1] = ('"%s"'):format(tree.query)
  end
  if tree.left_out > 0 then
    parts[#parts + 1] = ('%d rows left out'):format(tree.left_out)
  end
  if session.job then
    parts[#parts + 1] = M.job_text(session.job)
  elseif session.connection.state ~= 'ready' then
    parts[#parts + 1] = session.connection.state == 'failed' and 'no daemon; :Branchline restart'
      or 'no daemon, trying again'
  elseif session.info.readOnly then
    parts[#parts + 1] = 'read only'
  end
  local leaf, where = tree:leaf_line(), ''
  if leaf and leaf > vim.fn.line('w$', win) then
    where = '↓ here   '
  elseif leaf and leaf < vim.fn.line('w0', win) then
    where = '↑ here   '
  end
  local rest = separator .. table.concat(parts, separator)
  local keys = where .. 'g? keys '
  local room = vim.api.nvim_win_get_width(win) - vim.api.nvim_strwidth(rest .. keys) - 3
  local title = text.crop(session:title(), math.max(8, room))
  return ' ' .. text.escape_statusline(title .. rest) .. '%=' .. text.escape_statusline(keys)
end

---@param job table
---@return string
function M.job_text(job)
  local what = ({ compaction = 'compacting', branch = 'summarising', prompt = 'answering' })[job.kind] or job.kind
  return job.percent and job.percent > 0 and ('%s %d%%'):format(what, job.percent) or what
end

return M
