"""Which candidates match in the shown text, where secrets are replaced: a search must not reveal them.

Redacted texts are ranked without their words, and exclusions are decided on the shown text alone; otherwise the number of
hits, their order, or what a NOT leaves out would reveal a secret letter by letter.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from hansard.model.placeholders import PLACEHOLDER
from hansard.query.language import And, Everything, Near, Node, Not, Or, Phrase, Word, walk
from hansard.query.search.excerpts import Marker
from hansard.query.search.plan import Speller, Term, without_empty

if TYPE_CHECKING:
    from hansard.query.search.blocks import TextBlock, Texts
    from hansard.query.search.spellings import Vocabulary

_MOST_TEXTS = 400  # read for one page


class Screen:
    """The shown texts of candidates, and whether the query matches in them."""

    def __init__(self, node: Node, vocabulary: Vocabulary, texts: Texts, prepare: Callable[[str], str]) -> None:
        self._node = node = without_empty(node) or Everything()
        self._excludes = any(isinstance(part, Not) and has_text(part) for part in walk(node))
        self._spell = Speller.for_query(node, vocabulary)
        self._texts = texts
        self._prepare = prepare
        self._markers: dict[Word | Phrase, Marker] = {}
        self._shown: dict[int, str] = {}
        self._looked_at = 0

    @property
    def is_tired(self) -> bool:
        """Whether the limit of texts read for one page is reached."""
        return self._looked_at >= _MOST_TEXTS

    def text(self, block: TextBlock) -> str:
        """The shown text of a block."""
        known = self._shown.get(block.id)
        return self._prepare(self._texts.of(block)) if known is None else known

    def is_redacted(self, block: TextBlock) -> bool | None:
        """Whether a secret is replaced in the shown text of a match; None if it does not match."""
        self._looked_at += 1
        text = self.text(block)
        is_redacted = PLACEHOLDER.search(text) is not None
        if (is_redacted or self._excludes) and not self._holds(self._node, text):
            return None
        self._shown[block.id] = text
        return is_redacted

    def _holds(self, node: Node, text: str) -> bool:
        """Whether a text matches the words of a query; the index has already decided on fields."""
        match node:
            case Word() | Phrase():
                return self._has(node, text)
            case Near(words):
                return all(self._has(Word(word, prefix=False), text) for word in words)
            case And(nodes):
                return all(self._holds(part, text) for part in nodes)
            case Or(nodes):
                # It is unknown which alternative matched: one without words could mask a match on the secret.
                return any(self._holds(part, text) for part in [one for one in nodes if has_text(one)] or nodes)
            case Not():
                return not has_text(node) or not self._holds(node.node, text)
            case _:
                return True

    def _has(self, node: Word | Phrase, text: str) -> bool:
        if node not in self._markers:
            rows, prefix = self._spell(node)
            self._markers[node] = Marker([Term(node.text, tuple(rows), (), prefix)])
        return self._markers[node].finds(text)


def has_text(node: Node) -> bool:
    """Whether a query has words anywhere."""
    return any(isinstance(part, Word | Phrase | Near) for part in walk(node))


def without_exclusions(node: Node) -> Node:
    """A broader query: nothing is excluded because of its words."""
    if isinstance(node, Not):
        return Everything() if has_text(node) else node
    if isinstance(node, And):
        parts = tuple(without_exclusions(part) for part in node.nodes)
        kept = tuple(part for part in parts if not isinstance(part, Everything))
        return And(kept) if len(kept) > 1 else kept[0] if kept else Everything()
    if isinstance(node, Or):
        parts = tuple(without_exclusions(part) for part in node.nodes)
        return Everything() if any(isinstance(part, Everything) for part in parts) else Or(parts)
    return node
