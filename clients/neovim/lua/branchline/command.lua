--- `:Branchline` and its subcommands.
local M = {}

local client = require('branchline.client')
local notify = require('branchline.notify')

---@class branchline.Command
---@field args string[]
---@field bang boolean
---@field window? string the command that makes a window, from modifiers such as :vertical

---@class branchline.Subcommand
---@field help string
---@field run fun(command: branchline.Command)
---@field complete? fun(lead: string): string[]

--- The session that the current buffer shows, or the newest of this folder.
---@param callback fun(session: branchline.Session)
---@param if_none? fun()
---@param early? boolean whether it may be a large one that is still being read
local function with_session(callback, if_none, early)
  local tree = require('branchline.tree').get()
  local draft = require('branchline.draft').get()
  local shown = tree and tree.session or draft and draft.session
  if shown then
    return callback(shown)
  end
  require('branchline').open(nil, function(problem, session)
    if problem then
      notify.problem(problem)
    elseif session then
      callback(session)
    elseif if_none then
      if_none()
    else
      notify.info('No conversation of this folder yet. :Branchline new begins one, :Branchline sessions! shows all')
    end
  end, early)
end

--- An action of the tree, done in the tree.
---@param name string
local function in_tree(name)
  return function()
    with_session(function(session)
      local tree = require('branchline.tree').show(session)
      tree:when_complete(function()
        require('branchline.actions')[name](tree)
      end)
    end)
  end
end

---@param command branchline.Command
local function new(command)
  local connection = client.connect()
  local name = table.concat(command.args, ' ')
  connection:request(
    'session/create',
    { cwd = connection.root, name = name ~= '' and name or nil },
    function(problem, answer)
      if problem then
        return notify.problem(problem)
      end
      require('branchline.session').open(connection, answer.session.path, function(failed, session)
        if failed then
          return notify.problem(failed)
        end
        require('branchline.tree').show(assert(session), { command = command.window })
        require('branchline.ask').open(assert(session), {})
      end)
    end
  )
end

local FILTERS = { 'default', 'noTools', 'userOnly', 'labeledOnly', 'all' }

