"""The daemon's fixtures."""

from tests.e2e.conftest import agent_dir, copy_session, daemon, environment

__all__ = ["agent_dir", "copy_session", "daemon", "environment"]
