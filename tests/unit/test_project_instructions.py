"""A project's instructions: which files are read, how much of them, and how they are stored."""

import os
import socket
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from branchline.service.project_instructions import instructions_patch, project_instructions
from branchline.tree.system import fold_system

Json = Any
LIMIT = 32 * 1024
PREFIX = "project instructions: "


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A repository with a file of instructions at its root, and a folder deep inside."""
    root = tmp_path / "repository"
    (root / "a" / "b").mkdir(parents=True)
    (root / ".git").mkdir()
    (root / "AGENTS.md").write_text("root\n")
    return root


def found(cwd: Path | str, *folders: Path) -> dict[str, str]:
    """The texts of the sections by the place of their file; ``cwd`` is the workspace if none is."""
    sections = project_instructions(str(cwd), folders or [Path(cwd)])
    texts = {}
    for name, text in sections.items():
        place = name.removeprefix(PREFIX)
        assert name == PREFIX + place
        head = f"Instructions from {place}:\n\n"
        assert text.startswith(head)
        texts[place] = text.removeprefix(head)
    return texts


class TestWhichFiles:
    def test_from_the_root_of_the_repository_to_the_folder(self, project: Path) -> None:
        (project / "a" / "AGENTS.md").write_text("a")
        (project / "a" / "CLAUDE.md").write_text("a for one")
        (project / "a" / "b" / "CLAUDE.md").write_text("b")
        (project.parent / "AGENTS.md").write_text("above the repository")
        (project / "a" / "b" / "agents.txt").write_text("another name")
        wanted = {
            "AGENTS.md": "root",
            "a/AGENTS.md": "a",
            "a/CLAUDE.md": "a for one",
            "a/b/CLAUDE.md": "b",
        }
        assert found(project / "a" / "b") == wanted
        assert [*found(project / "a" / "b")] == [*wanted]
        assert found(project) == {"AGENTS.md": "root"}

    def test_without_a_repository_only_the_folder_itself(self, project: Path) -> None:
        (project / ".git").rmdir()
        assert found(project / "a") == {}
        (project / "a" / "AGENTS.md").write_text("a")
        assert found(project / "a") == {"AGENTS.md": "a"}

    def test_a_worktree_is_a_repository(self, project: Path) -> None:
        (project / "a" / ".git").write_text("gitdir: elsewhere")
        (project / "a" / "AGENTS.md").write_text("a")
        assert found(project / "a" / "b") == {"AGENTS.md": "a"}

    def test_only_for_a_folder_of_the_workspace(self, project: Path, tmp_path: Path) -> None:
        assert found(project / "a", project) == {"AGENTS.md": "root"}
        assert found(project / "a", tmp_path / "other", project / "a") == {"AGENTS.md": "root"}
        assert found(project, project / "a") == {}
        (tmp_path / "repo").mkdir()
        assert found(project, tmp_path / "repo") == {}  # a prefix of the name is no folder above
        assert project_instructions(str(project), []) == {}

    def test_links_to_the_workspace_are_followed(self, project: Path, tmp_path: Path) -> None:
        link = tmp_path / "link"
        link.symlink_to(project)
        assert found(link, project) == found(project, link) == {"AGENTS.md": "root"}

    @pytest.mark.parametrize(
        "cwd", [None, "", ".", "a/b", "/no/such/folder", "/a\0b", "/" + "x" * 9000]
    )
    def test_a_folder_that_is_none_has_none(
        self, project: Path, monkeypatch: pytest.MonkeyPatch, cwd: str | None
    ) -> None:
        monkeypatch.chdir(project)  # a session's relative folder is not relative to the daemon
        assert project_instructions(cwd, [Path("/")]) == {}

    def test_the_same_text_stands_once(self, project: Path) -> None:
        (project / "CLAUDE.md").symlink_to("AGENTS.md")
        (project / "a" / "AGENTS.md").write_text("root")
        assert [*found(project).values()] == ["root"]
        assert [*found(project / "a").values()] == ["root"]


class TestHostileFiles:
    @pytest.mark.parametrize(
        "target", ["../secret", "/etc/hostname", "a/../../secret", "loop", "gone"]
    )
    def test_a_link_out_of_the_repository_is_not_read(self, project: Path, target: str) -> None:
        (project.parent / "secret").write_text("SECRET")
        (project / "loop").symlink_to("loop")
        (project / "CLAUDE.md").symlink_to(target)
        assert found(project) == {"AGENTS.md": "root"}

    def test_a_linked_folder_leads_out_of_it_neither(self, project: Path, tmp_path: Path) -> None:
        outside = tmp_path / "outside"
        outside.mkdir()
        (outside / "AGENTS.md").write_text("SECRET")
        (project / "linked").symlink_to(outside)
        assert found(project / "linked", project) == {}

    def test_a_link_inside_is_read(self, project: Path) -> None:
        (project / "docs").mkdir()
        (project / "docs" / "rules").write_text("rules")
        (project / "CLAUDE.md").symlink_to("docs/rules")
        assert found(project)["CLAUDE.md"] == "rules"

    def test_what_is_no_regular_file_is_passed_over(self, project: Path) -> None:
        os.mkfifo(project / "CLAUDE.md")
        pipe = os.open(project / "CLAUDE.md", os.O_RDONLY | os.O_NONBLOCK)  # keeps what is in it
        (project / "CLAUDE.md").write_text("SECRET")
        (project / "a" / "AGENTS.md").mkdir()
        with socket.socket(socket.AF_UNIX) as listening:
            here = Path.cwd()
            os.chdir(project / "a")  # for the length of a socket's path
            try:
                listening.bind("CLAUDE.md")
            finally:
                os.chdir(here)
            assert found(project / "a", project) == {"AGENTS.md": "root"}
        os.close(pipe)

    @pytest.mark.parametrize("content", [b"", b" \n\t", b"\x7fELF\0\0", b"text\0text"])
    def test_what_is_no_text_is_passed_over(self, project: Path, content: bytes) -> None:
        (project / "CLAUDE.md").write_bytes(content)
        assert found(project) == {"AGENTS.md": "root"}

    def test_what_is_not_utf_8_is_read_with_replacements(self, project: Path) -> None:
        (project / "AGENTS.md").write_bytes("gr\xfc\xdfe".encode("latin-1"))
        assert found(project) == {"AGENTS.md": "gr\ufffd\ufffde"}

    def test_an_unreadable_name_is_no_obstacle(self, project: Path) -> None:
        folder = os.fsencode(project) + b"/\xff\n\x1b"
        os.mkdir(folder)
        (Path(os.fsdecode(folder)) / "AGENTS.md").write_text("odd")
        assert [*found(os.fsdecode(folder)).values()] == ["root", "odd"]


class TestHowMuch:
    def test_a_huge_file_is_cut_and_says_so(self, project: Path) -> None:
        with (project / "AGENTS.md").open("wb") as file:
            file.write("ü".encode() * LIMIT)
            file.truncate(1 << 33)  # gigabytes that take no room
        (text,) = found(project).values()
        kept, _, note = text.rpartition("\n")
        assert kept == "ü" * (LIMIT // 2)
        assert "32 KiB" in note

    def test_exactly_what_fits_is_whole(self, project: Path) -> None:
        (project / "AGENTS.md").write_text("x" * LIMIT + "\n")
        assert found(project)["AGENTS.md"].startswith("x" * LIMIT)
        (project / "AGENTS.md").write_text("x" * LIMIT)
        assert found(project) == {"AGENTS.md": "x" * LIMIT}

    def test_the_nearest_files_come_first(self, project: Path) -> None:
        (project / "AGENTS.md").write_text("r" * LIMIT)
        (project / "a" / "AGENTS.md").write_text("a" * (LIMIT - 10))
        (project / "a" / "b" / "AGENTS.md").write_text("b" * 6)
        texts = found(project / "a" / "b")
        assert (len(texts["a/b/AGENTS.md"]), len(texts["a/AGENTS.md"])) == (6, LIMIT - 10)
        assert texts["AGENTS.md"].startswith("rrrr\n(cut")
        (project / "a" / "b" / "AGENTS.md").write_text("b" * LIMIT)
        assert [*found(project / "a" / "b")] == ["a/b/AGENTS.md"]

    @given(st.binary(max_size=60), st.integers(0, 3))
    def test_whatever_a_file_holds_its_text_keeps_to_the_limit(
        self, tmp_path_factory: pytest.TempPathFactory, content: bytes, times: int
    ) -> None:
        folder = tmp_path_factory.mktemp("any")
        (folder / "AGENTS.md").write_bytes(content * (20_000 * times + 1))
        for text in found(folder).values():
            kept = text.partition("\n(cut:")[0]
            assert len(kept.encode()) <= LIMIT
            assert b"\0" not in content


# --- patches -------------------------------------------------------------------------------------

AGENTS, CLAUDE = f"{PREFIX}AGENTS.md", f"{PREFIX}CLAUDE.md"


def system(**sections: Json) -> Json:
    return {"role": "system", "content": "Pi's own", "sections": sections}


def patch(wanted: dict[str, str], present: Json, *, is_new: bool = False) -> Json:
    """The sections of the patch; None if there is none."""
    made = instructions_patch(wanted, present, is_new=is_new)
    if made is None:
        return None
    assert made["type"] == "message"
    assert made["message"].keys() == {"role", "content", "sections"}
    assert (made["message"]["role"], made["message"]["content"]) == ("system", "")
    return made["message"]["sections"]


def test_a_new_conversation_begins_with_all_of_them() -> None:
    wanted = {AGENTS: "a", CLAUDE: "c"}
    assert patch(wanted, None, is_new=True) == wanted
    assert patch(wanted, system(tools="t"), is_new=True) == wanted
    assert patch({}, None, is_new=True) is None


def test_a_conversation_that_began_without_goes_on_without() -> None:
    assert patch({AGENTS: "a"}, None) is None
    assert patch({AGENTS: "a"}, system(project_context="of Pi")) is None


def test_only_what_changed_is_stored() -> None:
    present = system(**{AGENTS: "a", CLAUDE: "c", "tools": "t"})
    assert patch({AGENTS: "a", CLAUDE: "c"}, present) is None
    assert patch({AGENTS: "a", CLAUDE: "new"}, present) == {CLAUDE: "new"}
    assert patch({AGENTS: "a"}, present) == {CLAUDE: None}
    assert patch({}, present) == {AGENTS: None, CLAUDE: None}
    more = {AGENTS: "a", CLAUDE: "c", f"{PREFIX}x/AGENTS.md": "x"}
    assert patch(more, present) == {f"{PREFIX}x/AGENTS.md": "x"}


SECTIONS = st.dictionaries(
    st.sampled_from([AGENTS, CLAUDE, f"{PREFIX}b/AGENTS.md"]), st.text("ab", min_size=1)
)


@given(
    SECTIONS,
    SECTIONS.filter(bool),
    st.dictionaries(st.sampled_from(["tools", "cwd"]), st.just("t")),
)
def test_with_its_patch_a_context_has_what_is_wanted(
    wanted: dict[str, str], present: dict[str, str], others: dict[str, str]
) -> None:
    before = system(**present, **others)
    made = instructions_patch(wanted, before, is_new=False)
    patches = [before] if made is None else [before, made["message"]]
    folded = fold_system(patches)
    assert folded is not None
    assert folded.get("sections", {}) == {**others, **wanted}
    assert instructions_patch(wanted, folded, is_new=False) is None or not wanted
