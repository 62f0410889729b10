--- `/`, `?`, `n` and `N` where a buffer does not hold all rows: the daemon finds the next entry with
--- the words, and the tree brings it into view.
local M = {}

local notify = require('branchline.notify')

---@type {words: string, backwards: boolean}?
local last

--- Have Vim highlight the words, and search for them in other buffers.
---@param words string
local function set_pattern(words)
  local parts = vim.tbl_map(function(word)
    return vim.fn.escape(word, '\\')
  end, vim.split(vim.trim(words), '%s+'))
  vim.fn.setreg('/', [[\c\V]] .. table.concat(parts, [[\|]]))
end

---@param tree branchline.Tree
---@param backwards boolean
---@param count integer
local function go(tree, backwards, count)
  local words = assert(last).words
  local item = tree:current()
  local from = item and item.id
  local function step(left)
    tree.session:request('session/find', {
      -- What the tree is narrowed to counts too: nothing else could be shown.
      query = tree.query and tree.query .. ' ' .. words or words,
      filter = tree.filter,
      from = from,
      backwards = backwards,
    }, function(problem, hit)
      if problem then
        return notify.problem(problem)
      elseif not hit then
        return notify.warn(('No entry holds "%s"'):format(words))
      elseif left > 1 then
        from = hit.id
        return step(left - 1)
      end
      tree:reveal(hit.id, function()
        notify.echo(
          ('%s%s  [%d/%d]%s'):format(
            backwards and '?' or '/',
            words,
            hit.number,
            hit.total,
            hit.wrapped and '  round the end' or ''
          )
        )
      end)
    end)
  end
  step(count)
end

--- Ask for words, and go to the next entry that holds all of them.
---@param tree branchline.Tree
---@param backwards boolean
function M.ask(tree, backwards)
  local count = vim.v.count1
  local asked, words = pcall(vim.fn.input, { prompt = backwards and '?' or '/', cancelreturn = vim.NIL })
  if not asked or words == vim.NIL then
    return
  elseif vim.trim(words) == '' then
    if not last then
      return
    end
    words = last.words
  end
  last = { words = words, backwards = backwards }
  set_pattern(words)
  go(tree, backwards, count)
end

--- Go on to the next of them.
---@param tree branchline.Tree
---@param opposite boolean against the direction that was asked in
function M.again(tree, opposite)
  if not last then
    return notify.info('Nothing was searched for yet; / asks')
  end
  go(tree, last.backwards ~= opposite, vim.v.count1)
end

return M
