--- Opens the file that a tool call names, at its line. Only ever because somebody pressed a key.
local M = {}

local notify = require('branchline.notify')

local PATH_NAMES = { 'path', 'file_path', 'filePath', 'filename', 'file' }
local LINE_NAMES = { 'offset', 'line', 'start_line', 'startLine' }
local TEXT_NAMES = { 'newText', 'new_string', 'newString', 'oldText', 'old_string', 'oldString' }

---@param arguments table
---@param names string[]
---@param kind string
local function first(arguments, names, kind)
  for _, name in ipairs(names) do
    if type(arguments[name]) == kind then
      return arguments[name]
    end
  end
end

--- The file and line that a tool call is about.
---@param call table
---@return {path: string, line?: integer, text?: string}?
function M.place(call)
  local arguments = type(call.arguments) == 'table' and call.arguments or {}
  local path = first(arguments, PATH_NAMES, 'string')
  if not path or path == '' then
    return nil
  end
  local edits = type(arguments.edits) == 'table' and arguments.edits[1] or {}
  return {
    path = path,
    line = first(arguments, LINE_NAMES, 'number'),
    text = first(arguments, TEXT_NAMES, 'string') or first(edits, TEXT_NAMES, 'string'),
  }
end

---@param session branchline.Session
---@param place {path: string, line?: integer, text?: string}
local function edit(session, place)
  local path = place.path
  if not path:match('^[/~]') then
    path = vim.fs.joinpath(session.info.cwd or '', path)
  end
  path = vim.fs.normalize(path, { expand_env = false })
  if not vim.uv.fs_stat(path) then
    return notify.warn(('There is no file %s'):format(path))
  end
  local windows = vim.api.nvim_tabpage_list_wins(0)
  local target
  for _, win in ipairs(windows) do
    if vim.bo[vim.api.nvim_win_get_buf(win)].buftype == '' and not target then
      target = win
    end
  end
  if target then
    vim.api.nvim_set_current_win(target)
  else
    vim.cmd('aboveleft split')
  end
  vim.cmd.edit({ args = { path }, magic = { file = false, bar = false } })
  local line = place.line
  if place.text then
    local wanted = vim.split(place.text, '\n', { plain = true })[1]
    for at, found in ipairs(vim.api.nvim_buf_get_lines(0, 0, -1, false)) do
      if wanted ~= '' and found:find(wanted, 1, true) then
        line = at
        break
      end
    end
  end
  if line then
    line = math.max(1, math.min(math.floor(line), vim.api.nvim_buf_line_count(0)))
    vim.api.nvim_win_set_cursor(0, { line, 0 })
  end
end

--- Open the file of an entry: of a tool result or an assistant message.
---@param session branchline.Session
---@param id string
function M.open(session, id)
  session:request('session/entries', { ids = { id } }, function(problem, answer)
    if problem then
      return notify.problem(problem)
    end
    local entry = answer.entries[1]
    local places = {}
    local function choose()
      if #places == 0 then
        notify.info('This entry names no file')
      elseif #places == 1 then
        edit(session, places[1])
      else
        vim.ui.select(places, {
          prompt = 'Open which file?',
          kind = 'branchline.file',
          format_item = function(place)
            return require('branchline.text').clean(place.path)
          end,
        }, function(place)
          if place then
            edit(session, place)
          end
        end)
      end
    end
    local message = type(entry.message) == 'table' and entry.message or {}
    if message.role == 'toolResult' then
      require('branchline.preview').find_call(session, entry, function(call)
        places = { call and M.place(call) }
        choose()
      end)
      return
    end
    for _, block in ipairs(type(message.content) == 'table' and message.content or {}) do
      if type(block) == 'table' and block.type == 'toolCall' then
        places[#places + 1] = M.place(block)
      end
    end
    choose()
  end)
end

return M
