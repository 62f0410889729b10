--- Buffers to write in: a message to the model, or a summary before it is stored.
---
--- Only a `:w` that a person typed in such a buffer (or its keys) sends. `:wa`, 'autowriteall',
--- autosave plugins and the like keep the text, in a file of the user's alone, and send nothing. A
--- summary is kept as soon as it has come: it was paid for.
local M = {}

local notify = require('branchline.notify')
local text = require('branchline.text')

local OLD_S = 30 * 86400

---@class branchline.DraftSpec
---@field kind "ask"|"draft"
---@field key string names the draft among those of its session
---@field title string
---@field session branchline.Session
---@field lines string[] what it begins with, if nothing was kept
---@field note? string
---@field send fun(draft: branchline.Draft, content: string)
---@field store? fun(draft: branchline.Draft, content: string)
---@field rewrite? fun(draft: branchline.Draft)
---@field discarded? fun()
---@field anew? boolean whether a text that was kept is about to be replaced

---@class branchline.Draft: branchline.DraftSpec
---@field buf integer
---@field file string where it is kept
---@field kept boolean whether it began with a text that was kept
---@field id? string what the daemon calls a summary that it has just written
---@field busy? string what is being done, in a word
local Draft = {}
Draft.__index = Draft

---@type table<integer, branchline.Draft> by buffer
M.drafts = {}

---@type table<integer, true> buffers in which a writing command was just typed
local typed = {}

