"""Asking a model on an OpenAI-compatible server. Knows nothing of sessions, trees or summaries."""
