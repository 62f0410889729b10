"""``python -m branchline``, and the command of that name."""

import sys


def main() -> None:
    """Run the command line; what editors start goes past it, for it needs nothing from it."""
    if sys.argv[1:] == ["connect"]:
        from branchline.wire.forwarder import main as connect

        connect()
    else:
        from branchline.cli import main as command_line

        command_line()


if __name__ == "__main__":
    main()
