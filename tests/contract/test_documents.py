"""The project's documents say what the code does: the same names everywhere, and none left out.

Each document is read as its headings, its tables and its code spans. What a sentence means is for
a person to check.
"""

import ast
import dataclasses
import json
import re
import typing
from collections.abc import Iterator
from pathlib import Path

import pytest

from branchline.absent import ABSENT
from branchline.entries import CURRENT_VERSION, ENTRY_TYPES, ROLES
from branchline.errors import BranchlineError
from branchline.settings_table import markdown_table
from branchline.tree.rows import Row
from branchline.wire import messages  # its errors count too
from branchline.wire.methods import METHODS, NOTIFICATIONS
from branchline.wire.params import keys_of

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "server" / "branchline"
DOCS = ROOT / "server" / "docs"
DOCUMENTS = sorted([*DOCS.glob("*.md"), *ROOT.glob("*.md")])
PROTOCOL = (DOCS / "PROTOCOL.md").read_text(encoding="utf-8")
FORMAT = (DOCS / "FORMAT.md").read_text(encoding="utf-8")
ARCHITECTURE = (DOCS / "ARCHITECTURE.md").read_text(encoding="utf-8")
SOURCES = {
    path: ast.parse(path.read_text(encoding="utf-8")) for path in sorted(PACKAGE.rglob("*.py"))
}


# --- reading a document --------------------------------------------------------------------------


def without_blocks(text: str) -> str:
    """The text without its fenced code."""
    return re.sub(r"^```.*?^```$", "", text, flags=re.DOTALL | re.MULTILINE)


def sections(text: str, level: int) -> dict[str, str]:
    """What stands under each heading of a level, by the heading without its backticks."""
    parts = re.split(rf"^{'#' * level} (.+)\n", without_blocks(text), flags=re.MULTILINE)
    return {name.strip("`"): body for name, body in zip(parts[1::2], parts[2::2], strict=True)}


def rows(text: str) -> list[list[str]]:
    """The rows of every table in the text, without their heads, as stripped cells."""
    found: list[list[str]] = []
    for table in re.findall(r"(?:^\|.*\n)+", text, flags=re.MULTILINE):
        for line in table.splitlines()[2:]:
            cells = re.split(r"(?<!\\)\|", line.strip())[1:-1]
            found.append([cell.strip().replace("\\|", "|") for cell in cells])
    return found


def spans(text: str) -> list[str]:
    """The code spans of a text."""
    return re.findall(r"`([^`\n]+)`", without_blocks(text))


def names(section: str, what: str) -> list[str]:
    """The names in the rows of a kind (``param``, ``result``)."""
    return [name for row in rows(section) if row[0] == what for name in spans(row[1])]


REQUESTS = sections(sections(PROTOCOL, 2)["Requests"], 3)
NEWS = sections(sections(PROTOCOL, 2)["Notifications"], 3)


# --- PROTOCOL.md ---------------------------------------------------------------------------------


def test_the_protocol_describes_every_method_and_no_other() -> None:
    assert sorted(REQUESTS) == sorted(METHODS)


@pytest.mark.parametrize("method", METHODS)
def test_a_method_has_the_described_params_and_result(method: str) -> None:
    assert sorted(names(REQUESTS[method], "param")) == sorted(keys_of(METHODS[method].params))
    assert sorted(names(REQUESTS[method], "result")) == sorted(METHODS[method].result)


def described(field: "dataclasses.Field[object]") -> str:
    """A field's default as the tables have it."""
    value = field.default
    if field.default_factory is not dataclasses.MISSING:
        value = field.default_factory()
    if value is dataclasses.MISSING:
        return ""
    if value is ABSENT:
        return "absent"
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        own = [(one, getattr(value, one.name)) for one in dataclasses.fields(value)]
        value = {one.name: item for one, item in own if item != one.default}
    return f"`{json.dumps(value)}`"


