--- A summary on its way: written by the daemon, shown as it comes, edited, and then stored.
--- What it is a summary of is known to `switch` and `compact`.
local M = {}

local errors = require('branchline.errors')
local float = require('branchline.float')
local notify = require('branchline.notify')
local text = require('branchline.text')

---@class branchline.SummarySpec
---@field session branchline.Session
---@field key string
---@field title string
---@field host? string where it would be sent
---@field method string
---@field preview fun(instructions: string?, summarizer: string?): table params that have it written
---@field store fun(draft_id: string, content: string): table params that store it
---@field stored fun(answer: table)

local PARTS = { 'history', 'turnPrefix', 'branch' }

---@class branchline.WriteOptions
---@field instructions? string the focus
---@field summarizer? string overrules the settings
---@field anew? boolean even if there is a text already

---@param spec branchline.SummarySpec
---@param problem branchline.Error
---@param options branchline.WriteOptions
local function failed(spec, problem, options)
  if not errors.is(problem, 'summaryFailed') then
    return notify.problem(problem)
  end
  local function again(summarizer)
    return function()
      M.write(spec, { instructions = options.instructions, summarizer = summarizer, anew = true })
    end
  end
  float.ask('The summary failed', { problem.message }, {
    { key = 'r', help = 'try again', run = again(options.summarizer) },
    { key = 'o', help = 'take the offline summary, made by rules', run = again('offline') },
  }, 'leave it')
end

---@param spec branchline.SummarySpec
---@param draft branchline.Draft
---@param options branchline.WriteOptions
local function write(spec, draft, options)
  local session = spec.session
  local parts = {}
  local before = draft:content() ~= '' and vim.api.nvim_buf_get_lines(draft.buf, 0, -1, false) or nil
  draft:set_busy('being written')
  draft:set({ '' })
  local unsubscribe = session:listen(function(event, facts)
    if event == 'busy' and facts.job then
      parts = {}
    elseif event == 'summaryText' and vim.api.nvim_buf_is_valid(draft.buf) then
      parts[facts.part] = (parts[facts.part] or '') .. facts.delta
      local shown = {}
      for _, part in ipairs(PARTS) do
        shown[#shown + 1] = parts[part]
      end
      draft:set(text.lines(table.concat(shown, '\n\n')))
    end
  end)
  session:change(spec.method, spec.preview(options.instructions, options.summarizer), function(problem, answer)
    unsubscribe()
    if not vim.api.nvim_buf_is_valid(draft.buf) then
      return
    elseif not problem and answer.draftId then
      draft:set_busy(nil)
      draft:set(text.lines(answer.summary))
      draft.id = answer.draftId
      vim.bo[draft.buf].modified = false
      draft:keep()
      return
    elseif before then
      draft:set_busy(nil)
      draft:set(before)
    else
      draft:finish()
    end
    if problem then
      failed(spec, problem, options)
    else
      notify.info('There is nothing to summarise')
    end
  end)
end

--- Store it. A daemon that has begun anew knows the draft no more: then the text alone is stored.
---@param spec branchline.SummarySpec
---@param draft branchline.Draft
---@param content string
local function store(spec, draft, content)
  draft:set_busy('being stored')
  spec.session:change(spec.method, spec.store(draft.id, content), function(problem, answer)
    draft:set_busy(nil)
    if draft.id and errors.is(problem, 'invalidParams') then
      draft.id = nil
      return store(spec, draft, content)
    elseif problem then
      return notify.problem(problem)
    end
    draft:finish()
    spec.stored(answer)
  end)
end

--- The draft of a summary; shown as it is if there is one already.
---@param spec branchline.SummarySpec
---@param anew? boolean whether it will be written anew at once
---@return branchline.Draft
local function open(spec, anew)
  local draft
  draft = require('branchline.draft').open({
    kind = 'draft',
    key = spec.key,
    title = spec.title,
    session = spec.session,
    lines = { '' },
    anew = anew,
    send = function(_, content)
      store(spec, draft, content)
    end,
    rewrite = function()
      vim.ui.input({ prompt = 'Focus (may be empty): ' }, function(focus)
        if focus then
          M.write(spec, { instructions = focus ~= '' and focus or nil, anew = true })
        end
      end)
    end,
    discarded = function()
      if draft.busy == 'being written' then
        require('branchline.actions').cancel_job(spec.session)
      end
    end,
  })
  return draft
end

--- Have it written, show it as it comes, store it when the person says so. A text that is there
--- already, from before, is shown as it is.
---@param spec branchline.SummarySpec
---@param options? branchline.WriteOptions
function M.write(spec, options)
  options = options or {}
  if not options.anew and M.is_kept(spec) then
    open(spec)
    return
  end
  local host = options.summarizer ~= 'offline' and spec.host or nil
  require('branchline.trust').ask(host, function()
    write(spec, open(spec, true), options)
  end)
end

---@param spec branchline.SummarySpec
---@return boolean
function M.is_kept(spec)
  return require('branchline.draft').is_kept({ kind = 'draft', key = spec.key, session = spec.session })
end

--- The answers to the question before a summary: have it written, or written with a focus.
---@param spec branchline.SummarySpec
---@param help string
---@return branchline.Choice[]
function M.choices(spec, help)
  local is_kept = M.is_kept(spec)
  return {
    {
      key = 's',
      help = is_kept and 'go on with the summary that was kept' or help,
      run = function()
        M.write(spec)
      end,
    },
    {
      key = 'f',
      help = is_kept and 'have another one written, with a focus' or 'the same, with a focus',
      run = function()
        M.write_with_focus(spec)
      end,
    },
  }
end

--- Ask for a focus, then have it written.
---@param spec branchline.SummarySpec
function M.write_with_focus(spec)
  vim.ui.input({ prompt = 'Focus: ' }, function(focus)
    if focus then
      M.write(spec, { instructions = focus ~= '' and focus or nil, anew = true })
    end
  end)
end

--- Who would write, for people.
---@param summarizer? table
---@return string
function M.writer(summarizer)
  if not summarizer then
    return 'nobody: the writer that was chosen is not to be had'
  elseif summarizer.kind == 'offline' then
    return 'rules, offline'
  elseif summarizer.kind == 'client' then
    return summarizer.model or 'your summarize function'
  end
  return ('%s at %s'):format(summarizer.model or 'a model', summarizer.host or 'a server')
end

return M
