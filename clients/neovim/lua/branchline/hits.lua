--- The buffer of search hits: what is found in all sessions, asked for again while the daemon still
--- reads what is new. There is one such buffer; another search takes its place.
local M = {}

local notify = require('branchline.notify')
local text = require('branchline.text')
local client = require('branchline.client')

local PAGE = 50
local PER_SESSION = 3
local NAME = 'branchline://search'

local space = vim.api.nvim_create_namespace('branchline_hits')

---@class branchline.Hits
---@field connection branchline.Connection
---@field query string
---@field all boolean of all folders
---@field pages branchline.Hit[][]
---@field cursor? string where the next page begins; nil if there is none
---@field indexing? table what the daemon has yet to read
---@field lines branchline.HitLine[]
---@field sessions integer of how many sessions hits are shown
---@field asking boolean
---@field again boolean whether to ask anew after the answer that is awaited
---@field wants_more boolean whether somebody waits for the next page after that
local Hits = {}
Hits.__index = Hits

--- The search that is shown, or is to be.
---@type branchline.Hits?
M.current = nil

---@type integer?
local buffer

---@param count integer
---@return string
local function thousands(count)
  return (tostring(count):reverse():gsub('(%d%d%d)', '%1,'):reverse():gsub('^,', ''))
end

-- ---------------------------------------------------------------------------- asking

---@return integer
function Hits:count()
  local count = 0
  for _, page in ipairs(self.pages) do
    count = count + #page
  end
  return count
end