---@type table<string, branchline.Subcommand>
M.SUBCOMMANDS = {
  tree = {
    help = 'the tree of the newest conversation of this folder, or of a session (path or id)',
    run = function(command)
      local which = table.concat(command.args, ' ')
      local function show(session)
        require('branchline.tree').show(session, { command = command.window })
      end
      if which == '' then
        return with_session(show, nil, true)
      end
      if vim.uv.fs_stat(vim.fs.normalize(which)) then
        which = assert(vim.uv.fs_realpath(vim.fs.normalize(which)))
      end
      require('branchline').open(which, function(problem, session)
        if problem then
          notify.problem(problem)
        elseif session then
          show(session)
        end
      end, true)
    end,
    complete = function(lead)
      return vim.fn.getcompletion(lead, 'file')
    end,
  },
  sessions = {
    help = 'choose a session of this folder; with ! of all',
    run = function(command)
      require('branchline.pick').sessions(command.bang, command.window)
    end,
  },
  pick = {
    help = 'choose one of your messages, and go to it in the tree',
    run = function()
      with_session(function(session)
        require('branchline.pick').entries(session)
      end)
    end,
  },
  search = {
    help = 'the entries of all sessions of this folder, with ! of all, that hold words',
    run = function(command)
      local query = table.concat(command.args, ' ')
      local options = { all = command.bang, command = command.window }
      if query == '' then
        return require('branchline.hits').ask(options)
      end
      require('branchline.hits').expand_and_search(query, options)
    end,
    complete = function(lead)
      return require('branchline.query').complete(lead)
    end,
  },
  export = {
    help = 'write the session as html, markdown or jsonl; with ! all branches',
    run = function(command)
      local options, problem = require('branchline.export').read(command.args, command.bang)
      if not options then
        return notify.error(assert(problem))
      end
      with_session(function(session)
        require('branchline.export').export(session, options)
      end)
    end,
    complete = function(lead)
      return require('branchline.export').complete(lead)
    end,
  },
  ask = {
    help = 'write a message to the model',
    run = function(command)
      with_session(function(session)
        local words = table.concat(command.args, ' ')
        require('branchline.ask').open(session, { content = words ~= '' and { text = words } or nil })
      end, function()
        new({ args = {}, bang = false })
      end)
    end,
  },
  new = { help = 'begin a conversation, with a name if you give one', run = new },
  compact = {
    help = 'compact the branch',
    run = function()
      with_session(require('branchline.compact').ask)
    end,
  },
  undo = { help = 'take the last move or compaction back', run = in_tree('undo') },
  redo = { help = 'and make it again', run = in_tree('redo') },
  rename = { help = 'rename the session', run = in_tree('rename') },
  cancel = {
    help = 'cancel what is being written',
    run = function()
      with_session(require('branchline.actions').cancel_job)
    end,
  },
  filter = {
    help = 'show the tree through a filter, and words that entries must hold',
    run = function(command)
      local filter = command.args[1] or 'default'
      if not vim.list_contains(FILTERS, filter) then
        return notify.error(('%q is no filter. There are: %s'):format(filter, table.concat(FILTERS, ', ')))
      end
      local query = table.concat(vim.list_slice(command.args, 2), ' ')
      with_session(function(session)
        local tree = require('branchline.tree').show(session)
        tree:view(filter, query ~= '' and query or nil)
      end)
    end,
    complete = function(lead)
      return vim.tbl_filter(function(name)
        return vim.startswith(name, lead)
      end, FILTERS)
    end,
  },
  image = {
    help = 'save an image of the entry under the cursor: a path that is free',
    run = function(command)
      local path = table.concat(command.args, ' ')
      local tree = require('branchline.tree').get()
      local item = tree and tree:current()
      if not tree or not item then
        return notify.info('In the tree, on an entry with an image')
      elseif path == '' then
        return notify.info('Where to? :Branchline image PATH')
      end
      require('branchline.images').save(tree.session, item.id, path)
    end,
    complete = function(lead)
      return vim.fn.getcompletion(lead, 'file')
    end,
  },
  yank = {
    help = 'yank what the model is sent at the leaf',
    run = in_tree('yank_context'),
  },
  pi = {
    help = 'go on in Pi, in a terminal',
    run = function()
      with_session(function(session)
        if vim.fn.executable('pi') == 0 then
          return notify.error('pi is not on PATH')
        end
        vim.cmd('botright split')
        vim.cmd.enew()
        vim.fn.jobstart({ 'pi', '--session', session.path }, { term = true, cwd = session.connection.root })
        vim.cmd.startinsert()
      end)
    end,
  },
  restart = {
    help = 'connect to the daemon again',
    run = function()
      if client.restart() == 0 then
        client.connect()
      end
    end,
  },
}

--- Run `:Branchline …`.
---@param command {fargs: string[], bang: boolean, mods: string}
function M.run(command)
  local args = vim.list_slice(command.fargs)
  local name = table.remove(args, 1) or 'tree'
  if name:sub(-1) == '!' then
    name, command.bang = name:sub(1, -2), true
  end
  local subcommand = M.SUBCOMMANDS[name]
  if not subcommand then
    return notify.error(('%q is no subcommand. There are: %s'):format(name, table.concat(M.names(), ', ')))
  end
  local mods = command.mods or ''
  local window
  if mods:find('tab') then
    window = 'tabedit'
  elseif mods ~= '' and not mods:match('^silent') then
    window = mods .. ' split'
  end
  subcommand.run({ args = args, bang = command.bang, window = window })
end

---@return string[]
function M.names()
  local names = vim.tbl_keys(M.SUBCOMMANDS)
  table.sort(names)
  return names
end

---@param lead string
---@param line string
---@return string[]
function M.complete(lead, line)
  local before = line:match('Branchline!?%s+(.*)$') or ''
  local name = before:match('^(%S-)!?%s')
  if name then
    local subcommand = M.SUBCOMMANDS[name]
    return subcommand and subcommand.complete and subcommand.complete(lead) or {}
  end
  return vim.tbl_filter(function(known)
    return vim.startswith(known, lead)
  end, M.names())
end

return M
