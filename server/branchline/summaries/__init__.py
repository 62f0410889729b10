"""Summaries: what to summarise (pure), and who writes it."""
