"""``branchline serve``."""

import logging
import os
import sys

import click


@click.command()
@click.option("--stdio", is_flag=True, required=True, help="Serve one client on stdin and stdout.")
@click.option(
    "--log-level",
    type=click.Choice(("debug", "info", "warning", "error")),
    default="warning",
    show_default=True,
    help="What is logged to stderr: methods, ids, sizes and states, never what they say.",
)
def serve(stdio: bool, log_level: str) -> None:
    """Serve the session protocol (JSON-RPC in LSP frames) to an editor or agent."""
    import anyio

    code = anyio.run(_serve_stdio, log_level)
    sys.stderr.flush()
    os._exit(code)  # not sys.exit: a thread that hangs in a read must not keep us


async def _serve_stdio(log_level: str) -> int:
    from branchline.wire.transport import open_stdio

    transport = open_stdio()  # before anything else: now nothing but frames can reach stdout
    logging.basicConfig(
        level=log_level.upper(), stream=sys.stderr, format="%(levelname)s %(name)s: %(message)s"
    )
    from branchline.app import serve_stdio

    return await serve_stdio(transport)
