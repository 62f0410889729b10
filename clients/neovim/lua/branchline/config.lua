--- The options. `OPTIONS` is their one table: defaults, checks and the vimdoc are made from it or
--- compared with it. They are read when they are used, so `vim.g.branchline` may change at any time.
local M = {}

---@class branchline.Option
---@field name string
---@field default any
---@field type string the `type()` of a value; "choice" if `choices` are all there is
---@field choices? string[]
---@field optional? boolean nil is a value too
---@field help string

---@class branchline.Options
---@field filter "default"|"noTools"|"userOnly"|"labeledOnly"|"all"
---@field icons "unicode"|"ascii"
---@field keys boolean
---@field open string
---@field settings table
---@field summarize? fun(request: branchline.SummaryRequest, done: fun(answer: table?))

---@type branchline.Option[]
M.OPTIONS = {
  {
    name = 'filter',
    default = 'default',
    type = 'choice',
    choices = { 'default', 'noTools', 'userOnly', 'labeledOnly', 'all' },
    help = 'What a tree shows when it is opened.',
  },
  {
    name = 'icons',
    default = 'unicode',
    type = 'choice',
    choices = { 'unicode', 'ascii' },
    help = 'What the lanes and signs are drawn with.',
  },
  {
    name = 'keys',
    default = true,
    type = 'boolean',
    help = 'Whether our own buffers get their keys. The <Plug> maps are there anyway.',
  },
  {
    name = 'open',
    default = 'edit',
    type = 'string',
    help = 'The command that makes the window of a tree: edit, split, vsplit, tabedit.',
  },
  {
    name = 'settings',
    default = {},
    type = 'table',
    help = "The daemon's settings, as PROTOCOL.md has them.",
  },
  {
    name = 'summarize',
    default = nil,
    optional = true,
    type = 'function',
    help = 'Writes summaries in place of the daemon; see |branchline-summarize|.',
  },
}

---@type table<string, any>
local from_setup = {}

--- What is wrong with these options, as sentences; empty if nothing is.
---@param options table<string, any>
---@return string[]
function M.problems(options)
  local known, found = {}, {}
  for _, option in ipairs(M.OPTIONS) do
    known[option.name] = true
    local value = options[option.name]
    local wrong
    if value == nil then
      wrong = nil
    elseif option.type == 'choice' then
      if not vim.list_contains(option.choices, value) then
        wrong = 'one of ' .. table.concat(option.choices, ', ')
      end
    elseif type(value) ~= option.type then
      wrong = 'a ' .. option.type
    end
    if wrong then
      found[#found + 1] = ('%s must be %s'):format(option.name, wrong)
    end
  end
  for name in pairs(options) do
    if not known[name] then
      found[#found + 1] = ('%s is no option'):format(name)
    end
  end
  table.sort(found)
  return found
end

--- What the user has set, unchecked.
---@return table<string, any>
function M.given()
  local global = vim.g.branchline
  return vim.tbl_extend('force', type(global) == 'table' and global or {}, from_setup)
end

---@param options? table<string, any>
function M.setup(options)
  from_setup = options or {}
  local problems = M.problems(M.given())
  if #problems > 0 then
    require('branchline.notify').warn('Options: ' .. table.concat(problems, '; '))
  end
end

--- The options in force. A wrong value counts as its default.
---@return branchline.Options
function M.get()
  local given, options = M.given(), {}
  for _, option in ipairs(M.OPTIONS) do
    local value = given[option.name]
    local one = { [option.name] = value }
    if value == nil or #M.problems(one) > 0 then
      value = option.default
    end
    options[option.name] = value
  end
  return options --[[@as branchline.Options]]
end

return M
