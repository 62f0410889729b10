"""Sessions made by hand for the tests of the drawn tree."""

from typing import Any

from branchline.entries import STRUCTURAL, Entry, facts_of, flags_of, kind_of
from branchline.tree.drawing import Drawing, View
from branchline.tree.index import Columns, Tree
from branchline.tree.rows import Row


class MadeSession:
    """Entries in file order; each is a child of the one before unless ``parent`` says otherwise.

    An entry costs as many tokens as its id is long, so that sums are easy to predict.
    """

    def __init__(self) -> None:
        self.entries: list[Entry] = []
        self.read: list[str] = []

    def add(self, type_name: str, entry_id: str, parent: str | None = "", **fields: Any) -> None:
        """Add an entry of any type. ``parent`` None makes a root."""
        if parent == "":
            parent = self.entries[-1]["id"] if self.entries else None
        number = len(self.entries)
        timestamp = f"2026-01-01T{number // 60:02}:{number % 60:02}:00.000Z"
        self.entries.append(
            {"type": type_name, "id": entry_id, "parentId": parent, "timestamp": timestamp} | fields
        )

    def message(self, role: str, entry_id: str, parent: str | None = "", **fields: Any) -> None:
        """Add a message of any role."""
        self.add("message", entry_id, parent, message={"role": role} | fields)

    def user(self, entry_id: str, parent: str | None = "", text: str | None = None) -> None:
        """Add a user message; its text is its id unless given."""
        self.message("user", entry_id, parent, content=entry_id if text is None else text)

    def assistant(
        self, entry_id: str, parent: str | None = "", text: str | None = None, **fields: Any
    ) -> None:
        """Add an assistant message; its text is its id unless given."""
        content = [{"type": "text", "text": entry_id if text is None else text}]
        self.message("assistant", entry_id, parent, **{"content": content} | fields)

    def tool(
        self,
        entry_id: str,
        parent: str | None = "",
        *,
        name: str = "read",
        arguments: Any = None,
        output: str = "",
        is_error: bool = False,
    ) -> None:
        """Add a call without text, named ``<entry_id>-call``, and its result."""
        call = {"type": "toolCall", "id": f"#{entry_id}", "name": name, "arguments": arguments}
        self.message("assistant", f"{entry_id}-call", parent, content=[call], stopReason="toolUse")
        self.message(
            "toolResult",
            entry_id,
            toolCallId=f"#{entry_id}",
            toolName=name,
            content=[{"type": "text", "text": output}],
            isError=is_error,
        )

    def label(self, entry_id: str, target: str, text: str | None, parent: str | None = "") -> None:
        """Label an entry, or with None take its label away."""
        self.add("label", entry_id, parent, targetId=target, label=text)

    def entry(self, ordinal: int) -> Entry:
        """The body of an entry, as `Bodies` gives it. Remembers who was asked for."""
        self.read.append(self.entries[ordinal]["id"])
        return self.entries[ordinal]

    def tree(self, leaf: str | None = "") -> Tree:
        """The index of the entries, with the leaf moved to ``leaf`` if given."""
        columns = Columns()
        for entry in self.entries:
            kind = kind_of(entry)
            facts = facts_of(entry, kind) if kind in STRUCTURAL else None
            columns.add(
                entry["id"],
                entry["parentId"],
                kind,
                flags_of(entry, kind),
                len(entry["id"]),
                facts,
            )
        tree = Tree(columns)
        if leaf is None:
            tree.leaf = -1
        elif leaf:
            ordinal = tree.find(leaf)
            assert ordinal is not None
            tree.leaf = ordinal
        return tree

    def drawing(self, leaf: str | None = "") -> Drawing:
        """The drawing of the session."""
        return Drawing(self.tree(leaf), self)

    def rows(self, leaf: str | None = "", **view: Any) -> list[Row]:
        """All drawn rows."""
        for name in ("folded", "expanded"):
            view[name] = frozenset(view.get(name, ()))
        window = self.drawing(leaf).window(View(**view), {}, limit=1_000_000)
        return window["rows"]

    def picture(self, leaf: str | None = "", **view: Any) -> list[str]:
        """All drawn rows: two blanks for each depth, the id, and ``+`` if folded."""
        return [
            "  " * row["depth"] + row["id"] + ("+" if row["folded"] else "")
            for row in self.rows(leaf, **view)
        ]

    def row(self, entry_id: str, leaf: str | None = "", **view: Any) -> Row:
        """The drawn row with this id."""
        return next(row for row in self.rows(leaf, **view) if row["id"] == entry_id)


def forked() -> MadeSession:
    """A path a b c d e with a branch x y at b, and one entry, z, at c; the leaf is e."""
    session = MadeSession()
    for entry_id, parent in (
        ("a", None), ("b", "a"), ("x", "b"), ("y", "x"), ("c", "b"), ("z", "c"), ("d", "c"),
        ("e", "d"),
    ):  # fmt: skip
        session.user(entry_id, parent)
    return session


def fan(count: int) -> MadeSession:
    """A root with ``count`` branches of two entries, b0 t0, b1 t1, …, and the leaf at ``end``."""
    session = MadeSession()
    session.user("root-entry", None)
    for number in range(count):
        session.user(f"b{number}", "root-entry")
        session.user(f"t{number}")
    session.user("end", "root-entry")
    return session
