--- The images of an entry: named, and opened or saved because somebody asked for that.
local M = {}

local notify = require('branchline.notify')
local text = require('branchline.text')

-- What an image may be called on disk. Other types are saved, but no program is started for them.
local ENDINGS = {
  ['image/png'] = '.png',
  ['image/jpeg'] = '.jpg',
  ['image/gif'] = '.gif',
  ['image/webp'] = '.webp',
}

---@class branchline.Image
---@field mimeType string
---@field data string base64

---@param block any
---@return boolean
local function is_image(block)
  return type(block) == 'table' and block.type == 'image' and type(block.data) == 'string'
end

--- The images of an entry, in order.
---@param entry table
---@return branchline.Image[]
function M.of(entry)
  local content = type(entry.message) == 'table' and entry.message.content or entry.content
  return vim.tbl_filter(is_image, type(content) == 'table' and content or {})
end

--- What an image is, for people: `image/png, 12 kB`.
---@param block table
---@return string
function M.name(block)
  local data = type(block.data) == 'string' and block.data or ''
  local bytes = math.floor(#data * 3 / 4) - #(data:match('=*$') or '')
  local kind = type(block.mimeType) == 'string' and text.crop(text.clean(block.mimeType), 40) or 'of no known type'
  return ('%s, %s'):format(kind, bytes < 1000 and bytes .. ' bytes' or math.floor(bytes / 1000 + 0.5) .. ' kB')
end

---@param image branchline.Image
---@param path string
---@return boolean
local function write(image, path)
  local decoded, bytes = pcall(vim.base64.decode, image.data)
  if not decoded then
    notify.error('The image is damaged')
    return false
  end
  local file, problem = vim.uv.fs_open(path, 'wx', tonumber('600', 8)) -- x: nothing is overwritten
  if not file then
    notify.error(('The image was not saved: %s'):format(problem))
    return false
  end
  vim.uv.fs_write(file, bytes)
  vim.uv.fs_close(file)
  return true
end

--- Choose an image of an entry.
---@param session branchline.Session
---@param id string
---@param callback fun(image: branchline.Image)
local function choose(session, id, callback)
  session:request('session/entries', { ids = { id } }, function(problem, answer)
    if problem then
      return notify.problem(problem)
    end
    local images = M.of(answer.entries[1])
    if #images == 0 then
      notify.info('This entry holds no image')
    elseif #images == 1 then
      callback(images[1])
    else
      vim.ui.select(images, {
        prompt = 'Which image?',
        kind = 'branchline.image',
        format_item = M.name,
      }, function(image)
        if image then
          callback(image)
        end
      end)
    end
  end)
end

--- Show an image in the program that the system has for it.
---@param session branchline.Session
---@param id string
function M.open(session, id)
  choose(session, id, function(image)
    local ending = ENDINGS[image.mimeType]
    if not ending then
      return notify.warn(('%s is opened by no program; :Branchline image PATH saves it'):format(M.name(image)))
    end
    local path = vim.fn.tempname() .. ending -- in a folder of this editor's, which goes when it leaves
    if write(image, path) then
      local _, problem = vim.ui.open(path)
      if problem then
        notify.error(problem)
      end
    end
  end)
end

--- Save an image where nothing is yet.
---@param session branchline.Session
---@param id string
---@param path string
function M.save(session, id, path)
  choose(session, id, function(image)
    path = vim.fs.normalize(vim.fn.fnamemodify(path, ':p'))
    if write(image, path) then
      notify.info(('Saved %s: %s'):format(path, M.name(image)))
    end
  end)
end

return M
