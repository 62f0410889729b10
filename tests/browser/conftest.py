"""One browser for all tests of the page, and a daemon that makes the pages."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Protocol

import pytest

from branchline.demo.client import Client
from branchline.entries import Entry
from tests.browser.chromium import Browser, Page, chromium
from tests.e2e.conftest import SECONDS, SERVE, isolated
from tests.e2e.talk import write_session


class MakePage(Protocol):
    """Makes the page of a session: a file, or records."""

    def __call__(self, session: Path | list[Entry], **params: Any) -> Path: ...


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """A headless Chromium."""
    command = chromium()
    if command is None:
        pytest.skip("the exported page in a browser: Chromium is not installed")
    running = Browser(command)
    try:
        yield running
    finally:
        running.close()


@pytest.fixture
def open_page(browser: Browser) -> Iterator[Callable[..., Page]]:
    """Opens pages, closed with the test."""
    opened: list[Page] = []

    def open_one(path: Path | None = None, fragment: str = "", **options: Any) -> Page:
        page = Page(browser, **options)
        opened.append(page)
        if path is not None:
            page.load(path, fragment)
        return page

    yield open_one
    for page in opened:
        page.close()


@pytest.fixture(scope="module")
def exporter(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Client, Path]]:
    """A daemon, and a folder for what it exports."""
    folder = tmp_path_factory.mktemp("exporter")
    with Client(SERVE, environment=isolated(folder), seconds=10 * SECONDS) as client:
        client.initialize(folder, {})
        yield client, folder


@pytest.fixture(scope="module")
def make_page(exporter: tuple[Client, Path]) -> MakePage:
    """Makes pages with the real daemon."""
    client, folder = exporter
    made = 0

    def make(session: Path | list[Entry], **params: Any) -> Path:
        nonlocal made
        made += 1
        path = folder / f"page-{made}.html"
        if isinstance(session, list):
            session = write_session(folder / "sessions", *session, name=f"{made}.jsonl")
        client.request(
            "session/export",
            {"session": str(session), "format": "html", "path": str(path), **params},
        )
        return path

    return make