--- Fetch pages until there are so many hits, or all.
---@param pages branchline.Hit[][] those that are there
---@param missing integer
---@param cursor? string
---@param callback fun(problem: branchline.Error?)
function Hits:_fetch(pages, missing, cursor, callback)
  self.connection:request('session/search', {
    query = self.query,
    scope = self.all and 'all' or 'workspace',
    perSession = PER_SESSION,
    limit = math.max(PAGE, missing),
    cursor = cursor,
  }, function(problem, answer)
    if M.current ~= self then
      self.asking = false -- another search has taken its place
      return
    elseif problem then
      self.asking, self.again, self.wants_more = false, false, false
      return callback(problem)
    end
    pages[#pages + 1] = answer.hits
    missing = missing - #answer.hits
    if missing > 0 and answer.nextCursor then
      return self:_fetch(pages, missing, answer.nextCursor, callback)
    end
    self.asking, self.pages, self.cursor, self.indexing = false, pages, answer.nextCursor, answer.indexing
    callback(nil)
    if self.again then
      self.again = false
      self:refresh()
    elseif self.wants_more then
      self:more(true)
    else
      self:more_at_end()
    end
  end)
end

--- Tell of a problem; of one with the query in words that do not speak of parameters.
---@param problem branchline.Error
local function tell(problem)
  if type(problem.data) == 'table' and problem.data.parameter == 'query' then
    return notify.error((problem.message:gsub("^Parameter 'query'", 'The query')))
  end
  notify.problem(problem)
end

--- Ask again, for as many hits as there are.
---@param done? fun(problem: branchline.Error?)
function Hits:refresh(done)
  if self.asking then
    self.again = true
    return
  end
  self.asking = true
  self:_fetch({}, math.max(1, self:count()), nil, function(problem)
    if problem then
      self.indexing = nil
      tell(problem)
    else
      self:_draw(1)
    end
    if done then
      done(problem)
    end
  end)
end

--- Fetch the next page.
---@param is_asked_for boolean whether a person waits for an answer
function Hits:more(is_asked_for)
  if self.asking then
    self.wants_more = self.wants_more or is_asked_for
    return
  end
  self.wants_more = false
  if not self.cursor then
    return is_asked_for and notify.info('These are all')
  end
  self.asking = true
  local first = #self.pages + 1
  self:_fetch(vim.list_slice(self.pages), 1, self.cursor, function(problem)
    if problem then
      return notify.problem(problem)
    end
    self:_draw(first)
  end)
end

--- Fetch the next page if the cursor is on the last line.
function Hits:more_at_end()
  if self.cursor and vim.api.nvim_get_current_buf() == buffer and vim.fn.line('.') == #self.lines then
    self:more(false)
  end
end

--- Search the sessions of this folder, or all, and show what is found.
---@param query string
---@param options {all?: boolean, command?: string}
function M.search(query, options)
  local list = setmetatable({
    connection = client.connect(),
    query = query,
    all = options.all or false,
    pages = {},
    lines = {},
    sessions = 0,
    asking = false,
    again = false,
    wants_more = false,
  }, Hits)
  local before = M.current
  M.current = list
  require('branchline.session') -- it passes on what the daemon tells
  list:refresh(function(problem)
    if problem then
      M.current = before
    elseif list:count() == 0 and not list.indexing then
      M.current = before
      notify.info(
        list.all and ('No session has %s'):format(query)
          or ('No session of this folder has %s; :Branchline search! looks in all'):format(query)
      )
    else
      list:_show(options.command or 'edit')
    end
  end)
end

--- Ask for a query, then search.
---@param options {all?: boolean, command?: string}
function M.ask(options)
  vim.ui.input({
    prompt = options.all and 'Search all sessions: ' or 'Search: ',
    completion = "customlist,v:lua.require'branchline.query'.complete_input",
  }, function(query)
    if query and vim.trim(query) ~= '' then
      M.expand_and_search(query, options)
    end
  end)
end

--- Search for what was typed, where `file:%` is the file of the current buffer.
---@param query string
---@param options {all?: boolean, command?: string}
function M.expand_and_search(query, options)
  local expanded = require('branchline.query').expand(query, vim.api.nvim_buf_get_name(0), client.root())
  if not expanded then
    return notify.error('file:% needs a buffer with a file')
  end
  M.search(expanded, options)
end

--- The daemon has read more of what is new.
---@param connection branchline.Connection
---@param progress {sessions: integer, ofSessions: integer}
function M.on_indexing(connection, progress)
  local list = M.current
  if not list or list.connection ~= connection or not (list.indexing or list.asking) then
    return
  end
  if list.indexing then
    list.indexing = progress
    vim.cmd.redrawstatus({ bang = true })
  end
  list:refresh()
end

-- ---------------------------------------------------------------------------- the buffer

---@param win integer
local function set_window_options(win)
  require('branchline.window').set_rows(win, {
    foldmethod = 'manual',
    winbar = "%{%v:lua.require'branchline.hits'.winbar()%}",
  })
end

---@return integer
local function make_buffer()
  if buffer and vim.api.nvim_buf_is_valid(buffer) then
    return buffer
  end
  require('branchline.highlights').define()
  local buf = vim.api.nvim_create_buf(true, true)
  vim.bo[buf].bufhidden = 'hide'
  vim.bo[buf].modifiable = false
  vim.bo[buf].undolevels = -1
  pcall(vim.api.nvim_buf_set_name, buf, NAME)
  vim.bo[buf].buftype = 'nofile'
  vim.bo[buf].swapfile = false
  local group = vim.api.nvim_create_augroup('branchline_hits', {})
  local function on(event, callback)
    vim.api.nvim_create_autocmd(event, { group = group, buffer = buf, callback = callback })
  end
  on('BufWinEnter', function()
    set_window_options(vim.api.nvim_get_current_win())
  end)
  on('BufReadCmd', function()
    vim.bo[buf].modifiable = false
    if M.current then
      M.current:_draw(1)
      M.current:refresh()
    end
  end)
  on('CursorMoved', function()
    if M.current then
      M.current:more_at_end()
    end
  end)
  on('BufWipeout', function()
    buffer, M.current = nil, nil
  end)
  require('branchline.keys').map('hits', buf)
  buffer = buf
  return buf
end

--- Show the buffer: in the window where it is, else in one that a command makes.
---@param command string edit, split, vsplit, tabedit, with modifiers
function Hits:_show(command)
  local buf = make_buffer()
  local win = vim.fn.win_findbuf(buf)[1]
  if win then
    vim.api.nvim_set_current_win(win)
  else
    require('branchline.tree').place(buf, command)
    set_window_options(vim.api.nvim_get_current_win())
  end
  vim.bo[buf].filetype = 'branchline-search'
  self:_draw(1)
  vim.api.nvim_win_set_cursor(0, { math.min(2, math.max(1, #self.lines)), 0 })
end

---@param line branchline.HitLine
---@return string
local function key_of(line)
  return line.path .. '\n' .. (line.entryId or '')
end

--- Make the buffer equal to the hits, from a page on, with every cursor on the hit it was on.
---@param first integer
function Hits:_draw(first)
  if M.current ~= self or not buffer or not vim.api.nvim_buf_is_loaded(buffer) then
    return
  end
  local buf, icons, now = buffer, require('branchline.config').get().icons, os.time()
  local old = self.lines
  local lines = first > 1 and vim.list_slice(old) or {}
  local kept = #lines
  for at = first, #self.pages do
    local above = lines[#lines]
    vim.list_extend(lines, require('branchline.hit_lines').of(self.pages[at], icons, now, above and above.path))
  end
  local places = {}
  for _, win in ipairs(first == 1 and vim.fn.win_findbuf(buf) or {}) do
    local at = vim.api.nvim_win_get_cursor(win)
    places[win] = { line = old[at[1]], at = at }
  end
  self.lines = lines
  local new = vim.list_slice(lines, kept + 1)
  vim.bo[buf].modifiable = true
  vim.api.nvim_buf_clear_namespace(buf, space, kept, -1)
  vim.api.nvim_buf_set_lines(
    buf,
    kept,
    -1,
    false,
    vim.tbl_map(function(line)
      return line.text
    end, new)
  )
  vim.bo[buf].modifiable = false
  for offset, line in ipairs(new) do
    self:_mark(line, kept + offset - 1)
  end
  local at_key, paths = {}, {}
  for at, line in ipairs(lines) do
    at_key[key_of(line)] = at
    paths[line.path] = true
  end
  self.sessions = vim.tbl_count(paths)
  for win, place in pairs(places) do
    local row = place.line and at_key[key_of(place.line)] or place.at[1]
    vim.api.nvim_win_set_cursor(win, { math.max(1, math.min(row, #lines)), place.at[2] })
  end
  vim.cmd.redrawstatus({ bang = true })
end

---@param line branchline.HitLine
---@param at integer from 0
function Hits:_mark(line, at) -- luacheck: no self
  local buf = assert(buffer)
  vim.api.nvim_buf_set_extmark(buf, space, at, 0, {
    end_col = #line.text,
    hl_group = line.highlight,
    virt_text = { { line.right, 'BranchlineNumber' } },
    virt_text_pos = 'right_align',
  })
  for _, match in ipairs(line.matches) do
    vim.api.nvim_buf_set_extmark(buf, space, at, match[1], { end_col = match[2], hl_group = 'BranchlineMatch' })
  end
end

--- What is said above the hits.
---@return string
function M.winbar()
  local list = M.current
  if not list then
    return ''
  end
  local found = text.plural(list:count(), 'hit')
  if list.cursor then
    found = found:gsub('%d+', '%0+')
  end
  local parts = { ('%s in %s'):format(found, text.plural(list.sessions, 'session')) }
  if list.all then
    parts[#parts + 1] = 'all folders'
  end
  if list.indexing then
    parts[#parts + 1] = ('indexing %s of %s sessions'):format(
      thousands(list.indexing.sessions),
      thousands(list.indexing.ofSessions)
    )
  end
  local separator = require('branchline.rows').SIGNS[require('branchline.config').get().icons].separator
  local rest = separator .. table.concat(parts, separator)
  local keys = (list.cursor and '> more   ' or '') .. 'g? keys '
  local room = vim.api.nvim_win_get_width(0) - vim.api.nvim_strwidth(rest .. keys) - 3
  local query = text.crop(text.clean(list.query), math.max(8, room))
  return ' ' .. text.escape_statusline(query .. rest) .. '%=' .. text.escape_statusline(keys)
end

return M
