"""Chromium without a window, spoken to through a pipe: opens pages, looks at them, listens."""

import base64
import fcntl
import json
import os
import select
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
SECONDS = 60.0


def find_chromium() -> str | None:
    """The browser's program, if there is one."""
    return next(filter(None, map(shutil.which, NAMES)), None)


class Browser:
    """One tab. `problems` are console messages and refused loads since the page was opened."""

    def __init__(self, to_browser: int, from_browser: int) -> None:
        self._out, self._in = to_browser, from_browser
        self._pending = b""
        self._count = 0
        self._session: str | None = None
        self._events: list[dict[str, Any]] = []

    def begin(self) -> None:
        target = self._ask("Target.createTarget", url="about:blank")["targetId"]
        self._session = self._ask("Target.attachToTarget", targetId=target, flatten=True)[
            "sessionId"
        ]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self._ask(f"{domain}.enable")

    def open(self, page: Path, *, width: int, dark: bool = False) -> None:
        """Show the page in a window of this width."""
        size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 600}
        self._ask("Emulation.setDeviceMetricsOverride", **size)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self._ask("Emulation.setEmulatedMedia", features=[scheme])
        self._events.clear()
        self._ask("Page.navigate", url=page.resolve().as_uri())
        self._wait_for("Page.loadEventFired")

    def evaluate(self, expression: str) -> Any:
        """The value of a JavaScript expression on the page."""
        found = self._ask("Runtime.evaluate", expression=expression, returnByValue=True)
        assert "exceptionDetails" not in found, found
        return found["result"].get("value")

    def screenshot(self, height: int | None = None) -> bytes:
        """The page as a PNG, whole or down to a height."""
        width, whole = self.evaluate("[innerWidth, document.documentElement.scrollHeight]")
        clip = {"x": 0, "y": 0, "width": width, "height": height or whole, "scale": 1}
        found = self._ask("Page.captureScreenshot", clip=clip, captureBeyondViewport=True)
        return base64.b64decode(found["data"])

    @property
    def problems(self) -> list[str]:
        """What the page said on the console, and what it asked for but its own file."""
        said = []
        for event in self._events:
            method, detail = event["method"], event.get("params", {})
            if method == "Log.entryAdded":
                said.append(detail["entry"]["text"])
            elif method in ("Runtime.consoleAPICalled", "Runtime.exceptionThrown"):
                said.append(json.dumps(detail))
            elif method == "Network.requestWillBeSent" and detail["type"] != "Document":
                said.append(f"asked for {detail['request']['url']}")
        return said

    def _ask(self, method: str, **parameters: Any) -> dict[str, Any]:
        self._count += 1
        message: dict[str, Any] = {"id": self._count, "method": method, "params": parameters}
        if self._session is not None:
            message["sessionId"] = self._session
        os.write(self._out, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._read()
            if answer.get("id") == self._count:
                assert "error" not in answer, answer
                return answer["result"]
            self._events.append(answer)

    def _wait_for(self, method: str) -> None:
        while not any(event["method"] == method for event in self._events):
            self._events.append(self._read())

    def _read(self) -> dict[str, Any]:
        deadline = time.monotonic() + SECONDS
        while b"\0" not in self._pending:
            left = deadline - time.monotonic()
            if left < 0.0 or not select.select([self._in], [], [], left)[0]:
                raise TimeoutError("the browser does not answer")
            piece = os.read(self._in, 1 << 20)
            if not piece:
                raise ConnectionError("the browser is gone")
            self._pending += piece
        message, _, self._pending = self._pending.partition(b"\0")
        return json.loads(message)


@contextmanager
def open_browser(program: str, profile: Path) -> Iterator[Browser]:
    """Start the browser with an empty profile; end it with the block."""
    here_in, their_out = os.pipe()
    their_in, here_out = os.pipe()
    flags = ["--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
             "--remote-debugging-pipe", f"--user-data-dir={profile}"]  # fmt: skip

    def take_pipes() -> None:
        # In the child: the browser reads from 3 and writes to 4. Out of the way first.
        high_in, high_out = (fcntl.fcntl(pipe, fcntl.F_DUPFD, 10) for pipe in (their_in, their_out))
        os.dup2(high_in, 3)
        os.dup2(high_out, 4)

    process = subprocess.Popen(
        [program, *flags],
        pass_fds=(3, 4),
        preexec_fn=take_pipes,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    os.close(their_in)
    os.close(their_out)
    try:
        browser = Browser(here_out, here_in)
        browser.begin()
        yield browser
    finally:
        process.terminate()
        process.wait(SECONDS)
        os.close(here_out)
        os.close(here_in)
