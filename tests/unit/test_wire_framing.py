"""Frames of the LSP base protocol."""

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from branchline.wire.framing import MAX_MESSAGE_BYTES, Event, Frame, Framer, Malformed, frame

BODY = '{"text":"é😀"}'.encode()


def feed(*chunks: bytes) -> list[Event]:
    framer = Framer()
    return [event for chunk in chunks for event in framer.feed(chunk)]


def bodies(*chunks: bytes) -> list[bytes]:
    return [event.body for event in feed(*chunks) if isinstance(event, Frame)]


def test_the_length_counts_bytes() -> None:
    assert frame(BODY) == b"Content-Length: 17\r\n\r\n" + BODY
    assert feed(frame(BODY)) == [Frame(BODY)]


@pytest.mark.parametrize(
    "header",
    [
        b"content-length: 17\r\n\r\n",
        b"CONTENT-LENGTH:17\r\n\r\n",
        b"Content-Length: 17\n\n",
        b"Content-Length: 17\n\r\n",
        b"Content-Length:  17  \r\n\r\n",
        b"Content-Type: application/vscode-jsonrpc; charset=utf-8\r\nContent-Length: 17\r\n\r\n",
        b"Content-Length: 17\r\nX-Other: 5\r\n\r\n",
        b"junk\r\nContent-Length: 17\r\n\r\n",
        b"junkContent-Length: 17\r\n\r\n",
        b"\r\n\nContent-Length: 17\r\n\r\n",
        b"X-Content-Length: 3\r\nContent-Length: 17\r\n\r\n",
    ],
)
def test_headers_are_read_leniently(header: bytes) -> None:
    assert feed(header + BODY) == [Frame(BODY)]


def test_an_empty_body_is_a_frame() -> None:
    assert feed(frame(b"") + frame(BODY)) == [Frame(b""), Frame(BODY)]


@pytest.mark.parametrize(
    "length", [b"-1", b"", b"many", b"1.5", b"0x11", b"99999999999", b"9" * 5000, "١٧".encode()]
)
def test_after_a_length_of_nonsense_the_next_frame_is_read(length: bytes) -> None:
    events = feed(b"Content-Length: %b\r\n\r\n" % length + frame(BODY))
    assert [type(event) for event in events] == [Malformed, Frame]


def test_after_a_header_without_a_length_the_next_frame_is_read() -> None:
    events = feed(b"Content-Type: text\r\n\r\n" + BODY + frame(BODY))
    assert events == [Malformed("a header has no Content-Length"), Frame(BODY)]


def test_a_body_above_the_limit_is_skipped_without_being_kept() -> None:
    size = MAX_MESSAGE_BYTES + 1
    framer = Framer()
    events = framer.feed(b"Content-Length: %d\r\n\r\n" % size)
    chunk = b"x" * 1_000_000
    for start in range(0, size, len(chunk)):
        events += framer.feed(chunk[: size - start])
        assert len(framer._buffer) == 0
    events += framer.feed(frame(BODY))
    reason = f"a message of {size} bytes is longer than {MAX_MESSAGE_BYTES}"
    assert events == [Malformed(reason), Frame(BODY)]


def test_an_endless_header_is_reported_once_and_not_kept() -> None:
    framer = Framer()
    events: list[Event] = []
    for _ in range(1000):
        events += framer.feed(b"x" * 1000)
        assert len(framer._buffer) <= 64 * 1024
    assert events == [Malformed("a header is longer than 65536 bytes")]
    assert framer.feed(frame(BODY)) == [Frame(BODY)]


def test_the_time_for_single_bytes_is_linear() -> None:
    """A quadratic framer would take hours: 20 MB, one byte at a time, copied each time."""
    body = b"x" * 20_000_000
    framer = Framer()
    started = time.perf_counter()
    events = framer.feed(frame(body)[:-3_000_000])
    for _ in range(3_000_000):
        events += framer.feed(b"x")
    assert events == [Frame(body)]
    assert time.perf_counter() - started < 30


PIECES = st.lists(
    st.one_of(
        st.binary(max_size=30).map(frame),
        st.sampled_from(
            [
                b"content-length: 3\n\nabc",
                b"Content-Length: -7\r\n\r\n",
                b"Content-Length: 1e3\r\n\r\n",
                b"\r\n",
                b"\n",
                b"junk",
                b"\r",
                b"Content-Length: 2\r\nX: y\r\n\r\n{}",
                b"z" * 70_000,
            ]
        ),
    ),
    max_size=8,
)


@settings(deadline=None)  # the machine may be busy
@given(PIECES, st.data())
def test_any_split_gives_the_same_events(pieces: list[bytes], data: st.DataObject) -> None:
    stream = b"".join(pieces)
    cuts = data.draw(st.lists(st.integers(0, len(stream)), max_size=12).map(sorted))
    chunks = [stream[i:j] for i, j in zip([0, *cuts], [*cuts, len(stream)], strict=True)]
    assert feed(*chunks) == feed(stream)


@settings(deadline=None)  # the machine may be busy
@given(st.lists(st.binary(max_size=50), max_size=5))
def test_every_byte_on_its_own_gives_every_body(wanted: list[bytes]) -> None:
    stream = b"".join(map(frame, wanted))
    assert bodies(*(stream[i : i + 1] for i in range(len(stream)))) == wanted
