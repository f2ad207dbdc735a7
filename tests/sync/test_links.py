"""What a store does about links in its roots, and about the files that clients reserve names for."""

from __future__ import annotations

from pathlib import Path

import pytest

import hansard
from hansard.engine import Hansard
from tests.sync.making import FOLDER, Tree, ask, main_path, raw, session, user

A, B = session(1), session(2)
LINKED = f"projects/-linked/{B}.jsonl"


@pytest.fixture
def place(tmp_path: Path) -> Tree:
    """A config directory with one session, and a link to a folder outside of it that has another one."""
    tree = Tree(tmp_path / "claude", tmp_path / "store")
    tree.write(main_path(A), [user(A, "a1", "Inside.")])
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / f"{B}.jsonl").write_bytes(raw([user(B, "b1", "Outside.", cwd="/elsewhere")]))
    (tree.config / "projects" / "-linked").symlink_to(outside)
    return tree


def outside(place: Tree) -> Path:
    return place.config.parent / "outside"


def open_store(place: Tree, *follow: Path) -> Hansard:
    return hansard.open(place.home, [place.config], follow_links=follow)


def states(place: Tree) -> dict[str, str]:
    return dict(ask(place.home, "SELECT path, state FROM transcripts WHERE current = 1"))


def test_a_link_out_is_left_out_and_told(place: Tree) -> None:
    with open_store(place) as h:
        report = h.sync()
        assert (report.transcripts, report.unfollowed_links, report.unreadable) == (1, 1, ())
        status = h.status()
        assert [(item.path, item.reason) for item in status.left_out] == [
            ("projects/-linked", f"a link to {outside(place)}, outside the root")
        ]
        ((link,),) = [root.unfollowed_links for root in status.roots]
        assert (link.path, link.target, link.kept_files) == ("projects/-linked", str(outside(place)), 0)
        (finding,) = [finding for finding in h.doctor().findings if finding.subject == "link"]
        assert f"`--follow-links {outside(place)}`" in finding.text
        quiet = h.sync()
        assert (quiet.changed, quiet.unfollowed_links) == (0, 1)


def test_a_link_that_the_user_allowed_is_read(place: Tree) -> None:
    with open_store(place, outside(place)) as h:
        report = h.sync()
        assert (report.transcripts, report.unfollowed_links) == (2, 0)
        assert h.status().left_out == ()
        assert not [finding for finding in h.doctor().findings if finding.subject == "link"]
    assert states(place) == {main_path(A): "live", LINKED: "live"}


def test_what_was_kept_through_a_link_stays_when_it_is_not_followed_any_more(place: Tree) -> None:
    with open_store(place, outside(place)) as h:
        h.sync()
        before = [about.session_id for about in h.sessions().sessions]
    log = outside(place) / f"{B}.jsonl"
    kept = log.read_bytes()
    log.write_bytes(kept + raw([user(B, "b2", "More.", 1, "b1")]))
    through = place.config / LINKED
    with open_store(place) as h:
        for only in (None, None, [str(through)], [str(through.parent)]):
            report = h.sync(only=only)
            assert (report.changed, report.gone) == (0, 0)
        assert states(place) == {main_path(A): "live", LINKED: "live"}
        assert [about.session_id for about in h.sessions().sessions] == before
        assert h.session(B).source_state == "live"
        (link,) = h.status().roots[0].unfollowed_links
        assert link.kept_files == 1
        (finding,) = [finding for finding in h.doctor().findings if finding.subject == "link"]
        assert "the 1 file that was kept through it stays, but is not updated" in finding.text
    with open_store(place, outside(place)) as h:
        assert h.sync().changed == 1
        assert h.session(B).prompts == 2
    with open_store(place) as h:
        (place.config / "projects" / "-linked").unlink()
        assert h.sync().gone == 1
        assert h.session(B).source_state == "gone"
    assert states(place) == {main_path(A): "live", LINKED: "gone"}


