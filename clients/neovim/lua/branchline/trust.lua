--- Asks once before a conversation is sent to a host that is not this machine.
local M = {}

local asked_file = vim.fs.joinpath(vim.fn.stdpath('state') --[[@as string]], 'branchline', 'hosts')

---@return table<string, true>
local function known()
  local hosts = {}
  if vim.uv.fs_stat(asked_file) then
    for line in io.lines(asked_file) do
      hosts[line] = true
    end
  end
  return hosts
end

---@param host string
local function remember(host)
  vim.fn.mkdir(vim.fs.dirname(asked_file), 'p', '0700')
  local file = assert(io.open(asked_file, 'a'))
  file:write(host, '\n')
  file:close()
end

--- The host, with its port, of a base URL.
---@param url string
---@return string
function M.host_of(url)
  local authority = url:match('^%a[%w+.-]*://([^/?#]*)') or url
  return (authority:gsub('^.*@', ''):lower())
end

---@param host string
---@return boolean
function M.is_loopback(host)
  local name = host:match('^%[(.-)%]') or host:match('^([^:]*)') or host
  return name == 'localhost' or name == '::1' or name:match('^127%.%d+%.%d+%.%d+$') ~= nil
end

--- Go on if the host may be sent to. Nil is a host that is not known or none at all.
---@param host? string
---@param callback fun()
function M.ask(host, callback)
  if not host or M.is_loopback(host) or known()[host] then
    return callback()
  end
  require('branchline.float').ask('Send it to ' .. host .. '?', {
    'This conversation would be sent to ' .. host .. ', which is not this machine.',
    'You are asked once for each host.',
  }, {
    {
      key = 'y',
      help = 'yes, from now on',
      run = function()
        remember(host)
        callback()
      end,
    },
  }, 'no, send nothing')
end

return M
