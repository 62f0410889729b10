"""Imports point one way: each layer knows only those below it."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import branchline

PACKAGE = Path(branchline.__file__).parent
BOTTOM = {"codec", "errors", "entries", "absent", "folders", "settings", "settings_table"}
MAY_IMPORT: dict[str, set[str]] = {
    "tree": BOTTOM,
    "log": BOTTOM | {"tree"},
    "models": BOTTOM,
    "summaries": BOTTOM | {"tree", "models"},
    "catalogue": BOTTOM | {"tree", "log", "summaries"},
    "export": BOTTOM | {"tree", "log.format"},
    "service": BOTTOM | {"tree", "log", "models", "summaries", "catalogue", "export"},
    "wire": BOTTOM,
    "handlers": BOTTOM | {"tree", "log", "service", "wire.method_params"},
    "terminal": BOTTOM,
    "local": BOTTOM | {"service", "handlers"},
    "app": BOTTOM | {"service", "handlers", "wire"},
    "cli": BOTTOM | {"app", "local", "terminal", "wire", "export.mask"},
    "demo": BOTTOM | {"terminal"},
    "__main__": {"cli", "wire.forwarder"},
}
"""What each part may import, beside itself and the package's version."""
INSIDE_BOTTOM = {
    "absent": set[str](),
    "codec": set[str](),
    "errors": set[str](),
    "entries": set[str](),
    "settings_table": {"codec"},
    "folders": set[str](),
    "settings": {"absent", "codec", "errors", "folders", "settings_table"},
}


def modules() -> Iterator[tuple[str, Path]]:
    """Every module of the package by its name inside it."""
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(PACKAGE).with_suffix("").parts
        yield ".".join(parts[:-1] if parts[-1] == "__init__" else parts), path


def imports(path: Path) -> Iterator[str]:
    """The modules of the package that a module imports, wherever in it: ``tree.index``.

    `from branchline import x` counts as an import of ``x``.
    """
    for node in ast.walk(ast.parse(path.read_bytes())):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path.name}: imports are absolute"
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        else:
            continue
        for name in names:
            package, _, inside = name.partition(".")
            if package == "branchline" and inside and inside != "__version__":
                yield inside


def is_allowed(imported: str, allowed: set[str]) -> bool:
    return any(imported == one or imported.startswith(one + ".") for one in allowed)


MODULES = dict(modules())


def test_every_part_has_its_place() -> None:
    tops = {name.split(".")[0] for name in MODULES if name}
    assert tops == MAY_IMPORT.keys() | BOTTOM


@pytest.mark.parametrize("name", [name for name in MODULES if name])
def test_imports_point_down(name: str) -> None:
    top = name.split(".")[0]
    allowed = INSIDE_BOTTOM[top] if top in BOTTOM else MAY_IMPORT[top] | {top}
    wrong = [one for one in imports(MODULES[name]) if not is_allowed(one, allowed)]
    assert wrong == []


def test_the_package_itself_imports_nothing() -> None:
    assert list(imports(MODULES[""])) == []


def test_the_pure_parts_touch_no_file() -> None:
    touching = {"os", "io", "pathlib", "shutil", "tempfile", "socket", "subprocess", "anyio"}
    for name, path in MODULES.items():
        if name.split(".")[0] in ("tree", "export"):
            for node in ast.walk(ast.parse(path.read_bytes())):
                names: list[str] = []
                if isinstance(node, ast.Import):
                    names = [alias.name for alias in node.names]
                elif isinstance(node, ast.ImportFrom):
                    names = [node.module or ""]
                assert not touching & {one.split(".")[0] for one in names}, name


def test_the_check_sees_an_import_that_points_up(tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.py"
    wrong.write_text(
        "def f():\n    from branchline.log import scan\n    import branchline.wire.server\n"
    )
    assert list(imports(wrong)) == ["log.scan", "wire.server"]
    assert not is_allowed("log.scan", MAY_IMPORT["tree"])
    assert not is_allowed("wire.method_params_other", MAY_IMPORT["handlers"])
    assert is_allowed("wire.method_params.ViewParams", MAY_IMPORT["handlers"])
