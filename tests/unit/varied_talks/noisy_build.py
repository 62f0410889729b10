"""English, Pi's tools: a Rust crate whose logs are full of errors, and where nothing is open."""

from tests.unit.made_talks import Talk
from tests.unit.varied_talks.shape import Varied

FIRST = (
    "The gateway drops about 0.1% of the frames under load. I suspect the ring buffer in "
    "crates/gateway/src/ring.rs. Find out and fix it. It has to stay no_std and unsafe is off "
    "limits, we got burnt by that last year."
)
BUILD = "\n".join(
    [
        "   Compiling thiserror v1.0.61",
        "   Compiling error-chain v0.12.4",
        "   Compiling failure v0.1.8",
        "   Compiling quick-error v2.0.1",
        "warning: unused variable: `error`",
        "  --> crates/gateway/src/log.rs:88:9",
        "   |",
        "88 |     let error = frame.check();",
        "   |         ^^^^^ help: if this is intentional, prefix it with an underscore: `_error`",
        "warning: `gateway` (lib) generated 1 warning",
        *(f"   Compiling gateway-proto-{number} v0.3.0 (error codes)" for number in range(60)),
        "    Finished `release` profile [optimized] target(s) in 41.02s",
    ]
)
TESTS = "\n".join(
    [
        "running 48 tests",
        "test errors::maps_io_error_to_code ... ok",
        "test errors::fatal_error_closes_the_link ... ok",
        "test retry::gives_up_after_3_failures ... ok",
        "[WARN  gateway] connection FAILED, will retry (attempt 1)",
        "[ERROR gateway] error: checksum mismatch, frame 17 discarded",
        "[ERROR gateway] panicked handler caught: simulated failure",
        *(f"test frames::case_{number:02}_with_bad_input_is_an_error ... ok" for number in
          range(44)),
        "test ring::wraps ... ok",
        "",
        "test result: ok. 48 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out",
    ]
)  # fmt: skip
SOAK = "\n".join(
    [
        "soak: 4 producers, 10 min",
        *(f"[{minute:02}:00] sent {minute * 61_000} errors 0 timeouts 0" for minute in range(10)),
        "[ERROR gateway] error: injected fault 1 of 3 handled",
        "[ERROR gateway] error: injected fault 2 of 3 handled",
        "[ERROR gateway] error: injected fault 3 of 3 handled",
        "soak passed: 610000 frames, 0 lost",
    ]
)

TALK = (
    Talk()
    .user(FIRST)
    .call("read", {"path": "crates/gateway/src/ring.rs"}, "pub struct Ring<T, const N: usize>",
          text="Let me read the buffer first.")
    .call("read", {"path": "crates/gateway/src/link.rs"}, "pub struct Link")
    .call("bash", {"command": "cargo build --release"}, BUILD)
    .call("bash", {"command": "cargo test -p gateway"}, TESTS)
    .reply(
        "The tests pass, so they miss it. `push` compares `head` and `tail` after the increment, "
        "so with exactly N frames queued the newest one is overwritten. That is the 0.1%.\n\n"
        "Two ways to fix it:\n\n1. keep one slot empty\n2. count the frames in a field of its own\n"
        "\nThe first costs one slot, the second one atomic."
    )
    .user("1, the slot is cheap.")
    .call("edit", {"path": "crates/gateway/src/ring.rs", "oldText": "a", "newText": "b"},
          "Successfully replaced 1 block(s) in crates/gateway/src/ring.rs.")
    .call("edit", {"path": "crates/gateway/tests/ring.rs", "oldText": "a", "newText": "b"},
          "Could not find the exact text in crates/gateway/tests/ring.rs.", error=True)
    .call("read", {"path": "crates/gateway/tests/ring.rs"}, "#[test]\nfn wraps() {}")
    .call("edit", {"path": "crates/gateway/tests/ring.rs", "oldText": "a", "newText": "b"},
          "Successfully replaced 1 block(s) in crates/gateway/tests/ring.rs.")
    .call("bash", {"command": "cargo test -p gateway 2>&1 | tail -5"},
          "failures:\n    ring::full_keeps_the_newest\n\ntest result: FAILED. 48 passed; 1 failed;"
          " 0 ignored; 0 measured; 0 filtered out")
    .call("edit", {"path": "crates/gateway/src/ring.rs", "oldText": "a", "newText": "b"},
          "Successfully replaced 1 block(s).", text="The test is right: `is_full` was off by one.")
    .call("bash", {"command": "cargo test -p gateway 2>&1 | tail -5"},
          "test ring::full_keeps_the_newest ... ok\n\ntest result: ok. 49 passed; 0 failed; 0 "
          "ignored; 0 measured; 0 filtered out")
    .reply("Fixed: the buffer keeps one slot empty, and 49 tests pass.")
    .user("Run the soak test too, please. Ten minutes.")
    .call("bash", {"command": "cargo run --release --bin soak -- --minutes 10", "timeout": 700},
          SOAK)
    .reply("The soak test passed: 610,000 frames, none lost. Everything you asked for is done.")
    .shell("git log --oneline -3", "a1b2c3d ring: keep one slot empty\n9f8e7d6 link: log errors\n"
           "7777777 fix error handling")
    .user("Great, thanks a lot!")
    .reply("You're welcome.")
)  # fmt: skip

NOISY_BUILD = Varied(
    name="noisy-build",
    entries=TALK.entries(),
    first_request=FIRST,
    newest_request="Run the soak test too",
    constraints=("It has to stay no_std and unsafe is off limits",),
    read=frozenset({"crates/gateway/src/link.rs"}),
    modified=frozenset({"crates/gateway/src/ring.rs", "crates/gateway/tests/ring.rs"}),
    not_open=(
        "error",
        "failed",
        "FAILED",
        "Could not find the exact text",
        "full_keeps_the_newest",
        "count the frames",
        "soak test",
        "keep one slot empty",
    ),
    taken_back=("count the frames in a field of its own",),
)
