"""Pure functions on the tree of a session: no files, no clients, nothing that waits."""
