"""English, the tools of Claude Code: uploads in TypeScript; a choice is corrected, a test fails."""

from tests.unit.made_talks import Talk
from tests.unit.varied_talks.shape import Varied

FIRST = (
    "hey! users on trains keep losing uploads, the client just gives up when the connection drops "
    "for a second. can you make src/upload/client.ts retry? the public API stays as it is, mobile "
    "imports it. and don't add packages to package.json, legal has to sign off each one"
)
BUILD_LOG = "\n".join(
    [
        "> web@4.12.0 build",
        "> tsc -p . && vite build",
        "vite v5.2.11 building for production...",
        "transforming (212) src/errors/ErrorBoundary.tsx",
        "transforming (213) src/errors/errorCodes.ts",
        "transforming (214) src/errors/onUnhandledError.ts",
        "warning: 'errorCodes' is imported but never used, error handling may be tree-shaken",
        *(f"dist/assets/error-page-{number:02}.js   1.{number} kB | gzip: 0.7 kB" for number in
          range(40)),
        "[sourcemap] error: ignored, no original source for src/legacy/error.js",
        "✓ 1312 modules transformed, 0 errors",
        "✓ built in 9.41s",
    ]
)  # fmt: skip

TALK = (
    Talk()
    .user(FIRST)
    .calls(
        "I'll start with the client and whoever calls it.",
        ("Read", {"file_path": "src/upload/client.ts"}, "export class UploadClient { ... }"),
        ("Grep", {"pattern": "UploadClient", "path": "src", "output_mode": "files_with_matches"},
         "src/upload/client.ts\nsrc/pages/Library.tsx\nsrc/mobile/bridge.ts"),
        ("Read", {"file_path": "src/mobile/bridge.ts"}, "import { UploadClient } from ..."),
    )
    .reply(
        "`UploadClient.send` throws on the first `NetworkError` and `bridge.ts` turns that into a "
        "failed upload.\n\nHere is what I'd do:\n\n"
        "1. Add `src/upload/retry.ts` with the waiting and the limit\n"
        "2. Wrap the request in `UploadClient.send` with it\n"
        "3. Show \"retrying\" in the library page\n"
        "4. Write up the limits in `docs/uploads.md`\n\n"
        "For the waiting I'd use lodash's `debounce`, since it is already in the lock file. OK?"
    )
    .user(
        "no, not lodash, that's only there because of storybook. write the few lines yourself, "
        "exponential with jitter. I prefer async/await over then() chains btw"
    )
    .call("TodoWrite", {"todos": [{"content": "retry.ts", "status": "in_progress"}]}, "ok")
    .call("Write", {"file_path": "src/upload/retry.ts", "content": "export async function ..."},
          "File created successfully", text="Understood, own code, exponential with jitter.")
    .call("MultiEdit", {"file_path": "src/upload/client.ts", "edits": [{}, {}]},
          "Applied 2 edits to src/upload/client.ts")
    .call("Bash", {"command": "npm test -- upload", "description": "Run the upload tests"},
          "FAIL src/upload/client.test.ts\n  ● retries after a drop\n\n    TypeError: sleep is not "
          "a function\n\nTests: 1 failed, 11 passed, 12 total", error=True)
    .call("Edit", {"file_path": "src/upload/retry.ts", "old_string": "a", "new_string": "b"},
          "The file src/upload/retry.ts has been updated.",
          text="`sleep` was exported as default by mistake.")
    .call("Bash", {"command": "npm test -- upload"}, "Tests: 12 passed, 12 total")
    .call("Bash", {"command": "npm run build"}, BUILD_LOG)
    .reply(
        "Steps 1 and 2 are done: a dropped connection is retried up to 5 times within 30 s, the "
        "12 upload tests pass and the build is clean."
    )
    .user("nice, you must have had your coffee :) go on with the library page")
    .calls(
        "",
        ("Read", {"file_path": "src/pages/Library.tsx"}, "export function Library() { ... }"),
        ("Read", {"file_path": "src/pages/Library.module.css"}, ".row { display: flex }"),
    )
    .call("Edit", {"file_path": "src/pages/Library.tsx"}, "updated",
          text="I'll add the state beside the progress bar.")
    .call("Bash", {"command": "npm run lint"},
          "src/pages/Library.tsx\n  41:7  error  'retrying' is assigned a value but never used  "
          "no-unused-vars\n\n✖ 1 problem (1 error, 0 warnings)", error=True)
    .call("Edit", {"file_path": "src/pages/Library.tsx"}, "updated")
    .call("Bash", {"command": "npm run lint"}, "")
    .call("Bash", {"command": "npx playwright test e2e/upload.spec.ts"},
          "Running 3 tests using 1 worker\n  ✓ uploads a file (1.2s)\n  ✓ cancels (0.9s)\n"
          "  ✘ shows retrying while offline (30.1s)\n\n    Error: Timed out 30000ms waiting for "
          "getByText('retrying')\n\n  1 failed\n  2 passed (33.0s)", error=True)
    .reply(
        "The library page shows the state and lint is clean. One end-to-end test still fails: "
        "`shows retrying while offline` waits 30 s for the text. I think Playwright's "
        "`setOffline` does not fire `NetworkError`. Next I'll look at how the test goes offline; "
        "`docs/uploads.md` is not written yet."
    )
)  # fmt: skip

ENGLISH_UPLOADS = Varied(
    name="english-uploads",
    entries=TALK.entries(),
    first_request=FIRST,
    newest_request="go on with the library page",
    constraints=(
        "the public API stays as it is",
        "don't add packages to package.json",
        "prefer async/await over then() chains",
    ),
    read=frozenset({"src/mobile/bridge.ts", "src/pages/Library.module.css"}),
    modified=frozenset({"src/upload/client.ts", "src/upload/retry.ts", "src/pages/Library.tsx"}),
    last_error="Timed out 30000ms waiting for getByText('retrying')",
    next_steps=("look at how the test goes offline", "docs/uploads.md"),
    still_open=("shows retrying while offline", "docs/uploads.md is not written yet"),
    not_open=(
        "sleep is not a function",
        "no-unused-vars",
        "Wrap the request",
        "Add `src/upload/retry.ts`",
        'Show "retrying" in the library page',
        "lodash",
        "sourcemap",
    ),
    taken_back=("I'd use lodash",),
)
