--- Small floating windows: something to read, and one question with a key for each answer.
local M = {}

local text = require('branchline.text')

---@class branchline.Choice
---@field key string
---@field help string
---@field run fun()

---@param title string
---@param lines string[]
---@return integer buf
---@return integer win
local function open(title, lines)
  require('branchline.highlights').define()
  local width = vim.api.nvim_strwidth(title) + 4
  for _, line in ipairs(lines) do
    width = math.max(width, vim.api.nvim_strwidth(line) + 1)
  end
  width = math.max(1, math.min(width, vim.o.columns - 4))
  local height = math.max(1, math.min(#lines, vim.o.lines - vim.o.cmdheight - 4))
  local buf = vim.api.nvim_create_buf(false, true)
  vim.api.nvim_buf_set_lines(buf, 0, -1, false, lines)
  vim.bo[buf].modifiable = false
  vim.bo[buf].bufhidden = 'wipe'
  local win = vim.api.nvim_open_win(buf, true, {
    relative = 'editor',
    row = math.max(0, math.floor((vim.o.lines - height) / 2) - 1),
    col = math.max(0, math.floor((vim.o.columns - width) / 2)),
    width = width,
    height = height,
    style = 'minimal',
    border = 'rounded',
    title = ' ' .. text.crop(text.clean(title), math.max(1, width - 4)) .. ' ',
  })
  vim.wo[win].wrap = true
  vim.wo[win].linebreak = true
  return buf, win
end

---@param win integer
local function close(win)
  if vim.api.nvim_win_is_valid(win) then
    vim.api.nvim_win_close(win, true)
  end
end

--- Show lines until q or <Esc>.
---@param title string
---@param lines string[]
function M.show(title, lines)
  local buf, win = open(title, lines)
  for _, key in ipairs({ 'q', '<Esc>', '<CR>', 'g?' }) do
    vim.keymap.set('n', key, function()
      close(win)
    end, { buffer = buf, nowait = true })
  end
end

--- Ask one question. Leaving the window, q and <Esc> answer it with nothing.
---@param title string
---@param facts string[] lines above the answers
---@param choices branchline.Choice[]
---@param stay string what q does, in words
function M.ask(title, facts, choices, stay)
  local lines = vim.list_extend({}, vim.tbl_map(text.clean, facts))
  lines[#lines + 1] = ''
  local first = #lines
  for _, choice in ipairs(choices) do
    lines[#lines + 1] = (' %s  %s'):format(choice.key, text.clean(choice.help))
  end
  lines[#lines + 1] = (' q  %s'):format(stay)
  local buf, win = open(title, lines)
  local space = vim.api.nvim_create_namespace('branchline_float')
  for line = first, #lines - 1 do
    vim.api.nvim_buf_set_extmark(buf, space, line, 1, { end_col = 2, hl_group = 'BranchlineKey' })
  end
  vim.bo[buf].filetype = 'branchline-question'
  vim.wo[win].cursorline = true
  vim.api.nvim_win_set_cursor(win, { first + 1, 0 })
  local function answer(choice)
    close(win)
    if choice then
      choice.run()
    end
  end
  for _, choice in ipairs(choices) do
    vim.keymap.set('n', choice.key, function()
      answer(choice)
    end, { buffer = buf, nowait = true })
  end
  vim.keymap.set('n', '<CR>', function()
    answer(choices[vim.api.nvim_win_get_cursor(win)[1] - first])
  end, { buffer = buf, nowait = true })
  for _, key in ipairs({ 'q', '<Esc>', '<C-c>' }) do
    vim.keymap.set('n', key, function()
      answer(nil)
    end, { buffer = buf, nowait = true })
  end
  vim.api.nvim_create_autocmd('WinLeave', {
    buffer = buf,
    once = true,
    callback = function()
      vim.schedule(function()
        close(win)
      end)
    end,
  })
end

return M
