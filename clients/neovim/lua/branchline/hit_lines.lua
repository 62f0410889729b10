--- The lines of search hits: one for each, below one for its session. Pure. Whatever a session holds,
--- a line is a line, and its matches are marked where they stand in what is left of it.
local M = {}

local text = require('branchline.text')
local signs = require('branchline.rows').SIGNS

---@class branchline.Hit
---@field session table SessionInfo
---@field entryId string
---@field role string
---@field snippet string
---@field matches [integer, integer][] places, counted in UTF-16 code units
---@field timestamp? string

---@class branchline.HitLine
---@field text string
---@field path string
---@field entryId? string nil on the line of a session
---@field highlight string
---@field matches [integer, integer][] places, counted in bytes from 0
---@field right string

local SIGNS = {
  user = 'user',
  assistant = 'assistant',
  toolResult = 'tool',
  bashExecution = 'tool',
  compaction = 'compaction',
  branchSummary = 'branch_summary',
  label = 'label',
}

local HIGHLIGHTS = {
  user = 'BranchlineText',
  assistant = 'BranchlineText',
  compaction = 'BranchlineSummary',
  branchSummary = 'BranchlineSummary',
  label = 'BranchlineLabel',
  name = 'BranchlineText',
}

--- A snippet made harmless, with the places of its matches in bytes.
---@param snippet string
---@param matches [integer, integer][] places, counted in UTF-16 code units
---@return string line
---@return [integer, integer][] places
function M.clean(snippet, matches)
  local line, places, done = '', {}, 0
  for _, match in ipairs(matches) do
    local first = vim.str_byteindex(snippet, 'utf-16', match[1], false)
    local last = vim.str_byteindex(snippet, 'utf-16', match[2], false)
    if first >= done then
      line = line .. text.clean(snippet:sub(done + 1, first))
      local found = text.clean(snippet:sub(first + 1, last))
      places[#places + 1] = { #line, #line + #found }
      line, done = line .. found, last
    end
  end
  return line .. text.clean(snippet:sub(done + 1)), places
end

---@param session table SessionInfo
---@param now integer
---@return branchline.HitLine
local function session_line(session, now)
  local where = session.cwd and text.crop(text.clean(vim.fn.fnamemodify(session.cwd, ':~')), 30) or ''
  local title = text.clean(session.name or session.firstMessage or session.id)
  return {
    text = text.crop(title:gsub('^%s+', ''), 60),
    path = session.path,
    highlight = 'BranchlineSession',
    matches = {},
    right = ('%s %4s'):format(where, text.age(session.modifiedAt, now)),
  }
end

---@param hit branchline.Hit
---@param icons "unicode"|"ascii"
---@param now integer
---@return branchline.HitLine
local function hit_line(hit, icons, now)
  local lead = ('  %s '):format(signs[icons][SIGNS[hit.role] or 'other'])
  local line, places = M.clean(hit.snippet, hit.matches)
  for _, place in ipairs(places) do
    place[1], place[2] = place[1] + #lead, place[2] + #lead
  end
  return {
    text = lead .. line,
    path = hit.session.path,
    entryId = hit.entryId,
    highlight = HIGHLIGHTS[hit.role] or 'BranchlineTool',
    matches = places,
    right = (' %4s'):format(text.age(hit.timestamp, now)),
  }
end

--- The lines of one answer: the sessions in the order of their best hits.
---@param hits branchline.Hit[]
---@param icons "unicode"|"ascii"
---@param now integer seconds since 1970
---@param last? string the path of the session whose lines stand right above
---@return branchline.HitLine[]
function M.of(hits, icons, now, last)
  local order, groups = {}, {}
  for _, hit in ipairs(hits) do
    local path = hit.session.path
    if not groups[path] then
      groups[path] = { session = hit.session }
      if path == last then
        table.insert(order, 1, path)
      else
        order[#order + 1] = path
      end
    end
    table.insert(groups[path], hit)
  end
  local lines = {}
  for _, path in ipairs(order) do
    if path ~= last then
      lines[#lines + 1] = session_line(groups[path].session, now)
    end
    for _, hit in ipairs(groups[path]) do
      lines[#lines + 1] = hit_line(hit, icons, now)
    end
  end
  return lines
end

return M
