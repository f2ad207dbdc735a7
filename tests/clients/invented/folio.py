"""Folio, an invented client: one JSON document per session, written anew with each message."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Any

import msgspec

from hansard.clients.documents import DocumentLines
from hansard.clients.generic import CALL, RESULT, TEXT, Block, Content, GenericClient, Record, Usage
from hansard.sources.roots import FileKind, Layout, LayoutFolder, Root

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

_decode = msgspec.json.Decoder(dict[str, Any]).decode
_BEFORE = re.compile(rb'\{(?:[^"\[]|"(?:[^"\\]|\\.)*")*?"leaves"\s*:\s*\[')


class Folio(GenericClient):
    """Keeps a session in `~/.folio/books/<session>.json`."""

    name = "folio"
    layout = Layout(main="books", folders={"books": LayoutFolder(suffixes={".json": FileKind.MAIN})})

    def default_roots(self, environ: Mapping[str, str], home: str) -> list[str]:
        """~/.folio."""
        path = os.path.join(home, ".folio")
        return [path] if os.path.isdir(path) else []

    def open_root(self, path: str) -> Root | None:
        """A directory with books in it."""
        real = os.path.realpath(os.path.expanduser(path))
        books = os.path.join(real, "books")
        return Root(real, os.path.basename(real), self.name, self.layout, books, real) if os.path.isdir(books) else None

    def lines(self, pieces: Iterable[bytes], start: int) -> DocumentLines:
        """The beginning of the document, each leaf, and its end."""
        return DocumentLines(pieces, start, _BEFORE)

    def decode(self, line: bytes) -> Iterator[Record]:
        """One leaf, or what stands around them."""
        if line.lstrip(b", \t\r\n").startswith(b"]"):
            yield Record("end")
            return
        if _BEFORE.fullmatch(line):
            book = _decode(line + b"]}")
            yield Record("book", session_id=book.get("id", ""), cwd=book.get("folder", ""), title=book.get("name", ""))
            return
        leaf = _decode(line)
        author = leaf["author"]
        blocks = [Block(TEXT, text) for text in leaf.get("lines", ())]
        for number, step in enumerate(leaf.get("steps", ())):
            call_id = f"{leaf['key']}-{number}"
            call = Block(CALL, call_id=call_id, tool=step["tool"], input=step["with"], command=step["with"].get("run"))
            if "write" in step["with"]:
                call.path, call.change = step["with"]["write"], "create"
                call.changes = [Content(step["with"]["content"].splitlines())]
            blocks += [call, Block(RESULT, step["gave"], call_id=call_id, is_error=step.get("failed", False))]
        record = Record(
            "user" if author == "me" else "assistant",
            "prompt" if author == "me" else "",
            ts=leaf["clock"] * 1000,
            uuid=leaf["key"],
            blocks=blocks,
            model=leaf.get("mind", ""),
        )
        if tokens := leaf.get("tokens"):
            record.usage = Usage(leaf["key"], record.model, tokens[0], tokens[1])
        yield record
