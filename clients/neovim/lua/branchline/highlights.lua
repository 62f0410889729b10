--- The highlight groups; each is only a default.
local M = {}

M.GROUPS = {
  BranchlineLane = 'NonText',
  BranchlineText = 'Normal',
  BranchlineUser = 'Title',
  BranchlineTool = 'Comment',
  BranchlineElsewhere = 'Comment',
  BranchlineCovered = 'NonText',
  BranchlineSummary = 'Special',
  BranchlineLeaf = 'Title',
  BranchlineError = 'DiagnosticError',
  BranchlineLabel = 'DiagnosticOk',
  BranchlineHere = 'DiagnosticInfo',
  BranchlineNumber = 'LineNr',
  BranchlineStream = 'Comment',
  BranchlineKey = 'Special',
  BranchlineSession = 'Directory',
  BranchlineMatch = 'Search',
}

function M.define()
  for name, link in pairs(M.GROUPS) do
    vim.api.nvim_set_hl(0, name, { link = link, default = true })
  end
end

return M