def test_a_project_that_is_moved_away_and_linked_back(place: Tree, tmp_path: Path) -> None:
    with open_store(place) as h:
        h.sync()
        (place.config / FOLDER).rename(tmp_path / "big")
        (place.config / FOLDER).symlink_to(tmp_path / "big")
        report = h.sync(only=[str(place.config / main_path(A))])
        assert (report.changed, report.gone) == (0, 0)
        assert states(place) == {main_path(A): "live"}
        assert {link.path for link in h.status().roots[0].unfollowed_links} == {FOLDER, "projects/-linked"}


def test_a_link_to_our_own_data_does_not_feed_it(place: Tree) -> None:
    (place.config / "projects" / "-data").symlink_to(place.home)
    (place.config / "projects" / "-linked").unlink()
    place.home.mkdir()
    (place.home / "statusline.json").write_text("{}")
    with open_store(place, place.home) as h:
        h.sync()
        sizes = set()
        for number in range(4):
            (place.home / "statusline.json").write_text(f'{{"time": {number}}}')
            report = h.sync()
            assert (report.changed, report.unfollowed_links) == (0, 0)
            sizes.add(h.record.kept_bytes())
        assert sizes == {(place.config / main_path(A)).stat().st_size}
        (finding,) = [finding for finding in h.doctor().findings if finding.subject == "link"]
        assert "--follow-links" not in finding.text


def test_a_store_inside_its_own_root(tmp_path: Path) -> None:
    tree = Tree(tmp_path / "claude", tmp_path / "claude" / "projects" / "-store")
    tree.write(main_path(A), [user(A, "a1", "Inside.")])
    with open_store(tree) as h:
        h.sync()
        (tree.home / "prices.json").write_text("{}")
        assert h.sync().changed == 0
        assert h.record.kept_bytes() == (tree.config / main_path(A)).stat().st_size
        assert states(tree) == {main_path(A): "live"}


RESERVED = {
    f"{FOLDER}/.session-aliases": b"/home/mira/.claude/projects/-home-mira-src-old\n",
    f"{FOLDER}/bridge-pointer.json": b"{}",
    f"{FOLDER}/tiny_memory/notes": b"note",
    f"{FOLDER}/cloud-snapshots/one.tar": b"\x00\x01",
    f"{FOLDER}/connector-downloads/report.pdf": b"%PDF",
    f"file-history/{A}/2471157d4270b35f@v1": b"before",
    f"file-history/{A}/2471157d4270b35f@v2": b"after",
    f"{FOLDER}/{A}/1794821902111.cast": b'{"version":2,"width":80}\n[0.1,"o","hello"]\n[0.2,"o","no end',
}
OF_SESSION = {path for path in RESERVED if A in path}


def test_reserved_files_are_kept_and_given_back(place: Tree, tmp_path: Path) -> None:
    for path, content in RESERVED.items():
        place.write(path, content)
    with open_store(place) as h:
        h.sync()
        diagnosis = h.doctor()
        assert (diagnosis.issues, diagnosis.drift) == ((), ())
        assert not [finding for finding in diagnosis.findings if finding.subject == "index" and finding.level != "ok"]
        h.restore(h.plan_restore(None, str(tmp_path / "all")))
        h.restore(h.plan_restore([A], str(tmp_path / "one")))
        assert [about.session_id for about in h.sessions(debris=True).sessions] == [A]
    for path, content in RESERVED.items():
        assert (tmp_path / "all" / path).read_bytes() == content
        assert (tmp_path / "one" / path).exists() is (path in OF_SESSION)


def test_a_recording_of_the_terminal_is_a_log(place: Tree) -> None:
    (cast,) = (path for path in RESERVED if path.endswith(".cast"))
    place.write(cast, RESERVED[cast])
    with open_store(place) as h:
        h.sync()
        place.append(cast, b' yet"]\n[0.3,"o","bye"]\n')
        assert h.sync().bytes_read == 23
        h.rebuild()
        (found,) = [log for log in h.transcripts() if log.kind == "cast"]
        assert (found.session_id, found.generation, found.records, found.issues) == (A, 1, 0, 0)
        assert found.size == place.place(cast).stat().st_size
    # What is left of a session that only such a recording names is no session.
    place.write(cast.replace(A, B), b"x")
    with open_store(place) as h:
        h.sync()
        assert [about.session_id for about in h.sessions(debris=True).sessions] == [A]
