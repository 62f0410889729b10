"""Branchline: the conversations of coding agents, kept as trees in append-only files."""

__version__ = "0.1.0"
