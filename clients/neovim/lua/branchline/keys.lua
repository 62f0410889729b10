--- The keys of our own buffers: one table, from which the maps, the help float and the vimdoc's
--- list are made.
local M = {}

---@class branchline.Key
---@field name string the map is <Plug>(branchline-NAME)
---@field keys string[]
---@field help string

local function tree_action(name)
  return function()
    local tree = require('branchline.tree').get()
    if tree then
      require('branchline.actions')[name](tree)
    end
  end
end

--- The keys of each kind of buffer, in the order in which help shows them.
---@type table<string, branchline.Key[]>
M.KEYS = {
  tree = {
    { name = 'go', keys = { '<CR>' }, help = 'go on from here; a message of yours opens for editing' },
    { name = 'go-with-summary', keys = { 'S' }, help = 'go here, with a summary of what is left' },
    { name = 'compact', keys = { 'c' }, help = 'compact the branch' },
    { name = 'undo', keys = { 'u' }, help = 'take the last move or compaction back' },
    { name = 'redo', keys = { '<C-r>' }, help = 'and make it again' },
    { name = 'ask-here', keys = { 'a' }, help = 'ask from here' },
    { name = 'preview', keys = { 'K' }, help = 'show the whole entry' },
    { name = 'leaf', keys = { 'gl' }, help = 'to where you are in the conversation' },
    { name = 'previous-branch', keys = { '[b' }, help = 'to the sibling branch before' },
    { name = 'next-branch', keys = { ']b' }, help = 'to the sibling branch after' },
    { name = 'previous-user', keys = { '[u' }, help = 'to your message before' },
    { name = 'next-user', keys = { ']u' }, help = 'to your message after' },
    { name = 'previous-label', keys = { '[l' }, help = 'to the label before' },
    { name = 'next-label', keys = { ']l' }, help = 'to the label after' },
    { name = 'label', keys = { 'L' }, help = 'label the entry' },
    { name = 'fork', keys = { 'F' }, help = 'copy the path up to here into a new session' },
    { name = 'rename', keys = { 'R' }, help = 'rename the session' },
    { name = 'open-file', keys = { 'gf' }, help = "open the tool call's file at its line" },
    { name = 'open-image', keys = { 'gx' }, help = 'show an image of the entry in another program' },
    { name = 'yank-entry', keys = { 'gy' }, help = 'yank the text of the entry' },
    { name = 'yank-context', keys = { 'gY' }, help = 'yank what the model is sent from here' },
    { name = 'filter-default', keys = { 'fd' }, help = 'show the usual' },
    { name = 'filter-no-tools', keys = { 'fn' }, help = 'show no tools' },
    { name = 'filter-user', keys = { 'fu' }, help = 'show your messages only' },
    { name = 'filter-labels', keys = { 'fl' }, help = 'show labelled entries only' },
    { name = 'filter-all', keys = { 'fa' }, help = 'show all entries' },
    { name = 'filter-query', keys = { 'f/' }, help = 'show entries that hold words' },
    { name = 'cancel', keys = { '<C-c>' }, help = 'cancel what is being written' },
    { name = 'close', keys = { 'q' }, help = 'close' },
    { name = 'help', keys = { 'g?' }, help = 'show these keys' },
  },
  -- Only where a buffer does not hold all rows; elsewhere these keys are Vim's own.
  search = {
    { name = 'search', keys = { '/' }, help = 'ask the daemon for the next entry with words' },
    { name = 'search-backwards', keys = { '?' }, help = 'for the one before' },
    { name = 'search-next', keys = { 'n' }, help = 'to the next of them' },
    { name = 'search-previous', keys = { 'N' }, help = 'to the one before' },
  },
  hits = {
    { name = 'open', keys = { '<CR>' }, help = 'show the entry in its tree' },
    { name = 'open-split', keys = { 'o' }, help = 'the same in a split' },
    { name = 'preview', keys = { 'K' }, help = 'show the whole entry' },
    { name = 'next-session', keys = { ']]' }, help = 'to the next session' },
    { name = 'previous-session', keys = { '[[' }, help = 'to the session before' },
    { name = 'more', keys = { '>' }, help = 'fetch more hits; so does going to the last line' },
    { name = 'refresh', keys = { 'r' }, help = 'search again; so does :e' },
    { name = 'quickfix', keys = { 'gq' }, help = 'make the hits the quickfix list' },
    { name = 'close', keys = { 'q' }, help = 'close' },
    { name = 'help', keys = { 'g?' }, help = 'show these keys' },
  },
  ask = {
    { name = 'send', keys = { '<C-s>', 'ZZ' }, help = 'send (so does typing :w)' },
    { name = 'store', keys = { 'gs' }, help = 'store it without asking a model' },
    { name = 'discard', keys = { 'gq' }, help = 'throw the text away' },
    { name = 'cancel', keys = { '<C-c>' }, help = 'cancel the answer' },
    { name = 'help', keys = { 'g?' }, help = 'show these keys' },
  },
  draft = {
    { name = 'send', keys = { '<C-s>', 'ZZ' }, help = 'store it (so does typing :w)' },
    { name = 'rewrite', keys = { 'gR' }, help = 'have it written anew, with a focus' },
    { name = 'discard', keys = { 'gq' }, help = 'throw it away' },
    { name = 'cancel', keys = { '<C-c>' }, help = 'cancel the writing' },
    { name = 'help', keys = { 'g?' }, help = 'show these keys' },
  },
  preview = {
    { name = 'open-file', keys = { 'gf' }, help = "open the tool call's file at its line" },
    { name = 'open-image', keys = { 'gx' }, help = 'show an image of the entry in another program' },
    { name = 'close', keys = { 'q' }, help = 'close' },
  },
}

