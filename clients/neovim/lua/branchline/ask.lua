--- Asking the model: a buffer to write in, and what becomes of it.
local M = {}

local errors = require('branchline.errors')
local notify = require('branchline.notify')
local text = require('branchline.text')

---@class branchline.AskOptions
---@field from? string the entry to go on from; the leaf if it is nil
---@field content? {text: string, images: table[]?} what the buffer begins with
---@field edits? string the entry that it was

--- Where a prompt would be sent, as far as the settings tell.
---@param settings table
---@param model? {provider: string, modelId: string}
---@return string?
function M.host(settings, model)
  local trust = require('branchline.trust')
  local named = model and (settings.models or {})[model.provider .. '/' .. model.modelId]
  if named and named.baseUrl then
    return trust.host_of(named.baseUrl)
  elseif not settings.prompt.model then
    return nil -- nobody is asked: the daemon says so
  end
  local of_prompt = (settings.models or {})[settings.prompt.model]
  local url = of_prompt and of_prompt.baseUrl or settings.prompt.baseUrl or settings.summarizer.baseUrl
  return url and trust.host_of(url) or 'OpenAI'
end

---@param content string
---@param images table[]
---@return string|table[]
local function with_images(content, images)
  if #images == 0 then
    return content
  end
  return vim.list_extend({ { type = 'text', text = content } }, images)
end

---@param session branchline.Session
---@param draft branchline.Draft
---@param content string
---@param images table[]
local function prompt(session, draft, content, images)
  draft:set_busy('being answered')
  draft:hide()
  local was_stored = false
  local unsubscribe = session:listen(function(event, facts)
    for _, entry in ipairs(event == 'changed' and facts.origin == 'client' and facts.appended or {}) do
      was_stored = was_stored or entry.role == 'user'
    end
  end)
  local tree = require('branchline.tree').of(session)
  if tree then
    tree.follows_leaf, tree.followed = true, nil
  end
  session:change('session/prompt', { content = with_images(content, images) }, function(problem)
    unsubscribe()
    draft:set_busy(nil)
    if tree then
      tree:when_complete(function()
        tree.follows_leaf = false
      end)
    end
    if not problem then
      return draft:finish()
    end
    local is_stored = was_stored or (type(problem.data) == 'table' and problem.data.userEntryId ~= nil)
    if is_stored then
      draft:finish()
    elseif vim.api.nvim_buf_is_valid(draft.buf) then
      draft:show()
    end
    if errors.is(problem, 'cancelled') then
      notify.info(is_stored and 'Cancelled; your message is stored' or 'Cancelled')
    else
      notify.problem(problem)
    end
  end)
end

---@param session branchline.Session
---@param draft branchline.Draft
---@param content string
---@param images table[]
local function send(session, draft, content, images)
  session:request('session/context', { format = 'none' }, function(problem, context)
    if problem then
      return notify.problem(problem)
    end
    require('branchline.trust').ask(M.host(session.settings, context.model), function()
      prompt(session, draft, content, images)
    end)
  end)
end

---@param session branchline.Session
---@param draft branchline.Draft
---@param content string
---@param images table[]
local function store(session, draft, content, images)
  draft:set_busy('being stored')
  session:change('session/append', {
    entries = { { type = 'message', message = { role = 'user', content = with_images(content, images) } } },
  }, function(problem)
    draft:set_busy(nil)
    if problem then
      return notify.problem(problem)
    end
    draft:finish()
    notify.info('Stored; no model was asked')
  end)
end

---@param session branchline.Session
---@param options branchline.AskOptions
local function open(session, options)
  local images = options.content and options.content.images or {}
  require('branchline.draft').open({
    kind = 'ask',
    key = options.edits and 'edit ' .. options.edits or 'ask',
    title = options.edits and 'Your message, to change' or 'Ask',
    note = #images > 0 and text.plural(#images, 'image') .. ' along' or nil,
    session = session,
    lines = options.content and vim.split(options.content.text, '\n', { plain = true }) or { '' },
    send = function(draft, content)
      send(session, draft, content, images)
    end,
    store = function(draft, content)
      store(session, draft, content, images)
    end,
  })
end

--- Open the buffer to ask in. From another entry than the leaf the leaf is moved there first.
---@param session branchline.Session
---@param options branchline.AskOptions
function M.open(session, options)
  if not options.from or options.from == session.leafId or not session.leafId then
    return open(session, options)
  end
  local tree = require('branchline.tree').of(session)
  local leaf = tree and tree:leaf_line()
  if tree and leaf and tree.items[leaf].id == options.from then
    return open(session, options) -- the leaf itself is not shown, this row stands for it
  end
  require('branchline.switch').go(session, options.from, {
    position = 'at',
    after = function()
      open(session, options)
    end,
  })
end

return M
