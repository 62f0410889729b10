"""``python -m branchline``."""

from branchline.cli import main

if __name__ == "__main__":
    main()