---@type table<string, table<string, fun()>>
local ACTIONS = { tree = {}, search = {}, hits = {}, ask = {}, draft = {}, preview = {} }
for _, kind in ipairs({ 'tree', 'search' }) do
  for _, key in ipairs(M.KEYS[kind]) do
    ACTIONS[kind][key.name] = tree_action((key.name:gsub('-', '_')))
  end
end
for _, key in ipairs(M.KEYS.hits) do
  ACTIONS.hits[key.name] = function()
    require('branchline.hit_actions')[key.name:gsub('-', '_')]()
  end
end
for _, kind in ipairs({ 'ask', 'draft' }) do
  for _, key in ipairs(M.KEYS[kind]) do
    ACTIONS[kind][key.name] = function()
      require('branchline.draft').act((key.name:gsub('-', '_')))
    end
  end
end
ACTIONS.preview['open-file'] = function()
  require('branchline.preview').open_file()
end
ACTIONS.preview['open-image'] = function()
  require('branchline.preview').open_image()
end
ACTIONS.preview.close = function()
  vim.cmd.close()
end

--- Give a buffer its maps: the <Plug> ones always, the keys unless the user wants none.
---@param kind "tree"|"search"|"hits"|"ask"|"draft"|"preview"
---@param buf integer
---@param wanted? boolean whether the keys are wanted at all
function M.map(kind, buf, wanted)
  wanted = wanted ~= false and require('branchline.config').get().keys
  local nowait = kind == 'tree' or kind == 'search' or kind == 'hits'
  for _, key in ipairs(M.KEYS[kind]) do
    local plug = ('<Plug>(branchline-%s)'):format(key.name)
    local help = 'Branchline: ' .. key.help
    vim.keymap.set('n', plug, ACTIONS[kind][key.name], { buffer = buf, desc = help })
    for _, lhs in ipairs(wanted and key.keys or {}) do
      vim.keymap.set('n', lhs, plug, { buffer = buf, remap = true, nowait = nowait, desc = help })
    end
  end
end

--- Where a buffer does not hold all rows, the daemon searches.
---@param buf integer
---@param wanted boolean
function M.search_by_daemon(buf, wanted)
  for _, key in ipairs(wanted and {} or M.KEYS.search) do
    pcall(vim.keymap.del, 'n', key.keys[1], { buffer = buf })
  end
  M.map('search', buf, wanted)
end

--- Show the keys of a kind of buffer in a float.
---@param kind string
function M.help(kind)
  local lines = {}
  local tree = kind == 'tree' and require('branchline.tree').get()
  local keys = tree and not tree:holds_all() and vim.list_slice(M.KEYS.search) or {}
  for _, key in ipairs(vim.list_extend(keys, M.KEYS[kind])) do
    lines[#lines + 1] = ('%-10s %s'):format(table.concat(key.keys, ' '), key.help)
  end
  require('branchline.float').show('Keys', lines)
end

return M
