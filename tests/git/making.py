"""A repository and the sessions that worked in it, with the true author of every line."""

from __future__ import annotations

import os
import subprocess
from datetime import UTC, datetime, timedelta
from pathlib import Path

from tests.demo_history.client import Clock
from tests.demo_history.session_writer import SessionWriter
from tests.demo_history.tools import Call, bash, edit, write

START = datetime(2026, 9, 1, 9, tzinfo=UTC)


class Workshop:
    """One repository, one clock, any number of sessions; files are changed by sessions and by a person."""

    def __init__(self, folder: Path, name: str = "tidewater") -> None:
        self.folder = folder
        self.root = folder / name
        self.root.mkdir(parents=True)
        self.config = folder / "claude"
        (self.config / "projects").mkdir(parents=True)
        self.now = START
        self.sessions: list[SessionWriter] = []
        self.git("init", "-q", "-b", "main")

    # -- time

    def wait(self, minutes: float = 5) -> None:
        self.now += timedelta(minutes=minutes)

    # -- git

    def git(self, *words: str, author: str = "Mira") -> str:
        """Run git at the workshop's time."""
        env = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
        stamp = f"{int(self.now.timestamp())} +0000"
        env |= {
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_CONFIG_SYSTEM": os.devnull,
            "GIT_AUTHOR_NAME": author,
            "GIT_AUTHOR_EMAIL": "mira@example.invalid",
            "GIT_COMMITTER_NAME": author,
            "GIT_COMMITTER_EMAIL": "mira@example.invalid",
            "GIT_AUTHOR_DATE": stamp,
            "GIT_COMMITTER_DATE": stamp,
            "GIT_EDITOR": "true",
            "GIT_SEQUENCE_EDITOR": "true",
        }
        done = subprocess.run(["git", "-C", str(self.root), *words], capture_output=True, env=env, check=False)  # noqa: S607 - git of the PATH
        assert done.returncode == 0, done.stderr.decode()
        return done.stdout.decode()

    def commit(self, subject: str, *more: str) -> str:
        self.wait(1)
        self.git("add", "-A")
        self.git("commit", "-q", "--allow-empty", "-m", subject, *more)
        return self.git("rev-parse", "HEAD").strip()

    # -- a person

    def read(self, path: str) -> str:
        return (self.root / path).read_text()

    def type(self, path: str, text: str) -> None:
        """A person writes a file."""
        self.wait(2)
        (self.root / path).parent.mkdir(parents=True, exist_ok=True)
        (self.root / path).write_text(text)

    def retype(self, path: str, old: str, new: str) -> None:
        text = self.read(path)
        assert text.count(old) == 1, (old, text)
        self.type(path, text.replace(old, new))

    # -- sessions

    def session(self, prompt: str, **more: object) -> SessionWriter:
        self.wait()
        writer = SessionWriter(cwd=str(self.root), at=self.now, seed=len(self.sessions) + 1, **more)  # type: ignore[arg-type]
        self.sessions.append(writer)
        writer.prompt(prompt)
        return writer

    def call(self, writer: SessionWriter, call: Call) -> None:
        self.wait(1)
        self._bring(writer)
        writer.tool(call)
        self.now = max(self.now, writer.page.clock.now)

    def _bring(self, writer: SessionWriter) -> None:
        clock: Clock = writer.page.clock
        if clock.now < self.now:
            writer.wait((self.now - clock.now).total_seconds())

    def write(self, writer: SessionWriter, path: str, text: str) -> None:
        """A session writes a whole file."""
        place = self.root / path
        before = place.read_text() if place.exists() else None
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)
        self.call(writer, write(str(place), text, before))

    def edit(self, writer: SessionWriter, path: str, old: str, new: str) -> None:
        """A session replaces a text in a file."""
        place = self.root / path
        before = place.read_text()
        assert before.count(old) == 1, (old, before)
        place.write_text(before.replace(old, new))
        self.call(writer, edit(str(place), before, old, new))

    def commit_by(self, writer: SessionWriter, subject: str) -> str:
        """A session commits everything."""
        self.wait(1)
        self._bring(writer)
        commit = self.commit(subject)
        self._bring(writer)
        self.call(
            writer, bash(f'git add -A && git commit -m "{subject}"', f"[main {commit[:7]}] {subject}\n 1 file changed")
        )
        return commit

    def save(self) -> Path:
        for writer in self.sessions:
            writer.save(self.config)
        return self.config
