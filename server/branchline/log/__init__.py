"""Session files on disk: their bytes, how damage is read around, and how they grow."""
