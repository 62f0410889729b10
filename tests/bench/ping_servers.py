"""Two servers on stdio that answer one request with nothing: what the wire alone costs.

    python -m tests.bench.ping_servers branchline    our wire, as the daemon has it
    python -m tests.bench.ping_servers pygls         pygls as it comes

Both answer ``session/close``, for ours knows only the methods of its table.
"""

import sys
from typing import Final

METHOD: Final = "session/close"


def serve_branchline() -> None:
    """Serve by our own wire."""
    import anyio

    from branchline.wire.method_params import SessionParams
    from branchline.wire.server import BranchlineServer, serve_connection
    from branchline.wire.transport import open_stdio
    from tests.unit.wire_program import Owner

    async def answer(_params: SessionParams) -> object:
        return {}

    async def serve() -> None:
        transport = open_stdio()
        await serve_connection(BranchlineServer({METHOD: answer}, Owner(), transport))

    anyio.run(serve)


def serve_pygls() -> None:
    """Serve by pygls alone."""
    from pygls.lsp.server import LanguageServer

    server = LanguageServer("ping", "1")

    @server.feature(METHOD)
    async def answer(_server: LanguageServer, _params: object) -> dict[str, str]:
        return {}

    server.start_io()


if __name__ == "__main__":
    {"branchline": serve_branchline, "pygls": serve_pygls}[sys.argv[1]]()
