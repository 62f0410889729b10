"""Files of older versions and damaged ones: once upgraded or repaired, every Pi reads them."""

from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest

from branchline.entries import Entry
from tests.interop.agreement import assert_agreed
from tests.interop.branchline_side import Branchline
from tests.interop.content import Content
from tests.interop.made_records import Records, as_version
from tests.interop.made_sessions import Walk
from tests.interop.pi_process import PI_1_6, VERSIONS, Pi, Version
from tests.unit.session_files import header, text_line, text_of_file, write

pytestmark = pytest.mark.interop

STRAIGHT = (
    "turn", "tools", "bash", "custom_role", "custom_message", "custom", "model_change",
    "thinking_level_change", "compact", "rename",
)  # fmt: skip
BRANCHED = (*STRAIGHT, "label", "branch", "branch_summary", "new_root")


def made(seed: int, steps: tuple[str, ...], *, leaf_records: bool = False) -> list[Entry]:
    """The records of a walk."""
    writer = Records(leaf_records=leaf_records)
    Walk(seed, writer).go(steps, rounds=2)
    return writer.records


class TestOlderVersions:
    """Pi rewrites such a file as soon as it opens it, so it gets a copy to compare with."""

    @pytest.mark.parametrize(("version", "steps"), [(1, STRAIGHT), (2, BRANCHED)])
    def test_are_read_as_pi_reads_them_and_upgraded_for_all(
        self,
        all_pi: dict[Version, Pi],
        branchline: Branchline,
        tmp_path: Path,
        version: int,
        steps: tuple[str, ...],
        seed: int,
    ) -> None:
        records = as_version(made(seed, steps), version)
        content = text_of_file(header(version, cwd=str(tmp_path)), *records)
        path = write(tmp_path, content)
        theirs = write(tmp_path, content, "for-pi.jsonl")
        pi = all_pi[PI_1_6]
        pi.open(theirs)
        said = pi.look()["context"]
        assert theirs.read_bytes() != content

        branchline.open(path)
        before = branchline.look()
        assert before["warnings"] == {f"migrated-v{version}"}
        assert before["messages"] == said["messages"]
        assert (before["model"], before["thinkingLevel"]) == (said["model"], said["thinkingLevel"])
        assert path.read_bytes() == content

        branchline.ask("append", entries=[Content(Random(seed)).user()])
        assert path.with_name("session.jsonl.bak").read_bytes() == content
        for one in VERSIONS:
            ours = assert_agreed(all_pi[one], branchline)
        assert ours["messages"][:-1] == before["messages"]
        assert ours["warnings"] == set()


# --- damage: each takes the lines of a file and gives them damaged -------------------------------

Lines = list[bytes]


def torn_tail(lines: Lines, random: Random) -> None:
    lines[-1] = lines[-1][: random.randint(1, len(lines[-1]) - 2)]


def nul_tail(lines: Lines, random: Random) -> None:
    lines.append(bytes(random.randint(1, 5_000)))


def nuls_before(lines: Lines, random: Random) -> None:
    place = random.randrange(1, len(lines))
    lines[place] = bytes(random.randint(1, 500)) + lines[place]


def fused(lines: Lines, random: Random) -> None:
    place = random.randrange(1, len(lines) - 1)
    lines[place] += lines.pop(place + 1)


def cut_short(lines: Lines, random: Random) -> None:
    """A record in the middle ends early, behind what says where it stands."""
    place = random.choice([n for n in range(1, len(lines) - 1) if b'"parentId"' in lines[n][:99]])
    lines[place] = lines[place][: lines[place].index(b'"timestamp"') + 20]


def blank_and_foreign(lines: Lines, random: Random) -> None:
    lines.insert(random.randrange(1, len(lines)), b"  ")
    lines.insert(random.randrange(1, len(lines)), b"not JSON at all")
    lines.insert(random.randrange(1, len(lines)), b'["no", "entry"]')


def bad_text(lines: Lines, random: Random) -> None:
    place = random.choice([n for n, line in enumerate(lines) if b'"text":"' in line])
    lines[place] = lines[place].replace(b'"text":"', b'"text":"\xff\xfe ', 1)


def said_twice(lines: Lines, random: Random) -> None:
    """A message stands in the file again, as the last record."""
    lines.append(random.choice([line for line in lines if line.startswith(b'{"type":"message"')]))


def lost_record(lines: Lines, random: Random) -> None:
    del lines[random.randrange(1, len(lines) - 1)]


def byte_order_mark(lines: Lines, random: Random) -> None:
    lines[0] = b"\xef\xbb\xbf" + lines[0]


def carriage_returns(lines: Lines, random: Random) -> None:
    lines[:] = [line + b"\r" for line in lines]


DAMAGE: tuple[Callable[[Lines, Random], None], ...] = (
    torn_tail, nul_tail, nuls_before, fused, cut_short, blank_and_foreign, bad_text, said_twice,
    lost_record, byte_order_mark, carriage_returns,
)  # fmt: skip


class TestRepair:
    def _assert_mended(self, all_pi: dict[Version, Pi], branchline: Branchline, path: Path) -> None:
        content = path.read_bytes()
        branchline.open(path)
        before = branchline.look()
        repaired = branchline.ask("repair")
        if repaired["backup"] is not None:
            assert Path(repaired["backup"]).read_bytes() == content
        for version in VERSIONS:
            after = assert_agreed(all_pi[version], branchline)
        told = ("leafId", "messages", "model", "thinkingLevel", "name", "labels")
        assert {key: after[key] for key in told} == {key: before[key] for key in told}
        assert branchline.look_at_copy() == after

    @pytest.mark.parametrize("damage", DAMAGE)
    def test_every_pi_reads_what_we_read_before_it(
        self,
        all_pi: dict[Version, Pi],
        branchline: Branchline,
        tmp_path: Path,
        damage: Callable[[Lines, Random], None],
        seed: int,
    ) -> None:
        records = made(seed, (*BRANCHED, "active_tools_change"), leaf_records=seed % 2 == 1)
        lines = [text_line(record) for record in (header(cwd=str(tmp_path)), *records)]
        damage(lines, Random(seed))
        path = write(tmp_path, b"\n".join(lines) + (b"" if damage is torn_tail else b"\n"))
        self._assert_mended(all_pi, branchline, path)

    def test_all_damage_at_once(
        self, all_pi: dict[Version, Pi], branchline: Branchline, tmp_path: Path, seed: int
    ) -> None:
        random = Random(seed)
        lines = [text_line(record) for record in (header(cwd=str(tmp_path)), *made(seed, BRANCHED))]
        for damage in random.sample(DAMAGE, 5):
            damage(lines, random)
        path = write(tmp_path, b"\n".join(lines))
        self._assert_mended(all_pi, branchline, path)
