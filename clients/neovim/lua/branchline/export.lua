--- `:Branchline export`: a session as a page, Markdown or records, in a new file.
local M = {}

local notify = require('branchline.notify')
local text = require('branchline.text')

---@class branchline.ExportOptions
---@field format "html"|"markdown"|"jsonl"
---@field path? string
---@field all boolean all branches
---@field mask boolean
---@field open boolean show it then

local ENDINGS = { html = '.html', markdown = '.md', jsonl = '.jsonl' }
local FORMATS = { html = 'html', htm = 'html', md = 'markdown', markdown = 'markdown', jsonl = 'jsonl' }
local FLAGS = { ['--all'] = 'all', ['--mask'] = 'mask', ['--open'] = 'open' }
local KINDS = { key = 'key', homePath = 'home folder', email = 'e-mail address' }

--- What was typed, read.
---@param args string[]
---@param bang boolean
---@return branchline.ExportOptions? options nil if it cannot be read
---@return string? problem
function M.read(args, bang)
  local options, format, rest = { all = bang, mask = false, open = false }, nil, {}
  for _, arg in ipairs(args) do
    if FLAGS[arg] then
      options[FLAGS[arg]] = true
    elseif vim.startswith(arg, '--') then
      return nil, ('%q is no flag. There are: --all, --mask, --open'):format(arg)
    elseif not format and #rest == 0 and ENDINGS[arg] then
      format = arg
    else
      rest[#rest + 1] = arg
    end
  end
  options.path = #rest > 0 and table.concat(rest, ' ') or nil
  options.format = format or options.path and FORMATS[options.path:match('%.(%w+)$')] or 'html'
  return options
end

--- The completions of a word of the command.
---@param lead string
---@return string[]
function M.complete(lead)
  local words = vim.list_extend(vim.tbl_keys(ENDINGS), vim.tbl_keys(FLAGS))
  table.sort(words)
  words = vim.tbl_filter(function(word)
    return vim.startswith(word, lead) and (lead ~= '' or word:sub(1, 1) ~= '-')
  end, words)
  return vim.list_extend(words, vim.startswith(lead, '-') and {} or vim.fn.getcompletion(lead, 'file'))
end

--- A name in the current folder that is free, made of the session's title.
---@param title string
---@param format "html"|"markdown"|"jsonl"
---@return string
function M.default_path(title, format)
  local words = vim.fn.strcharpart(title, 0, 40):gsub('[%c%s%p]+', '-'):gsub('^%-+', ''):gsub('%-+$', '')
  local name = words == '' and 'session' or vim.fn.tolower(words)
  local path, number = name .. ENDINGS[format], 1
  while vim.uv.fs_lstat(path) do
    number = number + 1
    path = ('%s-%d%s'):format(name, number, ENDINGS[format])
  end
  return path
end

--- What was hidden, in words.
---@param masked {kind: string, count: integer}[]
---@return string
function M.hidden(masked)
  local parts = {}
  for _, one in ipairs(masked) do
    if one.count > 0 then
      parts[#parts + 1] = text.plural(one.count, KINDS[one.kind] or one.kind)
    end
  end
  if #parts == 0 then
    return 'nothing was found to hide'
  end
  return 'hidden: ' .. table.concat(parts, ', ')
end

---@param path string
---@param format "html"|"markdown"|"jsonl"
local function show(path, format)
  if format ~= 'html' then
    return vim.cmd.split({ args = { vim.fn.fnamemodify(path, ':.') }, magic = { file = false, bar = false } })
  end
  local _, problem = vim.ui.open(path)
  if problem then
    notify.error(problem)
  end
end

---@param session branchline.Session
---@param options branchline.ExportOptions
---@param path string
---@param taken fun() told if there is a file already
local function write(session, options, path, taken)
  local full = vim.fn.fnamemodify(vim.fs.normalize(path), ':p')
  session:request('session/export', {
    format = options.format,
    branches = options.all and 'all' or 'active',
    mask = options.mask,
    path = full,
  }, function(problem, answer)
    if problem and require('branchline.errors').is(problem, 'storage') and problem.data.errno == 'EEXIST' then
      return taken()
    elseif problem then
      return notify.problem(problem)
    end
    local said = { ('Written: %s'):format(vim.fn.fnamemodify(answer.path, ':~:.')) }
    said[#said + 1] = options.all and 'all branches' or 'the active branch'
    said[#said + 1] = options.mask and M.hidden(answer.masked) or nil
    notify.info(table.concat(said, '; '))
    if options.open then
      show(answer.path, options.format)
    end
  end)
end

--- Export a session; without a path, ask for one.
---@param session branchline.Session
---@param options branchline.ExportOptions
function M.export(session, options)
  if options.path then
    return write(session, options, options.path, function()
      notify.error(('There is %s already, and it stays as it is: take another name'):format(options.path))
    end)
  end
  local function ask(prompt, default)
    vim.ui.input({ prompt = prompt, default = default, completion = 'file' }, function(path)
      if path and vim.trim(path) ~= '' then
        write(session, options, path, function()
          ask(('There is %s already; export to: '):format(text.clean(path)), path)
        end)
      end
    end)
  end
  -- What is hidden in the file is not to stand in its name.
  ask('Export to: ', M.default_path(options.mask and 'session' or session:title(), options.format))
end

return M
