"""Our side of what is measured in a process: a program that does one thing and says how long.

    python -m tests.bench.our_side look FILE            open, and build the context at the leaf
    python -m tests.bench.our_side append FILE COUNT    append, beside raw writes

One JSON object goes to stdout, times in milliseconds and memory in MB. `pi_bench.mjs` is the same
for Pi. Files that are looked at stay as they are.
"""

import json
import os
import re
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from branchline.entries import STRUCTURAL, Entry, facts_of, flags_of, kind_of
from branchline.log.format import record_line
from branchline.log.session_file import Durability, SessionFile
from branchline.service.new_entries import make_addition
from branchline.settings import DEFAULTS
from branchline.tree.context import build_context
from branchline.tree.index import Tree
from branchline.tree.tokens import entry_tokens

MESSAGE: Final[Entry] = {
    "type": "message",
    "message": {
        "role": "user",
        "content": [{"type": "text", "text": "the quick brown fox jumps. " * 98}],
        "timestamp": 1_767_225_600_000,
    },
}
"""What is appended, by us and by Pi: 2.8 kB as a record."""
