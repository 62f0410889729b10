--- How a tree fetches its rows. `tree` owns what is shown; this decides what to ask for, and when
--- all is there. Its functions become methods of `branchline.Tree`.

local notify = require('branchline.notify')

local FIRST = 200
local CHUNK = 500
local MOST = 20000
local PASSES = 12
local DEEPEST = 64

---@class (partial) branchline.Tree
local Tree = {}

---@param problem branchline.Error
local function failed(problem)
  local errors = require('branchline.errors')
  if errors.is(problem, 'cancelled') or errors.is(problem, 'gone') then
    return
  end
  notify.problem(problem)
end

--- Change what is shown.
---@param filter string
---@param query? string
function Tree:view(filter, query)
  self.filter, self.query = filter, query
  self.expanded, self.hidden, self.capped, self.middle = {}, {}, false, nil
  self:load()
end

---@param more table
---@return table
function Tree:_params(more)
  local expanded = vim.tbl_keys(self.expanded)
  return vim.tbl_extend('error', {
    filter = self.filter,
    query = self.query,
    runs = 'tools',
    expanded = expanded,
  }, more)
end

--- Fetch all rows: the visible ones first, then the rest in chunks; then again with what was folded
--- opened, until nothing is folded or there would be too many.
---@param first? {around: string, shown: fun()} what is to be seen first, and what then
function Tree:load(first)
  self.loads = self.loads + 1
  local load = self.loads
  self.complete = false
  if self.cancel then
    self.cancel()
    self.cancel = nil
  end
  local tail = self.session.tail
  if tail and #self.items == 0 and not self.query and self.filter == tail.filter then
    self.early = true
    require('branchline.keys').search_by_daemon(self.buf, true)
    self:_apply(tail.rows, load, function()
      self:go_to_leaf()
    end)
  elseif first or #self.items == 0 then
    local around = first and first.around or self.session.leafId
    local params = self:_params({ limit = FIRST, around = around })
    self.cancel = self.session:request('session/tree', params, function(problem, answer)
      if self.loads ~= load or problem then
        return
      end
      self:_apply(answer.rows, load, function()
        if first then
          first.shown()
        else
          self:go_to_leaf()
        end
      end)
    end)
  end
  self:_count_branches(load)
  self:_fetch({}, load, 1)
end

---@param load integer
function Tree:_count_branches(load)
  self.session:request('session/branches', {}, function(problem, answer)
    if self.loads == load and not problem then
      self.branches = #answer.branches
      vim.cmd.redrawstatus({ bang = true })
    end
  end)
end

