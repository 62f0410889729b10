"""A session as something to hand on: a page, Markdown, or records; and what is hidden in it.

Pure: a session's index and bodies in, pieces of the result out, one after the other, so that a
session of any size is never in memory at once. Where the pieces go is the service's to say.
"""
