"""A sample session, a walk through it with the real daemon, and a small client to copy."""
