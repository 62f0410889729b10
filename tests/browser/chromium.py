"""A headless Chromium, driven over its debugging pipe with nothing but the standard library.

It owns the process it starts and its profile; there is no port. What a page fetches, logs, opens
and navigates to is kept as it happens.
"""

import fcntl
import json
import os
import select
import shutil
import subprocess
import tempfile
import time
from base64 import b64decode
from pathlib import Path
from typing import Any, Final

SECONDS: Final = 60.0
"""How long one command may take before the browser counts as stuck."""

_ARGUMENTS: Final = (
    "--headless=new",
    "--remote-debugging-pipe",
    "--disable-gpu",
    "--disable-extensions",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-dev-shm-usage",
    "--disable-default-apps",
    "--hide-scrollbars",
    "--mute-audio",
    "--no-default-browser-check",
    "--no-first-run",
    "--no-pings",
)


def chromium() -> str | None:
    """The browser to use: what ``CHROMIUM`` names, else one on PATH; None if there is none."""
    names = (os.environ.get("CHROMIUM", ""), "chromium", "chromium-browser", "google-chrome")
    return next((found for name in names if name and (found := shutil.which(name))), None)


class BrowserError(Exception):
    """The browser refused a command, or a script in a page threw."""


class Browser:
    """One browser process."""

    def __init__(self, command: str) -> None:
        self._profile = tempfile.mkdtemp(prefix="branchline-browser-")
        to_read, to_write = os.pipe()
        from_read, from_write = os.pipe()
        # The browser reads from 3 and writes to 4; out of the way of these two first.
        theirs = [fcntl.fcntl(one, fcntl.F_DUPFD, 10) for one in (to_read, from_write)]
        root = ["--no-sandbox"] if os.geteuid() == 0 else []
        self._process = subprocess.Popen(
            [
                "/bin/bash",
                "-c",
                f'exec "$0" "$@" 3<&{theirs[0]} 4>&{theirs[1]}',
                command,
                *_ARGUMENTS,
                *root,
                f"--user-data-dir={self._profile}",
                "about:blank",
            ],
            pass_fds=theirs,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        for one in (to_read, from_write, *theirs):
            os.close(one)
        self._to, self._from = to_write, from_read
        self._number = 0
        self._pending = bytearray()
        self.events: list[dict[str, Any]] = []

    def close(self) -> None:
        """End the process."""
        os.close(self._to)
        self._process.terminate()
        try:
            self._process.wait(SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        os.close(self._from)
        shutil.rmtree(self._profile, ignore_errors=True)

    def call(self, method: str, session: str | None = None, /, **params: Any) -> Any:
        """The result of a command; what happens meanwhile goes to ``events``."""
        self._number += 1
        number = self._number
        message: dict[str, Any] = {"id": number, "method": method, "params": params}
        if session is not None:
            message["sessionId"] = session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self._to, data) :]
        while True:
            answer = self._receive(SECONDS)
            assert answer is not None, f"no answer to {method}"
            if answer.get("id") == number:
                if "error" in answer:
                    raise BrowserError(f"{method}: {answer['error']['message']}")
                return answer["result"]
            self.events.append(answer)

    def wait_for(self, method: str) -> dict[str, Any]:
        """The next event of a kind, which may have come already."""
        while True:
            for at, event in enumerate(self.events):
                if event.get("method") == method:
                    del self.events[at]
                    params: dict[str, Any] = event["params"]
                    return params
            event_or_none = self._receive(SECONDS)
            assert event_or_none is not None, f"no {method}"
            self.events.append(event_or_none)

    def _receive(self, seconds: float) -> dict[str, Any] | None:
        end = time.monotonic() + seconds
        while b"\0" not in self._pending:
            ready, _, _ = select.select([self._from], [], [], max(0.0, end - time.monotonic()))
            if not ready:
                return None
            data = os.read(self._from, 1 << 20)
            if not data:
                raise BrowserError("the browser has ended")
            self._pending += data
        line, _, rest = bytes(self._pending).partition(b"\0")
        self._pending = bytearray(rest)
        message: dict[str, Any] = json.loads(line)
        return message


