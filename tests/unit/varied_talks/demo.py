"""The session of the demo: a fork, a branch summary, three languages; the newest wish is met."""

from tests.unit.helpers import TESTS, load
from tests.unit.varied_talks.shape import Varied

FILE = TESTS.parent / "server" / "branchline" / "demo" / "session.jsonl"

DEMO = Varied(
    name="demo",
    entries=load(FILE)[1].entries,
    first_request=(
        "The nightly import takes eleven minutes for 2.1 million customers, and last week it broke "
        "a name with a line break in it. Make it fast and correct. It must finish in under a "
        "minute on the server, which has 2 GB of memory, and `import_customers(path)` must keep "
        "its signature."
    ),
    newest_request="Print a progress line to stderr every 100,000 customers.",
    constraints=(
        "It must finish in under a minute on the server, which has 2 GB of memory",
        "`import_customers(path)` must keep its signature",
        "If one line is bad, nothing of the file may be imported.",
        "No new dependency.",
    ),
    read=frozenset({"importer/db.py"}),
    modified=frozenset({"importer/customers.py", "tests/test_files.py"}),
    still_open=("the run on the server itself",),
    not_open=(
        "Could not find the exact text",
        "UnicodeDecodeError",
        "a name with a line break",
        "rollback",
        "Umlaute",
        "tqdm",
        "KeyError",
    ),
    taken_back=("Try pandas", "tqdm"),
)
