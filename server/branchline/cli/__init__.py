"""The command line. Each command is one method of the daemon, answered in this process.

``--json`` prints the method's result as it is; otherwise it is drawn for a person. Session text is
hostile: no control character in it reaches the terminal. What a command needs beyond click is
imported when it runs, so that starting stays quick.
"""

import click

from branchline import __version__
from branchline.cli import asking, change, completion, daemon, export, look, move, serving

EXIT_CODES = """\b
Exit codes:
  0  done            3  no such session, entry or daemon
  1  other error     4  refused: read-only, or it changed meanwhile
  2  wrong usage     5  the disk refused
                   130  cancelled
"""


@click.group(context_settings={"help_option_names": ["-h", "--help"]}, epilog=EXIT_CODES)
@click.version_option(__version__, prog_name="branchline")
def main() -> None:
    """Look after the conversations of coding agents: list them, draw their trees, change them.

    SESSION is a path or a session id. Where it is left out, it is the newest session of this
    folder.
    """


for command in (
    *look.COMMANDS,
    *change.COMMANDS,
    *move.COMMANDS,
    asking.ask_model,
    export.export,
    *serving.COMMANDS,
    *daemon.COMMANDS,
    completion.completion,
):
    main.add_command(command)
