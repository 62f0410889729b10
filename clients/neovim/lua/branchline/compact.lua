--- Compaction: what it would cover, one question, then a draft to store.
local M = {}

local float = require('branchline.float')
local notify = require('branchline.notify')
local summary = require('branchline.summary')
local text = require('branchline.text')

---@param plan table
---@return string
function M.cost(plan)
  return ('Compact %s, %s to %s tokens; %s stay as they are'):format(
    text.plural(#plan.summarized + #plan.turnPrefix, 'entry'),
    text.count(plan.tokensBefore),
    text.count(plan.tokensAfter),
    text.plural(#plan.kept, 'entry')
  )
end

---@param session branchline.Session
function M.ask(session)
  session:change('session/compact', { dryRun = true }, function(problem, answer)
    if problem then
      return notify.problem(problem)
    end
    local plan = answer.plan
    local function stored(result)
      session.undone_at = nil
      notify.info(('Compacted to %s tokens; u takes it back'):format(text.count(result.tokensAfter)))
    end
    local spec = {
      session = session,
      key = 'compaction at ' .. tostring(session.leafId),
      title = 'Summary of the past',
      host = plan.summarizer and plan.summarizer.host,
      method = 'session/compact',
      preview = function(instructions, summarizer)
        return { preview = true, instructions = instructions, summarizer = summarizer }
      end,
      store = function(draft_id, content)
        return { draftId = draft_id, summary = content }
      end,
      stored = stored,
    }
    local choices = summary.choices(spec, 'write it, and show it first')
    choices[#choices + 1] = {
      key = 'g',
      help = 'write and store it',
      run = function()
        require('branchline.trust').ask(spec.host, function()
          session:change('session/compact', {}, function(failed, result)
            if failed then
              return notify.problem(failed)
            end
            stored(result)
          end)
        end)
      end,
    }
    float.ask('Compact', { M.cost(plan), 'It is written by ' .. summary.writer(plan.summarizer) }, choices, 'leave it')
  end)
end

return M