@pytest.mark.parametrize("method", METHODS)
def test_params_have_the_described_defaults_and_choices(method: str) -> None:
    params = METHODS[method].params
    fields = dict(zip(keys_of(params), dataclasses.fields(params), strict=True))
    hints = typing.get_type_hints(params)
    for what, name, value, default, _meaning in rows(REQUESTS[method]):
        if what != "param" or len(spans(name)) > 1:  # several: as another method says
            continue
        field = fields[spans(name)[0]]
        assert default == described(field), name
        if typing.get_origin(hints[field.name]) is typing.Literal:
            assert re.findall(r'"(\w+)"', value) == list(typing.get_args(hints[field.name])), name


def test_the_protocol_describes_every_notification_and_no_other() -> None:
    assert sorted(name for name in NEWS if name.startswith("session/")) == sorted(NOTIFICATIONS)


@pytest.mark.parametrize("name", NOTIFICATIONS)
def test_a_notification_has_the_described_params(name: str) -> None:
    assert sorted(names(NEWS[name], "param")) == sorted(NOTIFICATIONS[name].params)


def error_classes() -> Iterator[type[BranchlineError]]:
    assert issubclass(messages.ParseError, BranchlineError)
    pending = BranchlineError.__subclasses__()
    while pending:
        error = pending.pop()
        if error.__module__.startswith("branchline."):
            yield error
        pending += error.__subclasses__()


def test_the_protocol_lists_every_error_and_no_other() -> None:
    listed = [(int(row[0]), spans(row[1])[0]) for row in rows(sections(PROTOCOL, 2)["Errors"])]
    assert sorted(listed) == sorted({(error.code, error.kind) for error in error_classes()})


def codes_in(argument: ast.expr) -> list[str]:
    """The warning codes that an argument can be; none if it passes on one given elsewhere."""
    match argument:
        case ast.Constant(value=str(code)):
            return [code]
        case ast.JoinedStr(values=[ast.Constant(value=str(start)), ast.FormattedValue()]):
            return [f"{start}{version}" for version in range(1, CURRENT_VERSION)]
        case ast.Name(id="code") | ast.Attribute(attr="code"):
            return []
        case _:
            raise AssertionError(f"A warning code that this test cannot read: {ast.dump(argument)}")


def warning_codes() -> Iterator[str]:
    """Every code with which the code makes a warning."""
    for tree in SOURCES.values():
        for node in ast.walk(tree):
            match node:
                case ast.Call(
                    func=ast.Name(id="SessionWarning" | "Problem")
                    | ast.Attribute(attr="_warn" | "_miss"),
                    args=arguments,
                ):
                    yield from codes_in(arguments[0])


def test_the_protocol_lists_every_warning_and_no_other() -> None:
    listed = [code for row in rows(sections(PROTOCOL, 2)["Warnings"]) for code in spans(row[0])]
    assert sorted(listed) == sorted(set(warning_codes()))


def test_the_protocol_lists_every_key_of_a_row() -> None:
    types = sections(PROTOCOL, 2)["Types"].split("**Row**")[1]
    assert [key for row in rows(types) for key in spans(row[0])] == list(Row.__annotations__)


def test_the_protocol_holds_the_table_of_settings() -> None:
    assert markdown_table() in sections(PROTOCOL, 2)["Settings"]


# --- FORMAT.md -----------------------------------------------------------------------------------


def test_the_format_describes_every_entry_type_and_role_and_no_other() -> None:
    listed = [name for row in rows(sections(FORMAT, 2)["Entries"]) for name in spans(row[0])]
    assert listed == [*ENTRY_TYPES, *ROLES]


def test_the_format_marks_what_an_entry_must_have() -> None:
    marked = {
        spans(row[0])[0]: re.findall(r"\*\*(\w+)\*\*", row[1])
        for row in rows(sections(FORMAT, 2)["Entries"].split("| role |")[0])
        if spans(row[0])
    }
    for name, entry_type in ENTRY_TYPES.items():
        assert sorted(marked[name]) == sorted(field.name for field in entry_type.fields), name


# --- ARCHITECTURE.md -----------------------------------------------------------------------------

LAYERS = {
    spans(row[0])[0].removesuffix("/").removesuffix(".py"): row[2]
    for row in rows(sections(ARCHITECTURE, 2)["Layers"])
}
BOTTOM = list(LAYERS)[:7]


