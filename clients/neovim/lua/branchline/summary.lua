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

---@param spec branchline.SummarySpec
---@param draft branchline.Draft
---@param instructions? string
---@param summarizer? string
local function write(spec, draft, instructions, summarizer)
  local session = spec.session
  local parts = {}
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
  session:change(spec.method, spec.preview(instructions, summarizer), function(problem, answer)
    unsubscribe()
    if not vim.api.nvim_buf_is_valid(draft.buf) then
      return
    end
    if not problem and answer.draftId then
      draft:set_busy(nil)
      draft:set(text.lines(answer.summary))
      draft.id = answer.draftId
      vim.bo[draft.buf].modified = false
      return
    end
    draft:finish()
    if not problem then
      notify.info('There is nothing to summarise')
    elseif errors.is(problem, 'summaryFailed') then
      float.ask('The summary failed', { problem.message }, {
        {
          key = 'r',
          help = 'try again',
          run = function()
            M.write(spec, instructions, summarizer)
          end,
        },
        {
          key = 'o',
          help = 'take the offline summary, made by rules',
          run = function()
            M.write(spec, instructions, 'offline')
          end,
        },
      }, 'leave it')
    else
      notify.problem(problem)
    end
  end)
end

--- Have it written, show it as it comes, store it when the person says so.
---@param spec branchline.SummarySpec
---@param instructions? string
---@param summarizer? string
function M.write(spec, instructions, summarizer)
  local host = summarizer ~= 'offline' and spec.host or nil
  require('branchline.trust').ask(host, function()
    local known = require('branchline.draft').find(spec.key, spec.session)
    if known then
      known:finish()
    end
    local draft
    draft = require('branchline.draft').open({
      kind = 'draft',
      key = spec.key,
      title = spec.title,
      session = spec.session,
      lines = { '' },
      send = function(_, content)
        draft:set_busy('being stored')
        spec.session:change(spec.method, spec.store(draft.id, content), function(problem, answer)
          draft:set_busy(nil)
          if problem then
            return notify.problem(problem)
          end
          draft:finish()
          spec.stored(answer)
        end)
      end,
      rewrite = function()
        vim.ui.input({ prompt = 'Focus (may be empty): ' }, function(focus)
          if focus then
            write(spec, draft, focus ~= '' and focus or nil, summarizer)
          end
        end)
      end,
      discarded = function()
        if draft.busy == 'being written' then
          require('branchline.actions').cancel_job(spec.session)
        end
      end,
    })
    write(spec, draft, instructions, summarizer)
  end)
end

--- Ask for a focus, then have it written.
---@param spec branchline.SummarySpec
function M.write_with_focus(spec)
  vim.ui.input({ prompt = 'Focus: ' }, function(focus)
    if focus then
      M.write(spec, focus ~= '' and focus or nil)
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
