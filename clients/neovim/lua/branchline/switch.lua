--- Moving the leaf: at once where nothing is left behind, else after one question.
local M = {}

local float = require('branchline.float')
local notify = require('branchline.notify')
local summary = require('branchline.summary')
local text = require('branchline.text')

local RECENT_S = 600

---@class branchline.GoOptions
---@field position? "auto"|"at"
---@field summary? boolean take one without asking
---@field after? fun() once the leaf is there

---@param session branchline.Session
---@param target string
---@param options branchline.GoOptions
---@return fun(answer: table) moved
local function arrival(session, target, options)
  return function(answer)
    session.undone_at = nil
    vim.api.nvim_exec_autocmds('User', {
      pattern = 'BranchlineSwitched',
      modeline = false,
      data = {
        path = session.path,
        leafId = answer.leafId,
        previousLeafId = answer.previousLeafId,
        summaryEntryId = answer.summaryEntryId,
      },
    })
    local tree = require('branchline.tree').of(session)
    if tree then
      tree:when_complete(function()
        if vim.api.nvim_get_current_buf() == tree.buf then
          tree:to_leaf()
        end
      end)
    end
    if options.after then
      options.after()
    elseif answer.editorContent then
      require('branchline.ask').open(session, { content = answer.editorContent, edits = target })
    end
  end
end

---@param session branchline.Session
---@param ids string[]
---@param back fun()
local function show_left(session, ids, back)
  session:request('session/entries', { ids = vim.list_slice(ids, 1, 200) }, function(problem, answer)
    if problem then
      return notify.problem(problem)
    end
    local lines = {}
    for _, entry in ipairs(answer.entries) do
      local plain = vim.trim(table.concat(require('branchline.preview').plain(entry), ' '))
      if plain ~= '' then
        local role = entry.message and entry.message.role or entry.type
        lines[#lines + 1] = text.crop(('%-10s %s'):format(role, text.clean(plain)), vim.o.columns - 8)
      end
    end
    float.show('What is left', lines)
    vim.api.nvim_create_autocmd('WinClosed', {
      pattern = tostring(vim.api.nvim_get_current_win()),
      once = true,
      callback = vim.schedule_wrap(back),
    })
  end)
end

--- What is left behind, in one line and with its cost.
---@param plan table
---@param name? string
---@return string
function M.cost(plan, name)
  local files = {}
  for _, list in ipairs({ plan.readFiles, plan.modifiedFiles }) do
    for _, file in ipairs(list) do
      files[file] = true
    end
  end
  return ('Leave %s: %s, %s tokens, %s'):format(
    name and name ~= '' and ('"%s"'):format(text.crop(text.clean(name), 40)) or 'this branch',
    text.plural(plan.messageCount, 'message'),
    text.count(plan.tokens),
    text.plural(vim.tbl_count(files), 'file')
  )
end

--- Go to an entry.
---@param session branchline.Session
---@param target string
---@param options branchline.GoOptions
function M.go(session, target, options)
  local position = options.position or 'auto'
  local moved = arrival(session, target, options)
  local function params(more)
    return vim.tbl_extend('force', { targetId = target, position = position }, more)
  end
  local function just_go()
    session:change('session/switchLeaf', params({ summary = { mode = 'none' } }), function(problem, answer)
      if problem then
        return notify.problem(problem)
      end
      moved(answer)
    end)
  end
  session:change(
    'session/switchLeaf',
    params({ dryRun = true, summary = { mode = 'write' } }),
    function(problem, answer)
      if problem then
        return notify.problem(problem)
      end
      local plan = answer.plan
      if #plan.leaving == 0 or plan.messageCount == 0 then
        return just_go()
      elseif not options.summary and session.settings.branchSummary.skipPrompt then
        return just_go()
      end
      local spec = {
        session = session,
        key = ('from %s to %s'):format(tostring(session.leafId), target),
        title = 'Summary of the branch that is left',
        host = plan.summarizer and plan.summarizer.host,
        method = 'session/switchLeaf',
        preview = function(instructions, summarizer)
          return params({
            preview = true,
            summary = { mode = 'write', instructions = instructions, summarizer = summarizer },
          })
        end,
        store = function(draft_id, content)
          return params({ summary = { mode = 'text', draftId = draft_id, text = content } })
        end,
        stored = moved,
      }
      if options.summary then
        return summary.write(spec)
      end
      M.ask(session, plan, spec, just_go)
    end
  )
end

--- The one question.
---@param session branchline.Session
---@param plan table
---@param spec branchline.SummarySpec
---@param just_go fun()
function M.ask(session, plan, spec, just_go)
  session:request('session/branches', {}, function(problem, answer)
    local name
    for _, branch in ipairs(not problem and answer.branches or {}) do
      name = branch.active and branch.name or name
    end
    local facts = { M.cost(plan, name) }
    facts[#facts + 1] = ('There: %s of %s tokens. A summary is written by %s'):format(
      text.count(plan.targetUsage.tokens),
      text.count(plan.targetUsage.contextWindow),
      summary.writer(plan.summarizer)
    )
    if session.external_at and os.time() - session.external_at < RECENT_S then
      facts[#facts + 1] = 'Another program wrote here lately: a Pi that has it open sees our entries after reopening it'
    end
    local function again()
      M.ask(session, plan, spec, just_go)
    end
    local choices = summary.choices(spec, 'take a summary along')
    table.insert(choices, 1, { key = 'g', help = 'just go', run = just_go })
    choices[#choices + 1] = {
      key = 'w',
      help = 'show what is left',
      run = function()
        show_left(session, plan.leaving, again)
      end,
    }
    float.ask('Go there', facts, choices, 'stay')
  end)
end

return M
