"""A PostgreSQL server of one's own, on a socket in a folder, from the programs of the distribution."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

OLDEST = 15


def find_programs() -> Path | None:
    """The folder of the newest PostgreSQL's programs: distributions keep them out of PATH."""
    named = shutil.which("initdb")
    folders = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda folder: int(folder.parent.name))
    found = ([Path(named).resolve().parent] if named else []) + folders
    return next((folder for folder in reversed(found) if _major(folder) >= OLDEST), None)


def _major(folder: Path) -> int:
    try:
        said = subprocess.run([folder / "postgres", "--version"], capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return 0
    return int(said.split()[2].split(".")[0])


class Server(NamedTuple):
    """A server: its folder, and that of its programs."""

    folder: str
    programs: Path

    def url(self, login: str) -> str:
        return f"postgresql://{quote(login, safe='')}@/team?host={quote(self.folder, safe='')}"

    def run(self, program: str, *arguments: str) -> None:
        """Run one of its programs; the server refuses to run as root, so it runs as nobody then."""
        who: dict[str, Any] = {"user": "nobody", "group": "nogroup", "extra_groups": []} if os.geteuid() == 0 else {}
        subprocess.run(
            [self.programs / program, "-D", f"{self.folder}/data", *arguments],
            check=True,
            cwd=self.folder,
            stdout=subprocess.DEVNULL,
            env={"PATH": os.environ["PATH"], "HOME": self.folder},
            **who,
        )

    def create(self, settings: str, logins: Sequence[str]) -> None:
        """Make a cluster with these settings, start it, and make logins and a database of the first of them."""
        if os.geteuid() == 0:
            shutil.chown(self.folder, "nobody")
        self.run("initdb", "-U", "root", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync", "--no-instructions")
        where = f"listen_addresses = ''\nunix_socket_directories = '{self.folder}'\n"
        Path(self.folder, "data", "postgresql.auto.conf").write_text(where + settings, encoding="utf-8")
        self.start()
        import psycopg
        from psycopg import sql

        with psycopg.connect(f"postgresql://root@/postgres?host={self.folder}", autocommit=True) as db:
            for login in logins:
                db.execute(sql.SQL("CREATE ROLE {} LOGIN").format(sql.Identifier(login)))
            db.execute(sql.SQL("CREATE DATABASE team OWNER {}").format(sql.Identifier(logins[0])))

    def start(self) -> None:
        self.run("pg_ctl", "-w", "-l", f"{self.folder}/log", "start")

    def stop(self, mode: str = "immediate") -> None:
        self.run("pg_ctl", "-w", "-m", mode, "stop")

    def remove(self) -> None:
        """Stop it if it runs, and delete everything."""
        if Path(self.folder, "data", "postmaster.pid").exists():
            self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)
