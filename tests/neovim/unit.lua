-- Tests of pure parts, run inside Neovim: nvim -l tests/neovim/unit.lua PLUGIN
local plugin = assert(arg[1], 'the plugin folder')
vim.opt.runtimepath:prepend(plugin)
vim.cmd('runtime plugin/branchline.lua')

local failed, count = {}, 0

local function test(name, body)
  count = count + 1
  local passed, message = xpcall(body, debug.traceback)
  if not passed then
    failed[#failed + 1] = ('%s\n  %s'):format(name, message)
  end
end

local function equal(actual, expected)
  if not vim.deep_equal(actual, expected) then
    error(('%s, not %s'):format(vim.inspect(actual), vim.inspect(expected)), 2)
  end
end

local text = require('branchline.text')
local rows = require('branchline.rows')
local draw = require('branchline.tree_draw')

local documentation = table.concat(vim.fn.readfile(plugin .. '/doc/branchline.txt'), '\n')

test('clean text has nothing that a screen acts upon', function()
  equal(text.clean('a\27[31mb\7\nc\0d\127'), 'a[31mb cd')
  equal(text.clean('a\u{202E}b\u{2066}c\u{200B}d\u{FEFF}e\u{85}f\u{AD}g\u{E0041}'), 'abcdefg')
  equal(text.clean('👩\u{200D}💻 über 漢字'), '👩\u{200D}💻 über 漢字')
end)

test('lines of hostile text never hold a line break', function()
  equal(text.lines('a\r\nb\rc\n\td\27'), { 'a', 'b', 'c', '\td' })
end)

test('a statusline item is text', function()
  equal(text.escape_statusline('50% %{system("x")}\n'), '50%% %%{system("x")} ')
end)

test('text is cropped by cells', function()
  equal(text.crop('abcdef', 4), 'abc…')
  equal(text.crop('漢字漢字', 5), '漢字…')
  equal(text.crop('abc', 3), 'abc')
  equal(text.crop('abc', 0), '')
end)

test('numbers of tokens', function()
  equal({ text.count(999), text.count(1499), text.count(1500), text.count(999500) }, { '999', '1k', '2k', '1.0M' })
end)

test('ages', function()
  local now = assert(text.seconds('2026-03-01T00:00:00Z'))
  equal(now, 1772323200)
  equal(text.age('2026-02-28T23:59:30.000Z', now), 'now')
  equal(text.age('2026-02-28T22:00:00.000Z', now), '2h')
  equal(text.age('2024-02-29T00:00:00.000Z', now), '2y')
  equal(text.age('rubbish', now), '')
end)

test('plurals', function()
  equal(text.plural(1, 'branch'), '1 branch')
  equal(text.plural(2, 'branch'), '2 branches')
  equal(text.plural(3, 'entry'), '3 entries')
end)

---@param id string
local function row(id, fields)
  return vim.tbl_extend('force', {
    id = id,
    type = 'message',
    role = 'assistant',
    text = id,
    depth = 0,
    guides = {},
    last = false,
    onActivePath = true,
    isLeaf = false,
    childCount = 1,
    foldable = false,
    folded = false,
    tokens = 1,
    error = false,
  }, fields)
end

local function items(list)
  return rows.items(list, { icons = 'unicode', now = 0, hidden = {} })
end

test('fold levels: branches and runs', function()
  local list = { row('a', {}) }
  for at = 1, 3 do
    list[#list + 1] = row('t' .. at, { parentId = list[#list].id, role = 'toolResult', tool = { name = 'read' } })
  end
  list[#list + 1] = row('b', { parentId = 't3' })
  list[#list + 1] = row('x', { parentId = 'b', depth = 1, guides = { 0 }, onActivePath = false, role = 'user' })
  list[#list + 1] = row('y', { parentId = 'x', depth = 1, guides = { 0 }, onActivePath = false })
  list[#list + 1] = row('c', { parentId = 'b', isLeaf = true })
  local levels = vim.tbl_map(function(item)
    return item.level
  end, items(list))
  equal(levels, { '0', '>1', '1', '1', '0', '>1', '1', '0' })
  equal(items(list)[2].run.text, '3 steps: 3 read')
  equal(items(list)[6].line, '⊟ ○ x')
  equal(items(list)[6].lanes, '┃ ├╴')
  equal(items(list)[7].lanes, '┃    ')
  equal(items(list)[8].lanes, '◉ ')
end)

test('a row of hostile text stays a line', function()
  local item = items({ row('a', { text = 'x\n\27]0;title\7y', label = 'l\n\27[2J' }) })[1]
  equal(item.line, '· x ]0;titley')
  equal(item.right[2][1], '⚑l [2J ')
end)

test('the pieces of an update make the new lines, whatever changed', function()
  math.randomseed(7)
  local diff = vim.text and vim.text.diff or vim.diff
  for _ = 1, 200 do
    local function made()
      local list, used = {}, {}
      for _ = 1, math.random(0, 12) do
        local id = tostring(math.random(1, 15))
        if not used[id] then
          used[id] = true
          list[#list + 1] = { id = id, key = id .. math.random(1, 2) }
        end
      end
      return list
    end
    local old, new = made(), made()
    local function ids(list)
      return table.concat(vim.tbl_map(function(item)
        return item.id .. '\n'
      end, list))
    end
    local hunks = diff(ids(old), ids(new), { result_type = 'indices' })
    local lines = vim.list_slice(old)
    for _, piece in ipairs(draw.pieces(old, new, hunks, 3)) do
      for _ = 1, piece.old_count do
        table.remove(lines, piece.first)
      end
      for offset, item in ipairs(piece.new) do
        table.insert(lines, piece.first + offset - 1, item)
      end
    end
    local function keys(list)
      return vim.tbl_map(function(item)
        return item.key
      end, list)
    end
    equal(keys(lines), keys(new))
  end
end)

test('only a whole write under its own name is a typed one', function()
  local is_write = require('branchline.draft').is_write
  for _, line in ipairs({ 'w', 'write', 'w!', 'wq', 'x', 'up', 'silent w', 'w | echo 1' }) do
    equal({ line, is_write(line) }, { line, true })
  end
  for _, line in ipairs({ 'wa', 'wall', 'xa', 'wqa', '1,2w', 'w other', 'w >> other', 'e', '', 'lua x()', ')(' }) do
    equal({ line, is_write(line) }, { line, false })
  end
end)

test('loopback hosts are this machine, others are not', function()
  local trust = require('branchline.trust')
  equal(trust.host_of('https://user@Model.Example:8080/v1?x'), 'model.example:8080')
  for _, host in ipairs({ 'localhost', 'localhost:11434', '127.0.0.1:80', '[::1]:80' }) do
    equal({ host, trust.is_loopback(host) }, { host, true })
  end
  for _, host in ipairs({ 'localhost.evil.test', '127.0.0.1.evil.test', '10.0.0.1', 'evil.test:127' }) do
    equal({ host, trust.is_loopback(host) }, { host, false })
  end
end)

test('options are checked by their table', function()
  local config = require('branchline.config')
  equal(config.problems({}), {})
  equal(config.problems({ icons = 'emoji', keys = 1, colour = 'red' }), {
    'colour is no option',
    'icons must be one of unicode, ascii',
    'keys must be a boolean',
  })
  vim.g.branchline = { icons = 'emoji', filter = 'all' }
  equal({ config.get().icons, config.get().filter }, { 'unicode', 'all' })
  vim.g.branchline = nil
end)

test('errors say what to do', function()
  local errors = require('branchline.errors')
  local message, level = errors.explain({ code = 4007, message = 'Busy.', data = { kind = 'busy', job = {} } })
  equal({ message, level }, { 'Something else is being written here; <C-c> ends it.', vim.log.levels.ERROR })
  message = errors.explain({ code = 4008, message = 'Full.', data = { kind = 'storage', errno = 'ENOSPC' } })
  equal(message, 'Full. Make room, then try again.')
  message, level = errors.explain({ code = -32800, message = 'Cancelled', data = { kind = 'cancelled' } })
  equal({ message, level }, { 'Cancelled', vim.log.levels.INFO })
  for kind, advice in pairs(errors.ADVICE) do
    equal({ kind, type(advice({})) }, { kind, 'string' })
  end
end)

test('a preview keeps session text inside its fences', function()
  local lines = require('branchline.preview').markdown({
    type = 'message',
    message = { role = 'toolResult', content = { { type = 'text', text = 'a\n```\n# not a heading\n````' } } },
  })
  local fences = vim.tbl_filter(function(line)
    return vim.startswith(line, '`````')
  end, lines)
  equal(fences, { '`````', '`````' })
end)

test('the file of a tool call', function()
  local place = require('branchline.files').place
  equal(place({ arguments = { path = 'a.py', offset = 7 } }), { path = 'a.py', line = 7 })
  equal(place({ arguments = { path = 'a.py', edits = { { newText = 'x' } } } }), { path = 'a.py', text = 'x' })
  equal(place({ arguments = { command = 'ls' } }), nil)
  equal(place({ arguments = 'rubbish' }), nil)
end)

test('subcommands are completed', function()
  local command = require('branchline.command')
  equal(command.complete('ro', 'Branchline search! ro'), { 'role:' })
  equal(command.complete('re', 'Branchline re'), { 'redo', 'rename', 'restart' })
  equal(command.complete('n', 'Branchline filter n'), { 'noTools' })
  equal(command.complete('', 'Branchline undo '), {})
end)

test('terms of a query are completed', function()
  local complete = require('branchline.query').complete
  equal(complete('-ro'), { '-role:' })
  equal(complete('role:A'), { 'role:assistant' })
  equal(complete('-tool:re'), { '-tool:read' })
  equal(complete('after:1'), {})
  equal(complete('file:%'), { 'file:%' })
  equal(complete('std:'), {})
  equal(require('branchline.query').complete_input('some "word ro'), { 'some "word role:' })
end)

test('file:% is the file of the buffer', function()
  local expand = require('branchline.query').expand
  equal(expand('a file:% -file:%', '/p/src/b.py', '/p'), 'a file:src/b.py -file:src/b.py')
  equal(expand('file:%', '/p/b c "d".py', '/p'), 'file:"b c  d .py"')
  equal(expand('file:%', '/other/b.py', '/p'), 'file:/other/b.py')
  equal(expand('file:%', '', '/p'), nil)
  equal(expand('file:%', 'branchline://tree/x', '/p'), nil)
  equal(expand('file:%x 100%', '', '/p'), 'file:%x 100%')
end)

test('matches are marked where they stand in a cleaned snippet', function()
  local function marked(snippet, matches)
    local line, places = require('branchline.hit_lines').clean(snippet, matches)
    return line, vim.tbl_map(function(place)
      return line:sub(place[1] + 1, place[2])
    end, places)
  end
  local line, found = marked('👩\u{202E}é\27[31m needle \n needle', { { 10, 16 }, { 19, 25 } })
  equal({ line, found }, { '👩é[31m needle   needle', { 'needle', 'needle' } })
  line, found = marked('ab', { { 1, 9 }, { 0, 1 }, { 7, 9 } })
  equal({ line, found }, { 'ab', { 'b', '' } })
end)

test('hits are grouped, and a page goes on with the session above it', function()
  local function hit(path, id)
    local session = { path = path, id = path, modifiedAt = '' }
    return { session = session, entryId = id, role = 'user', snippet = id, matches = {} }
  end
  local function of(hits, last)
    return vim.tbl_map(function(line)
      return line.text
    end, require('branchline.hit_lines').of(hits, 'ascii', 0, last))
  end
  local hits = { hit('a', '1'), hit('b', '2'), hit('a', '3') }
  equal(of(hits), { 'a', '  * 1', '  * 3', 'b', '  * 2' })
  equal(of(hits, 'b'), { '  * 2', 'a', '  * 1', '  * 3' })
end)

test('the words of an export are read', function()
  local export = require('branchline.export')
  equal(export.read({}, true), { format = 'html', all = true, mask = false, open = false })
  equal(export.read({ '--mask', 'talk', 'one.md', '--open' }, false), {
    format = 'markdown',
    path = 'talk one.md',
    all = false,
    mask = true,
    open = true,
  })
  equal(export.read({ 'jsonl', 'html' }, false).path, 'html')
  equal({ export.read({ '--masked' }, false) }, { nil, '"--masked" is no flag. There are: --all, --mask, --open' })
  equal(export.complete('--m'), { '--mask' })
  equal(vim.list_slice(export.complete(''), 1, 3), { 'html', 'jsonl', 'markdown' })
  equal(
    export.hidden({ { kind = 'key', count = 1 }, { kind = 'email', count = 2 } }),
    'hidden: 1 key, 2 e-mail addresses'
  )
  equal(export.hidden({}), 'nothing was found to hide')
end)

test('the help names every subcommand, key, option, highlight and function', function()
  local function documented(pattern, what)
    if not documentation:find(pattern) then
      error('the help does not have ' .. what, 2)
    end
  end
  for _, name in ipairs(require('branchline.command').names()) do
    documented('\n' .. name .. '[ %[{]', name)
  end
  local keys = require('branchline.keys').KEYS
  for _, key in ipairs(vim.iter({ keys.tree, keys.search, keys.hits }):flatten():totable()) do
    documented('\n    ' .. vim.pesc(key.keys[1]) .. ' +' .. vim.pesc(key.name) .. ' +', key.name)
    documented(vim.pesc(key.help):gsub(' ', '%%s+'), key.help)
  end
  for _, option in ipairs(require('branchline.config').OPTIONS) do
    documented('\n' .. option.name .. ' +%(default ' .. vim.pesc(vim.inspect(option.default)) .. '%)', option.name)
  end
  for name in pairs(require('branchline.highlights').GROUPS) do
    documented(name, name)
  end
  for name in pairs(require('branchline')) do
    if name ~= 'setup' then
      documented("require%('branchline'%)%." .. name .. '%(', name)
    end
  end
end)

if #failed > 0 then
  io.stderr:write(table.concat(failed, '\n'), '\n')
  os.exit(1)
end
io.stdout:write(('%d tests passed\n'):format(count))
