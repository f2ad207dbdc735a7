"""What a lake calls people, machines and home directories: by default pseudonyms, the same for everybody who has the key."""

from __future__ import annotations

import os
import re
import secrets
from collections.abc import Callable, Iterable
from copy import copy
from hashlib import blake2b

from hansard.errors import UsageError
from hansard.files import make_private_folder, write_private

_KEY_FILE = "lake.key"


class Names:
    """The person and the machine as they are written, and texts without the path of the home directory."""

    def __init__(self, person: str, machine: str, key: bytes | None) -> None:
        for given, what in ((person, "person"), (machine, "machine")):
            if not given.strip():
                raise UsageError(f"a {what} needs a name: give it with --{what}")
        if PART in machine:
            raise UsageError(f"{machine}: a machine's name cannot contain {PART}; give it another with --machine")
        self.person = person
        self.machine = machine
        self.is_pseudonymous = key is not None
        if key is not None:
            self.person = "person-" + _pseudonym(key, person)
            self.machine = "machine-" + _pseudonym(key, f"{person}\0{machine}")

    def cleaner(self, redact: Callable[[str], str] | None, user_homes: Iterable[str]) -> Callable[[str], str] | None:
        """What is done to every text: secrets are redacted, and a pseudonymous person's home directories are `~`."""
        homes = [re.compile(pattern) for pattern in map(_pattern, user_homes) if pattern]
        if not self.is_pseudonymous or not homes:
            return redact

        def clean(text: str) -> str:
            shown = text if redact is None else redact(text)
            for home in homes:
                shown = home.sub("~", shown)
            return shown

        return clean

    def part(self, number: int) -> Names:
        """The names of a part of the machine, which readers count as it."""
        part = copy(self)
        part.machine = f"{self.machine}{PART}{number}"
        return part


PART = "#"
"""Between the name of a machine and the number of a part of it."""


def _pattern(user_home: str) -> str:
    """A pattern of a home directory, also as clients write it in a file's name: -home-ann-src. Empty if it has no name."""
    parts = re.findall(r"[^\W_]+", user_home)
    start = r"(?<![A-Za-z0-9])" + (r"[\W_]" if user_home[:1] in "\\/" else "")
    return start + r"[\W_]+".join(parts) + r"(?![A-Za-z0-9])" if parts else ""


def file_name(machine: str) -> str:
    """The name of a machine's manifest and folders: safe in every file system, and another one for every other machine."""
    readable = re.sub(r"[^A-Za-z0-9._-]+", "-", machine)[:60].strip("-.") or "machine"
    if readable == machine:
        return machine
    return f"{readable}-{blake2b(machine.encode('utf-8', 'surrogatepass'), digest_size=6).hexdigest()}"


def _pseudonym(key: bytes, name: str) -> str:
    return blake2b(name.encode("utf-8", "surrogatepass"), key=blake2b(key).digest(), digest_size=6).hexdigest()


def find_key(home: str, given: str | None) -> bytes:
    """The key of pseudonyms: the one that a team shares, or a random one that is kept in the data directory."""
    if given is not None:
        return given.encode()
    path = os.path.join(home, _KEY_FILE)
    try:
        with open(path, "rb") as file:
            return file.read()
    except FileNotFoundError:
        make_private_folder(home)
        key = secrets.token_bytes(32)
        write_private(path, key)
        return key
