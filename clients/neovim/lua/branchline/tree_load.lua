--- How a tree fetches its rows. `tree` owns what is shown; this decides what to ask for, and when
--- all is there. Its functions become methods of `branchline.Tree`.

local notify = require('branchline.notify')

local FIRST = 200
local CHUNK = 500
local MOST = 20000
local PASSES = 12

---@class branchline.Tree
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
  self.expanded, self.hidden, self.capped = {}, {}, false
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
function Tree:load()
  self.loads = self.loads + 1
  local load = self.loads
  self.complete = false
  if self.cancel then
    self.cancel()
    self.cancel = nil
  end
  if #self.items == 0 then
    local around = self.session.leafId
    local params = self:_params({ limit = FIRST, around = around })
    self.cancel = self.session:request('session/tree', params, function(problem, answer)
      if self.loads ~= load or problem then
        return
      end
      self:_apply(answer.rows, load, function()
        self:go_to_leaf()
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
---@param base? integer the row that the buffer begins with
function Tree:_fetch(fetched, load, pass, revision, base)
  base = base or 0
  local params = self:_params({ offset = base + #fetched, limit = CHUNK })
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
    elseif pass > 1 and answer.total > MOST then
      -- Too many rows for a buffer: what was opened by this pass is folded again.
      self.expanded = self.opened_before
      self.capped = true
      self:_fetch({}, load, PASSES + 1)
      return
    end
    if base == 0 and #fetched == 0 and answer.total > MOST and (answer.leafRow or 0) >= MOST then
      -- The buffer holds the rows up to a little after the leaf.
      self:_fetch({}, load, pass, answer.revision, math.min(answer.leafRow + CHUNK, answer.total) - MOST)
      return
    end
    vim.list_extend(fetched, answer.rows)
    if #fetched < math.min(answer.total - base, MOST) and #answer.rows > 0 then
      self:_fetch(fetched, load, pass, answer.revision, base)
      return
    end
    self.cancel = nil
    self.left_out = answer.total - #fetched
    self:_apply(fetched, load, function()
      self:_fetched(fetched, load, pass)
    end)
  end)
end

---@param fetched table[]
---@param load integer
---@param pass integer
function Tree:_fetched(fetched, load, pass)
  local before, found = vim.deepcopy(self.expanded), false
  if not self.capped and pass <= PASSES then
    for _, row in ipairs(fetched) do
      if row.folded then
        local key = row.type == 'branches' and (row.parentId or 'root') or row.id
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
  require('branchline.keys').search_by_daemon(self.buf, self.capped or self.left_out > 0)
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
  if not self.complete or self.left_out > 0 or not line then
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
  local params = self:_params({ offset = line - 1, limit = CHUNK })
  self.session:request('session/tree', params, function(problem, answer)
    if self.loads ~= load then
      return
    elseif problem or answer.revision ~= facts.revision or answer.total > line - 1 + #answer.rows then
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