class Page:
    """One page of a browser, and what it did.

    ``script`` runs before anything of the page does.
    """

    def __init__(self, browser: Browser, script: str = "", width: int = 1300) -> None:
        self._browser = browser
        browser.events.clear()
        target = browser.call("Target.createTarget", url="about:blank")["targetId"]
        attached = browser.call("Target.attachToTarget", targetId=target, flatten=True)
        self._target, self._session = target, attached["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.call(f"{domain}.enable")
        self.resize(width, 900)
        if script:
            self.call("Page.addScriptToEvaluateOnNewDocument", source=script)

    def close(self) -> None:
        """Close the page."""
        self._browser.call("Target.closeTarget", targetId=self._target)

    def call(self, method: str, **params: Any) -> Any:
        """The result of a command to this page."""
        return self._browser.call(method, self._session, **params)

    def resize(self, width: int, height: int) -> None:
        """Give the window a size."""
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=False,
        )

    def emulate(self, media: str = "", scheme: str = "light") -> None:
        """Look at it as printed (``print``), or in a colour scheme."""
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self.call("Emulation.setEmulatedMedia", media=media, features=features)

    def load(self, path: Path, fragment: str = "") -> None:
        """Open a file and wait until it is loaded."""
        self.call("Page.navigate", url=path.as_uri() + fragment)
        self._browser.wait_for("Page.loadEventFired")
        self.settle()

    def reload(self) -> None:
        """Load the page again."""
        self.call("Page.reload")
        self._browser.wait_for("Page.loadEventFired")
        self.settle()

    def settle(self) -> None:
        """Wait until what was asked for is drawn."""
        self.ask("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")

    def ask(self, expression: str) -> Any:
        """The value of an expression in the page, awaited."""
        answer = self.call(
            "Runtime.evaluate",
            expression=expression,
            awaitPromise=True,
            returnByValue=True,
            userGesture=True,
        )
        if "exceptionDetails" in answer:
            raise BrowserError(str(answer["exceptionDetails"].get("exception", answer)))
        return answer["result"].get("value")

    def press(self, *keys: str) -> None:
        """Press keys, one after the other."""
        for key in keys:
            text = (
                {"text": "\r" if key == "Enter" else key} if len(key) == 1 or key == "Enter" else {}
            )
            named = {"windowsVirtualKeyCode": 13} if key == "Enter" else {}
            self.call("Input.dispatchKeyEvent", type="keyDown", key=key, **text, **named)
            self.call("Input.dispatchKeyEvent", type="keyUp", key=key)
            self.settle()

    def click(self, selector: str) -> None:
        """Click into the middle of the first element of a selector."""
        self.ask(
            f"document.querySelector({json.dumps(selector)}).scrollIntoView({{block:'center'}})"
        )
        self.settle()
        place = self.ask(
            f"(() => {{ const box = document.querySelector({json.dumps(selector)})"
            ".getBoundingClientRect();"
            " return [box.left + box.width / 2, box.top + box.height / 2]; })()"
        )
        for kind in ("mousePressed", "mouseReleased"):
            self.call(
                "Input.dispatchMouseEvent",
                type=kind,
                x=place[0],
                y=place[1],
                button="left",
                clickCount=1,
            )
        self.settle()

    def picture(self, path: Path) -> None:
        """Store what is to be seen as PNG."""
        path.write_bytes(b64decode(self.call("Page.captureScreenshot")["data"]))

    def printed(self) -> bytes:
        """The page as PDF."""
        return b64decode(self.call("Page.printToPDF", printBackground=True)["data"])

    def events(self, method: str) -> list[dict[str, Any]]:
        """What happened so far, of one kind."""
        self.settle()
        found = [one for one in self._browser.events if one.get("sessionId") == self._session]
        return [one["params"] for one in found if one["method"] == method]