--- Whether a command line, as typed, writes the current buffer as a whole and under its own name.
---@param line string
---@return boolean
function M.is_write(line)
  local parsed, command = pcall(vim.api.nvim_parse_cmd, line, {})
  if not parsed then
    return false
  end
  local writes = { write = true, wq = true, xit = true, exit = true, update = true }
  return writes[command.cmd] == true
    and #(command.args or {}) == 0
    and (command.range == nil or #command.range == 0)
    and not line:find('>>', 1, true)
end

local function watch_command_line()
  vim.api.nvim_create_autocmd('CmdlineLeave', {
    group = vim.api.nvim_create_augroup('branchline_typed_write', {}),
    pattern = ':',
    callback = function()
      local buf = vim.api.nvim_get_current_buf()
      if M.drafts[buf] and not vim.v.event.abort and M.is_write(vim.fn.getcmdline()) then
        typed[buf] = true
        vim.schedule(function()
          typed[buf] = nil
        end)
      end
    end,
  })
end

---@param path string
---@return string[]?
local function read(path)
  if vim.uv.fs_stat(path) then
    return vim.fn.readfile(path)
  end
end

---@param path string
---@param lines string[]
local function keep(path, lines)
  vim.fn.mkdir(vim.fs.dirname(path), 'p', '0700')
  local file = assert(vim.uv.fs_open(path, 'w', tonumber('600', 8)))
  vim.uv.fs_write(file, table.concat(lines, '\n') .. '\n')
  vim.uv.fs_close(file)
end

local function folder()
  return vim.fs.joinpath(vim.fn.stdpath('state') --[[@as string]], 'branchline', 'drafts')
end

---@param spec {kind: string, key: string, session: branchline.Session}
---@return string
local function name_of(spec)
  return ('%s-%s'):format(spec.kind, vim.fn.sha256(spec.session.path .. '\n' .. spec.key):sub(1, 12))
end

---@param spec {kind: string, key: string, session: branchline.Session}
---@return string
local function file_of(spec)
  return vim.fs.joinpath(folder(), name_of(spec) .. '.md')
end

--- Whether there is a text of such a draft, from now or from before.
---@param spec {kind: string, key: string, session: branchline.Session}
---@return boolean
function M.is_kept(spec)
  return M.find(spec.key, spec.session) ~= nil or vim.uv.fs_stat(file_of(spec)) ~= nil
end

--- Forget what nobody came back to: a summary fits only where it was written.
local function forget_old()
  for name in vim.fs.dir(folder()) do
    local path = vim.fs.joinpath(folder(), name)
    local stat = vim.uv.fs_stat(path)
    if vim.startswith(name, 'draft-') and stat and os.time() - stat.mtime.sec > OLD_S then
      vim.uv.fs_unlink(path)
    end
  end
end

--- The draft of the current buffer.
---@return branchline.Draft?
function M.get()
  return M.drafts[vim.api.nvim_get_current_buf()]
end

---@param key string
---@param session branchline.Session
---@return branchline.Draft?
function M.find(key, session)
  for _, draft in pairs(M.drafts) do
    if draft.key == key and draft.session.path == session.path then
      return draft
    end
  end
end

--- Show a draft in a split; the same one if it is there already.
---@param spec branchline.DraftSpec
---@return branchline.Draft
function M.open(spec)
  local known = M.find(spec.key, spec.session)
  if known then
    known:show()
    return known
  end
  if next(M.drafts) == nil then
    watch_command_line()
    forget_old()
  end
  local buf = vim.api.nvim_create_buf(true, false)
  local draft = setmetatable(spec --[[@as table]], Draft) --[[@as branchline.Draft]]
  draft.buf = buf
  draft.file = file_of(spec)
  M.drafts[buf] = draft
  vim.api.nvim_buf_set_name(buf, 'branchline://' .. name_of(spec) .. '.md')
  vim.bo[buf].buftype = 'acwrite'
  vim.bo[buf].bufhidden = 'hide'
  vim.bo[buf].swapfile = false
  local kept = read(draft.file)
  draft.kept = kept ~= nil
  draft:set(kept or spec.lines)
  vim.bo[buf].modified = false
  local group = vim.api.nvim_create_augroup('branchline_draft_' .. buf, {})
  vim.api.nvim_create_autocmd('BufWriteCmd', {
    group = group,
    buffer = buf,
    callback = function(event)
      draft:_written(event.match)
    end,
  })
  local let_go = spec.session:listen(function() end) -- as long as there is a draft, we follow it
  vim.api.nvim_create_autocmd('BufWipeout', {
    group = group,
    buffer = buf,
    callback = function()
      M.drafts[buf] = nil
      let_go()
      pcall(vim.api.nvim_del_augroup_by_id, group)
    end,
  })
  draft:show()
  vim.bo[buf].filetype = 'markdown'
  require('branchline.keys').map(spec.kind, buf)
  if kept and not spec.anew then
    notify.info('This is the text that was kept' .. (spec.rewrite and '; gR has it written anew' or ''))
  end
  return draft
end

function Draft:show()
  local win = vim.fn.win_findbuf(self.buf)[1]
  if win then
    vim.api.nvim_set_current_win(win)
  else
    vim.cmd('botright split')
    vim.api.nvim_win_set_buf(0, self.buf)
    vim.api.nvim_win_set_height(0, math.max(6, math.floor(vim.o.lines / 3)))
  end
  self:_head()
end

function Draft:_head()
  local what = self.busy or (self.kind == 'ask' and ':w sends' or ':w stores')
  local head = ('%s%s · %s'):format(self.title, self.note and ' · ' .. self.note or '', what)
  for _, win in ipairs(vim.fn.win_findbuf(self.buf)) do
    require('branchline.window').set(win, {
      winbar = ' ' .. text.escape_statusline(head) .. '%=g? keys ',
      wrap = true,
      linebreak = true,
    })
  end
end

---@param lines string[]
function Draft:set(lines)
  local was = vim.bo[self.buf].modifiable
  vim.bo[self.buf].modifiable = true
  vim.api.nvim_buf_set_lines(self.buf, 0, -1, false, lines)
  vim.bo[self.buf].modifiable = was
end

---@return string
function Draft:content()
  return vim.trim(table.concat(vim.api.nvim_buf_get_lines(self.buf, 0, -1, false), '\n'))
end

--- Say what is being done with it, and let nobody write in it meanwhile; nil ends that.
---@param what? string
function Draft:set_busy(what)
  self.busy = what
  if vim.api.nvim_buf_is_valid(self.buf) then
    vim.bo[self.buf].modifiable = what == nil
    vim.bo[self.buf].modified = false
    self:_head()
  end
end

---@param name string the name that is written to
function Draft:_written(name)
  local lines = vim.api.nvim_buf_get_lines(self.buf, 0, -1, false)
  if name ~= vim.api.nvim_buf_get_name(self.buf) then
    vim.fn.writefile(lines, name)
    return
  end
  if typed[self.buf] then
    typed[self.buf] = nil
    vim.bo[self.buf].modified = false
    self:submit()
  else
    if not self.busy then
      keep(self.file, lines)
    end
    vim.bo[self.buf].modified = false
  end
end

--- Keep the text as it is now, beyond the end of the editor.
function Draft:keep()
  keep(self.file, vim.api.nvim_buf_get_lines(self.buf, 0, -1, false))
end

--- Send or store the text, as its kind has it.
function Draft:submit()
  if self.busy then
    notify.info('Wait: it is ' .. self.busy)
  elseif self:content() == '' then
    notify.info('There is nothing to send')
  else
    self:keep()
    self.send(self, self:content())
  end
end

--- Close the draft and forget its text.
function Draft:finish()
  if vim.uv.fs_stat(self.file) then
    vim.uv.fs_unlink(self.file)
  end
  if vim.api.nvim_buf_is_valid(self.buf) then
    vim.api.nvim_buf_delete(self.buf, { force = true })
  end
end

--- Close its windows; the text stays.
function Draft:hide()
  for _, win in ipairs(vim.fn.win_findbuf(self.buf)) do
    if #vim.api.nvim_tabpage_list_wins(vim.api.nvim_win_get_tabpage(win)) > 1 then
      vim.api.nvim_win_close(win, true)
    end
  end
end

--- What the keys of the buffer do.
---@type table<string, fun(draft: branchline.Draft)>
local ACTS = {
  send = Draft.submit,
  store = function(draft)
    if draft.store and not draft.busy and draft:content() ~= '' then
      draft.store(draft, draft:content())
    end
  end,
  rewrite = function(draft)
    if draft.rewrite and not draft.busy then
      draft.rewrite(draft)
    end
  end,
  discard = function(draft)
    if draft.discarded then
      draft.discarded()
    end
    draft:finish()
  end,
  cancel = function(draft)
    require('branchline.actions').cancel_job(draft.session)
  end,
  help = function(draft)
    require('branchline.keys').help(draft.kind)
  end,
}

---@param name string
function M.act(name)
  local draft = M.get()
  if draft then
    ACTS[name](draft)
  end
end

return M
