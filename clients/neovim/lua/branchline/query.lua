--- What is typed after `:Branchline search`: its completion, and the file that `file:%` means.
local M = {}

local ROLES =
  { 'user', 'assistant', 'tool', 'bash', 'custom', 'summary', 'compaction', 'branchSummary', 'label', 'name' }
local TOOLS = { 'bash', 'edit', 'find', 'grep', 'ls', 'read', 'write' } -- Pi's own

--- A value as it must be written in a query.
---@param value string
---@return string
local function quoted(value)
  if not value:find('[%s"]') then
    return value
  end
  return ('"%s"'):format(value:gsub('"', ' '))
end

---@param value string what of it is typed
---@return string[]
local function dates(value)
  local today = os.date('!%Y-%m-%d') --[[@as string]]
  local found = { today, today:sub(1, 7), today:sub(1, 4) }
  return vim.tbl_filter(function(date)
    return vim.startswith(date, value)
  end, found)
end

---@param known string[]
---@return fun(value: string): string[]
local function among(known)
  return function(value)
    return vim.tbl_filter(function(name)
      return vim.startswith(name:lower(), value:lower())
    end, known)
  end
end

---@param kind "file"|"dir"
---@return fun(value: string): string[]
local function paths(kind)
  return function(value)
    return vim.tbl_map(quoted, vim.fn.getcompletion(value, kind))
  end
end

--- What may stand behind each of them.
---@type table<string, fun(value: string): string[]>
local VALUES = {
  role = among(ROLES),
  tool = among(TOOLS),
  file = function(value)
    return vim.list_extend(vim.startswith('%', value) and { '%' } or {}, paths('file')(value))
  end,
  before = dates,
  after = dates,
  ['in'] = paths('dir'),
}

M.NAMES = { 'role', 'tool', 'file', 'before', 'after', 'in' }

--- The completions of a term.
---@param lead string
---@return string[]
function M.complete(lead)
  local minus, term = lead:match('^(%-?)(.*)$')
  local name, value = term:match('^(%l+):(.*)$')
  if name then
    return vim.tbl_map(function(found)
      return ('%s%s:%s'):format(minus, name, found)
    end, VALUES[name] and VALUES[name](value) or {})
  end
  local found = {}
  for _, known in ipairs(M.NAMES) do
    if vim.startswith(known, term) then
      found[#found + 1] = ('%s%s:'):format(minus, known)
    end
  end
  return found
end

--- The same where the lead is all that was typed.
---@param lead string
---@return string[]
function M.complete_input(lead)
  local before, term = lead:match('^(.-)(%S*)$')
  return vim.tbl_map(function(found)
    return before .. found
  end, M.complete(term))
end

--- The query with the path of a file for each `file:%`.
---@param query string
---@param name string the name of the buffer that % means
---@param root string paths are relative to it
---@return string? query nil if the buffer has no file
function M.expand(query, name, root)
  local terms = vim.split(query, '%s+')
  for at, term in ipairs(terms) do
    local before = term:match('^(%-?file:)%%$')
    if before then
      if name == '' or name:match('^%a[%w+.-]*://') then
        return nil
      end
      local path = vim.fs.normalize(vim.uv.fs_realpath(name) or name, { expand_env = false })
      terms[at] = before .. quoted(vim.fs.relpath(root, path) or path)
    end
  end
  return table.concat(terms, ' ')
end

return M
