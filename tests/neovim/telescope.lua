-- Telescope as the taker of vim.ui.select: what people put in their init.lua, cut down.
vim.opt.runtimepath:append({ vim.env.PLENARY, vim.env.TELESCOPE })

vim.ui.select = function(items, options, on_choice)
  local actions, state = require('telescope.actions'), require('telescope.actions.state')
  local format = options.format_item or tostring
  require('telescope.pickers')
    .new({}, {
      prompt_title = ('%s (%s)'):format(options.prompt, options.kind),
      finder = require('telescope.finders').new_table({
        results = items,
        entry_maker = function(item)
          return { value = item, display = format(item), ordinal = format(item) }
        end,
      }),
      sorter = require('telescope.config').values.generic_sorter({}),
      previewer = options.preview_item and require('telescope.previewers').new({
        preview_fn = function(_, entry, status)
          local shown = options.preview_item(entry.value)
          if shown and shown.buf then
            vim.api.nvim_win_set_buf(status.layout.preview.winid, shown.buf)
          end
        end,
      }) or nil,
      attach_mappings = function(prompt)
        actions.select_default:replace(function()
          local chosen = state.get_selected_entry()
          actions.close(prompt)
          on_choice(chosen and chosen.value)
        end)
        return true
      end,
    })
    :find()
end