---@param fetched table[]
---@param load integer
---@param pass integer
---@param revision? integer
---@param base? integer the row that the buffer begins with, once that is known
function Tree:_fetch(fetched, load, pass, revision, base)
  local params = self:_params({ offset = (base or 0) + #fetched, limit = CHUNK })
  self.cancel = self.session:request('session/tree', params, function(problem, answer)
    if self.loads ~= load then
      return
    elseif problem then
      failed(problem)
      return
    elseif revision and answer.revision ~= revision then
      -- Somebody wrote between two chunks.
      self:_fetch({}, load, pass)
      return
    elseif pass > 1 and not self.capped and answer.total > MOST then
      -- Too many rows for a buffer: what was opened by this pass is folded again.
      self.expanded = self.opened_before
      self.capped = true
      self:_fetch({}, load, PASSES + 1)
      return
    end
    if not base and answer.total > MOST then
      self:_choose_base(answer, load, function(chosen)
        self:_fetch({}, load, pass, answer.revision, chosen)
      end)
      return
    end
    vim.list_extend(fetched, answer.rows)
    if #fetched < math.min(answer.total - (base or 0), MOST) and #answer.rows > 0 then
      self:_fetch(fetched, load, pass, answer.revision, base)
      return
    end
    self.cancel = nil
    self.early = false
    self.base = base or 0
    self.left_out = answer.total - #fetched
    self:_apply(fetched, load, function()
      self:_fetched(fetched, load, pass)
    end)
  end)
end

--- Which rows the buffer holds where it cannot hold all: those around the entry that is looked at,
--- else those up to a little after the leaf.
---@param answer {total: integer, leafRow: integer?}
---@param load integer
---@param callback fun(base: integer)
function Tree:_choose_base(answer, load, callback)
  local function within(base)
    callback(math.max(0, math.min(base, answer.total - MOST)))
  end
  if not self.middle then
    return within((answer.leafRow or 0) + CHUNK - MOST)
  end
  self.session:request('session/tree', self:_params({ around = self.middle, limit = 1 }), function(problem, around)
    if self.loads ~= load then
      return
    elseif problem then
      self.middle = nil -- it is gone
      return self:_choose_base(answer, load, callback)
    end
    within(around.offset - MOST / 2)
  end)
end

--- What opens a row that stands for several.
---@param row table
---@return string
local function key_of(row)
  return row.type == 'branches' and (row.parentId or 'root') or row.id
end

--- Have the row of an entry in the buffer: fetch what is around it, and open what hides it.
---@param id string
---@param callback fun(line: integer) of its row, or of the one that stands for it
---@param tries? integer
function Tree:_show_row(id, callback, tries)
  tries = tries or DEEPEST
  local line = self:_line_now(id)
  if line then
    return callback(line)
  end
  self.session:request('session/tree', self:_params({ around = id, limit = 1 }), function(problem, answer)
    local row = not problem and answer.rows[1]
    if problem or not row then
      return failed(problem or { code = 0, message = 'It is not in this tree', data = { kind = 'notFound' } })
    end
    local is_itself = row.id == id and row.type ~= 'branches' and row.type ~= 'run'
    if row.folded and not is_itself and not self.expanded[key_of(row)] and tries > 0 then
      self.expanded[key_of(row)] = true
      return self:_show_row(id, callback, tries - 1)
    end
    self.middle = row.id
    self:load({
      around = row.id,
      shown = function()
        local shown = self:_line_now(row.id)
        if shown then
          callback(shown)
        end
      end,
    })
  end)
end

--- Whether Vim's own search sees all there is.
---@return boolean
function Tree:holds_all()
  return not self.early and not self.capped and self.left_out == 0
end

---@param fetched table[]
---@param load integer
---@param pass integer
function Tree:_fetched(fetched, load, pass)
  local before, found = vim.deepcopy(self.expanded), false
  self.capped = self.capped or self.left_out > 0 -- nothing more is opened where rows are left out already
  if not self.capped and pass <= PASSES then
    for _, row in ipairs(fetched) do
      if row.folded then
        local key = key_of(row)
        if row.type ~= 'branches' then
          self.hidden[(row.type == 'run' and 'run ' or '') .. row.id] = row.hidden
        end
        if not self.expanded[key] then
          self.expanded[key] = true
          found = true
        end
      end
    end
  end
  if found then
    self.opened_before = before
    self:_fetch({}, load, pass + 1)
    return
  end
  self.complete = true
  require('branchline.keys').search_by_daemon(self.buf, not self:holds_all())
  local waiting = self.waiting
  self.waiting = {}
  for _, callback in ipairs(waiting) do
    callback()
  end
  vim.api.nvim_exec_autocmds('User', {
    pattern = 'BranchlineTree',
    modeline = false,
    data = { buf = self.buf, path = self.session.path },
  })
end

--- Do something once all rows are here.
---@param callback fun()
function Tree:when_complete(callback)
  if self.complete then
    callback()
  else
    self.waiting[#self.waiting + 1] = callback
  end
end

-- Entries that change no row but those at the leaf, where they are appended.
local PLAIN = { message = true, custom = true, custom_message = true, model_change = true }

--- Whether a change only goes on from the leaf: no row above the leaf's looks different then.
---@param facts table of `session/changed`
---@return boolean
local function goes_on(facts)
  local above = facts.previousLeafId
  for _, entry in ipairs(facts.appended) do
    if not PLAIN[entry.type] or entry.parentId ~= above then
      return false
    end
    above = entry.id
  end
  return #facts.appended > 0 and above == facts.leafId and next(facts.labels or {}) == nil
end

--- Fetch the rows from the leaf on, and keep those above; all of them if anything else changed.
---@param facts table of `session/changed`
function Tree:_extend(facts)
  local line = self:leaf_line()
  if not self.complete or not line or self.left_out > self.base then
    return self:_reload_soon()
  end
  -- Tool rows before the leaf may become a run with what comes, so they are asked for as well.
  while line > 1 and self.items[line - 1].row.role == 'toolResult' do
    line = line - 1
  end
  self.loads = self.loads + 1
  local load = self.loads
  self.complete = false
  self:_count_branches(load)
  local above = self.base + line - 1
  local params = self:_params({ offset = above, limit = CHUNK })
  self.session:request('session/tree', params, function(problem, answer)
    if self.loads ~= load then
      return
    elseif problem or answer.revision ~= facts.revision or answer.total > above + #answer.rows then
      return self:load()
    end
    local all = {}
    for at = 1, line - 1 do
      all[at] = self.items[at].row
    end
    vim.list_extend(all, answer.rows)
    self:_apply(all, load, function()
      self:_fetched(all, load, 1)
    end)
  end)
end

--- Bring the rows up to date after a change.
---@param facts table of `session/changed`
function Tree:_take_change(facts)
  if goes_on(facts) then
    self:_extend(facts)
  else
    self:_reload_soon()
  end
end

return Tree
