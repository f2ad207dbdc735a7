"""A history of which two machines have parts: some files on one, some on both, and some shorter on one of them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import hansard
from benchmarks.load.metered import write_metered
from hansard.engine import Hansard


@contextmanager
def two_machines(folder: Path, messages: int) -> Iterator[dict[str, Hansard]]:
    """The stores of ann and bob, and one of the files of both."""
    write_metered(folder / "all", messages=messages)
    for number, path in enumerate(sorted((folder / "all" / "projects").rglob("*.jsonl"))):
        lines = path.read_bytes().splitlines(keepends=True)
        for machine, has in (("ann", number % 3 != 0), ("bob", number % 3 != 1)):
            if has:
                copy = folder / machine / path.relative_to(folder / "all")
                copy.parent.mkdir(parents=True, exist_ok=True)
                is_short = number % 2 == (machine == "ann")
                copy.write_bytes(b"".join(lines[: len(lines) * 2 // 3] if is_short else lines))
    roots = {"ann": [folder / "ann"], "bob": [folder / "bob"], "both": [folder / "ann", folder / "bob"]}
    with ExitStack() as stack:
        stores = {
            name: stack.enter_context(hansard.open(folder / f"store {name}", places)) for name, places in roots.items()
        }
        for h in stores.values():
            h.sync()
        yield stores