def layer_of(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def test_the_layers_are_all_modules_and_folders_of_the_package() -> None:
    assert sorted(LAYERS) == sorted({layer_of(path) for path in SOURCES} - {"__init__"})


def imported(tree: ast.Module) -> Iterator[str]:
    """The modules of the package that a module imports, without its name."""
    for node in ast.walk(tree):
        match node:
            case ast.ImportFrom(module="branchline", names=aliases):
                yield from (one.name for one in aliases if one.name != "__version__")
            case ast.ImportFrom(module=str(module)) if module.startswith("branchline."):
                yield module.removeprefix("branchline.")
            case ast.Import(names=aliases):
                modules = [one.name for one in aliases]
                yield from (one[11:] for one in modules if one.startswith("branchline."))


def may_import(layer: str, module: str) -> bool:
    """Whether the table of layers lets a layer import a module."""
    target, above = module.split(".")[0], list(LAYERS)[: list(LAYERS).index(layer)]
    said = LAYERS[layer]
    allowed = [name.removesuffix("/").removesuffix(".py").replace("/", ".") for name in spans(said)]
    return target == layer or (
        target in above
        and (
            "all above" in said
            or ("bottom" in said and target in BOTTOM)
            or target in allowed
            or module in allowed
        )
    )


def test_a_layer_imports_what_the_table_says_and_nothing_below_it() -> None:
    wrong = [
        f"{path.relative_to(PACKAGE)} imports {module}"
        for path, tree in SOURCES.items()
        if layer_of(path) != "__init__"
        for module in imported(tree)
        if not may_import(layer_of(path), module)
    ]
    assert not wrong


def defined() -> set[str]:
    """Every class, function and constant of the package; members as ``Class.member``."""
    found: set[str] = set()
    for tree in SOURCES.values():
        for node in ast.walk(tree):
            match node:
                case ast.ClassDef(name=owner):
                    found |= {owner, *(f"{owner}.{name}" for name in members(node))}
                case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                    found.add(name)
                case (
                    ast.Assign(targets=[ast.Name(id=name)])
                    | ast.AnnAssign(target=ast.Name(id=name))
                ):
                    found.add(name)
    return found


def members(owner: ast.ClassDef) -> Iterator[str]:
    for node in ast.walk(owner):
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                yield name
            case ast.Attribute(value=ast.Name(id="self"), attr=name, ctx=ast.Store()):
                yield name


def test_the_architecture_names_only_code_that_is_there() -> None:
    code = re.compile(r"_?[A-Z]\w+(\.\w+)?|[a-z]+(_\w+)+")
    mentioned = {span for span in spans(ARCHITECTURE) if code.fullmatch(span)}
    assert len(mentioned) > 30
    assert mentioned <= defined()


# --- all documents -------------------------------------------------------------------------------


def anchors(document: Path) -> set[str]:
    """The fragments that a document's headings make, as code hosts derive them."""
    text = without_blocks(document.read_text(encoding="utf-8"))
    headings = re.findall(r"^#+ (.+)$", text, flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading).lower().replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_links_lead_somewhere(document: Path) -> None:
    text = re.sub(r"`[^`\n]+`", "", without_blocks(document.read_text(encoding="utf-8")))
    for link in re.findall(r"\]\(([^)\s]+)\)", text):
        if re.match(r"\w+:", link):
            continue  # elsewhere
        path, _, fragment = link.partition("#")
        target = document.parent / path if path else document
        assert target.exists(), link
        assert not fragment or fragment in anchors(target), link


@pytest.mark.parametrize("document", sorted(DOCS.glob("*.md")), ids=lambda path: path.name)
def test_source_files_that_a_document_names_exist(document: Path) -> None:
    named = [
        span
        for span in spans(document.read_text(encoding="utf-8"))
        if re.fullmatch(r"[\w/]+(\.py|/)", span)
    ]
    missing = [name for name in named if not any((at / name).exists() for at in (PACKAGE, ROOT))]
    assert not missing
