--- Shows one entry in full: Markdown, tool calls and their results. Whatever an entry holds, the
--- lines are clean and its text cannot leave its fences.
local M = {}

local notify = require('branchline.notify')
local text = require('branchline.text')

local ANCESTORS = 64

---@class branchline.PreviewState
---@field buf integer
---@field session branchline.Session
---@field id string
---@field unsubscribe fun()

---@type branchline.PreviewState?
local state

---@param content any
---@return table[]
local function blocks(content)
  if type(content) == 'string' then
    return { { type = 'text', text = content } }
  end
  local found = {}
  for _, block in ipairs(type(content) == 'table' and content or {}) do
    if type(block) == 'table' then
      found[#found + 1] = block
    end
  end
  return found
end

---@param value any
---@return string
local function json(value)
  return vim.json.encode(value)
end

---@param block table
---@return string
local function image_line(block)
  return ('(an image: %s)'):format(require('branchline.images').name(block))
end

--- The text of an entry alone, as lines.
---@param entry table
---@return string[]
function M.plain(entry)
  local message = entry.message
  local pieces = {}
  if type(message) == 'table' then
    if message.role == 'bashExecution' then
      pieces = { '$ ' .. tostring(message.command), tostring(message.output or '') }
    elseif type(message.summary) == 'string' then
      pieces = { message.summary }
    else
      for _, block in ipairs(blocks(message.content)) do
        if block.type == 'text' then
          pieces[#pieces + 1] = tostring(block.text)
        elseif block.type == 'toolCall' then
          pieces[#pieces + 1] = ('%s %s'):format(tostring(block.name), json(block.arguments))
        elseif block.type == 'image' then
          pieces[#pieces + 1] = image_line(block)
        end
      end
    end
  elseif type(entry.summary) == 'string' then
    pieces = { entry.summary }
  elseif entry.content ~= nil then
    for _, block in ipairs(blocks(entry.content)) do
      pieces[#pieces + 1] = block.type == 'image' and image_line(block) or tostring(block.text or '')
    end
  end
  return text.lines(table.concat(pieces, '\n'))
end

---@param lines string[]
---@param body string
---@param language? string
local function fence(lines, body, language)
  local longest = 2
  for ticks in body:gmatch('`+') do
    longest = math.max(longest, #ticks)
  end
  local mark = ('`'):rep(longest + 1)
  lines[#lines + 1] = mark .. (language or '')
  vim.list_extend(lines, text.lines(body))
  lines[#lines + 1] = mark
end

---@param lines string[]
---@param call table
local function tool_call(lines, call)
  lines[#lines + 1] = ''
  lines[#lines + 1] = '### ⚙ ' .. text.clean(tostring(call.name))
  local arguments = type(call.arguments) == 'table' and call.arguments or {}
  local names = vim.tbl_keys(arguments)
  table.sort(names, function(a, b)
    return tostring(a) < tostring(b)
  end)
  for _, name in ipairs(names) do
    local value = arguments[name]
    value = type(value) == 'string' and value or json(value)
    if value:find('\n') or #value > 70 then
      lines[#lines + 1] = ('%s:'):format(text.clean(tostring(name)))
      fence(lines, value, name == 'command' and 'sh' or nil)
    else
      lines[#lines + 1] = ('%s: `%s`'):format(text.clean(tostring(name)), (text.clean(value):gsub('`', "'")))
    end
  end
end

--- An entry as Markdown.
---@param entry table
---@param call? table the tool call that a result belongs to
---@return string[]
function M.markdown(entry, call)
  local message = type(entry.message) == 'table' and entry.message or {}
  local title = tostring(message.role or entry.type)
  local when = type(entry.timestamp) == 'string' and entry.timestamp:sub(1, 16):gsub('T', ' ') or ''
  local lines = { ('# %s  %s'):format(text.clean(title), text.clean(when)), '' }
  if message.role == 'toolResult' then
    if call then
      tool_call(lines, call)
    end
    lines[#lines + 1] = ''
    lines[#lines + 1] = message.isError and '### Result ✗' or '### Result'
    fence(lines, table.concat(M.plain(entry), '\n'))
  elseif message.role == 'bashExecution' then
    fence(lines, table.concat(M.plain(entry), '\n'), 'sh')
  elseif message.role == 'assistant' then
    for _, block in ipairs(blocks(message.content)) do
      if block.type == 'text' then
        vim.list_extend(lines, text.lines(tostring(block.text)))
      elseif block.type == 'thinking' then
        for _, line in ipairs(text.lines(tostring(block.thinking))) do
          lines[#lines + 1] = '> ' .. line
        end
        lines[#lines + 1] = ''
      elseif block.type == 'toolCall' then
        tool_call(lines, block)
      end
    end
    if type(message.errorMessage) == 'string' then
      lines[#lines + 1] = ''
      lines[#lines + 1] = '**✗** ' .. text.clean(message.errorMessage)
    end
  elseif entry.message or entry.summary or entry.content then
    vim.list_extend(lines, M.plain(entry))
  else
    fence(lines, json(entry), 'json')
  end
  return lines
end

--- The tool call that a result belongs to: it stands in an assistant message above.
---@param session branchline.Session
---@param entry table
---@param callback fun(call: table?)
function M.find_call(session, entry, callback)
  local message = type(entry.message) == 'table' and entry.message or {}
  if message.role ~= 'toolResult' then
    return callback(nil)
  end
  local left = ANCESTORS
  local function look(id)
    if not id or left == 0 then
      return callback(nil)
    end
    left = left - 1
    session:request('session/entries', { ids = { id } }, function(problem, answer)
      local above = not problem and answer.entries[1] or nil
      local said = above and above.message or {}
      if not above or said.role ~= 'assistant' then
        return look(above and above.parentId)
      end
      for _, block in ipairs(blocks(said.content)) do
        if block.type == 'toolCall' and block.id == message.toolCallId then
          return callback(block)
        end
      end
      look(above.parentId)
    end)
  end
  look(entry.parentId)
end

--- Read an entry as Markdown.
---@param session branchline.Session
---@param id string
---@param callback fun(lines: string[])
function M.read(session, id, callback)
  session:request('session/entries', { ids = { id } }, function(problem, answer)
    if problem then
      return notify.problem(problem)
    end
    local entry = answer.entries[1]
    M.find_call(session, entry, function(call)
      callback(M.markdown(entry, call))
    end)
  end)
end

--- A buffer for Markdown that nobody edits.
---@return integer
function M.buffer()
  local buf = vim.api.nvim_create_buf(false, true)
  vim.bo[buf].bufhidden = 'wipe'
  vim.bo[buf].modifiable = false
  vim.bo[buf].filetype = 'branchline-preview'
  -- Not the filetype markdown: the text is a stranger's, and no other plugin is to act upon it.
  vim.treesitter.language.register('markdown', 'branchline-preview')
  pcall(vim.treesitter.start, buf, 'markdown')
  return buf
end

---@param buf integer
---@param lines string[]
function M.fill(buf, lines)
  if vim.api.nvim_buf_is_valid(buf) then
    vim.bo[buf].modifiable = true
    vim.api.nvim_buf_set_lines(buf, 0, -1, false, lines)
    vim.bo[buf].modifiable = false
  end
end

---@param session branchline.Session
---@return integer buf
local function window(session)
  if state and vim.api.nvim_buf_is_valid(state.buf) and state.session == session then
    return state.buf
  end
  if state and vim.api.nvim_buf_is_valid(state.buf) then
    vim.api.nvim_buf_delete(state.buf, { force = true })
  end
  local buf = M.buffer()
  vim.api.nvim_buf_set_name(buf, 'branchline://entry')
  local wide = vim.api.nvim_win_get_width(0) >= 140
  local win = vim.api.nvim_open_win(buf, false, { split = wide and 'right' or 'below' })
  require('branchline.window').set(win, {
    winbar = ' Entry',
    wrap = true,
    linebreak = true,
    number = false,
    conceallevel = 0,
    foldmethod = 'manual',
  })
  require('branchline.keys').map('preview', buf)
  local unsubscribe = session:listen(function(event, facts)
    if event == 'messageText' then
      M.fill(buf, vim.list_extend({ '# The answer, as it comes', '' }, text.lines(session.answer)))
    elseif event == 'busy' and not facts.job and session.leafId and session.answer ~= '' then
      M.show(session, session.leafId)
    end
  end)
  state = { buf = buf, session = session, id = '', unsubscribe = unsubscribe }
  vim.api.nvim_create_autocmd('BufWipeout', {
    buffer = buf,
    once = true,
    callback = function()
      unsubscribe()
      state = nil
    end,
  })
  return buf
end

--- Show an entry in the preview window.
---@param session branchline.Session
---@param id string
function M.show(session, id)
  local buf = window(session)
  assert(state).id = id
  M.read(session, id, function(lines)
    if state and state.buf == buf and state.id == id then
      M.fill(buf, lines)
      for _, win in ipairs(vim.fn.win_findbuf(buf)) do
        vim.api.nvim_win_set_cursor(win, { 1, 0 })
      end
    end
  end)
end

function M.open_file()
  if state then
    require('branchline.files').open(state.session, state.id)
  end
end

function M.open_image()
  if state then
    require('branchline.images').open(state.session, state.id)
  end
end

return M
