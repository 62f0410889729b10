--- What is asked of the daemon and what it tells, by name. A test compares this with the daemon.
local M = {}

M.REQUESTS = {
  'session/list',
  'session/create',
  'session/open',
  'session/close',
  'session/append',
  'session/tree',
  'session/tail',
  'session/locate',
  'session/find',
  'session/search',
  'session/entries',
  'session/branches',
  'session/context',
  'session/switchLeaf',
  'session/undo',
  'session/compact',
  'session/prompt',
  'session/cancel',
  'session/label',
  'session/rename',
  'session/fork',
  'session/export',
}

M.NOTIFICATIONS = {
  'session/changed',
  'session/reset',
  'session/busy',
  'session/summaryText',
  'session/messageText',
  'session/indexing',
}

return M
