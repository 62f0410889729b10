--- Pure functions on text from sessions: made harmless, shortened, counted.
local M = {}

-- What is invisible or turns the direction of text: control characters of both kinds, marks of
-- direction, isolates, zero-width blanks and the byte order mark. Joiners stay, emoji need them.
local HIDDEN = {
  '\194[\128-\159]',
  '\194\173',
  '\216\156',
  '\226\128[\139\142\143\168-\174]',
  '\226\129[\160-\175]',
  '\239\187\191',
  '\243\160[\128\129][\128-\191]',
}

--- The text on one line, without anything that a screen would act upon.
---@param text string
---@return string
function M.clean(text)
  text = text:gsub('%c', function(character)
    return character:match('%s') and ' ' or ''
  end)
  if text:find('[\194\216\226\239\243]') then
    for _, pattern in ipairs(HIDDEN) do
      text = text:gsub(pattern, '')
    end
  end
  return text
end

--- The lines of a longer text, each one clean. Tabs stay.
---@param text string
---@return string[]
function M.lines(text)
  local lines = vim.split(text:gsub('\r\n?', '\n'), '\n', { plain = true })
  for at, line in ipairs(lines) do
    local parts = vim.split(line, '\t', { plain = true })
    for i, part in ipairs(parts) do
      parts[i] = M.clean(part)
    end
    lines[at] = table.concat(parts, '\t')
  end
  return lines
end

--- For 'statusline', 'winbar' and the like, where a percent sign begins an item.
---@param text string
---@return string
function M.escape_statusline(text)
  return (M.clean(text):gsub('%%', '%%%%'))
end

--- The text cut at a width in cells, with a sign that it was.
---@param text string
---@param width integer
---@param sign? string
---@return string
function M.crop(text, width, sign)
  if vim.api.nvim_strwidth(text) <= width then
    return text
  end
  sign = sign or '…'
  local room = width - vim.api.nvim_strwidth(sign)
  if room <= 0 then
    return width > 0 and sign or ''
  end
  local low, high = 0, math.min(room, vim.fn.strchars(text))
  while low < high do
    local middle = math.ceil((low + high) / 2)
    if vim.api.nvim_strwidth(vim.fn.strcharpart(text, 0, middle)) <= room then
      low = middle
    else
      high = middle - 1
    end
  end
  return (vim.fn.strcharpart(text, 0, low):gsub('%s+$', '')) .. sign
end

--- A number of tokens in at most four characters: 340, 2k, 61k, 1.2M.
---@param count number
---@return string
function M.count(count)
  if count < 1000 then
    return tostring(math.floor(count))
  elseif count < 999500 then
    return ('%dk'):format(math.floor((count + 500) / 1000))
  elseif count < 99950000 then
    return ('%.1fM'):format(count / 1e6)
  end
  return ('%dM'):format(math.floor(count / 1e6))
end

--- Seconds since 1970 of an ISO 8601 time in UTC; nil if it is none.
---@param timestamp any
---@return integer?
function M.seconds(timestamp)
  if type(timestamp) ~= 'string' then
    return nil
  end
  local year, month, day, hour, minute, second = timestamp:match('^(%d%d%d%d)-(%d%d)-(%d%d)T(%d%d):(%d%d):(%d%d)')
  if not year then
    return nil
  end
  local y, m = tonumber(year), tonumber(month)
  -- Days since 1970 of a proleptic Gregorian date; years begin in March.
  if m <= 2 then
    y = y - 1
  end
  local era = math.floor(y / 400)
  local year_of_era = y - era * 400
  local day_of_year = math.floor((153 * (m + (m > 2 and -3 or 9)) + 2) / 5) + tonumber(day) - 1
  local day_of_era = year_of_era * 365 + math.floor(year_of_era / 4) - math.floor(year_of_era / 100) + day_of_year
  local days = era * 146097 + day_of_era - 719468
  local seconds = days * 86400 + tonumber(hour) * 3600 + tonumber(minute) * 60 + tonumber(second)
  return seconds --[[@as integer]]
end

--- How long ago: now, 5m, 3h, 2d, 1y. Empty if it is not a time.
---@param timestamp any
---@param now integer seconds since 1970
---@return string
function M.age(timestamp, now)
  local seconds = M.seconds(timestamp)
  if not seconds then
    return ''
  end
  local minutes = math.floor((now - seconds) / 60)
  for _, unit in ipairs({ { 'y', 525600 }, { 'd', 1440 }, { 'h', 60 }, { 'm', 1 } }) do
    if minutes >= unit[2] then
      return ('%d%s'):format(math.floor(minutes / unit[2]), unit[1])
    end
  end
  return 'now'
end

--- `1 message`, `2 messages`.
---@param count integer
---@param word string
---@return string
function M.plural(count, word)
  local many = word:match('[^aeiou]y$') and word:sub(1, -2) .. 'ies'
    or (word:match('ch$') or word:match('ss$')) and word .. 'es'
    or word .. 's'
  return ('%d %s'):format(count, count == 1 and word or many)
end

return M
