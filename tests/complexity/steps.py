"""A backtracking matcher that counts its steps: what `re` does with a pattern, slowly, over its own parse tree."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterator
from re import _constants as code
from re import _parser as parser
from typing import Any

Marks = tuple[tuple[int, int] | None, ...]
State = tuple[int, Marks]  # where the match stands, and the spans of its groups
_CATEGORIES = {
    code.CATEGORY_DIGIT: r"\d", code.CATEGORY_NOT_DIGIT: r"\D", code.CATEGORY_SPACE: r"\s", code.CATEGORY_NOT_SPACE: r"\S",
    code.CATEGORY_WORD: r"\w", code.CATEGORY_NOT_WORD: r"\W",
}  # fmt: skip
_ANCHORS = {
    code.AT_BEGINNING: "^", code.AT_BEGINNING_STRING: r"\A", code.AT_END: "$", code.AT_END_STRING: r"\Z",
    code.AT_BOUNDARY: r"\b", code.AT_NON_BOUNDARY: r"\B",
}  # fmt: skip
_KEPT = re.IGNORECASE | re.MULTILINE | re.DOTALL | re.ASCII
_ONE = frozenset({code.LITERAL, code.NOT_LITERAL, code.ANY, code.IN})  # items that match one character


@functools.lru_cache(maxsize=1)
def _parsed(pattern: re.Pattern[Any]) -> tuple[Any, dict[tuple[int, int, str], bool]]:
    """The tree of a pattern, and which characters its items match, filled as they are met."""
    return parser.parse(pattern.pattern, pattern.flags & ~re.DEBUG), {}


class TooMuch(Exception):
    """More steps than anybody wants to count."""


class Matcher:
    """One pattern over one text."""

    def __init__(self, pattern: re.Pattern[Any], text: str | bytes, most: int = 10_000_000) -> None:
        self.tree, self._tests = _parsed(pattern)
        self.flags = pattern.flags
        self.is_bytes = isinstance(text, bytes)
        self.text = text.decode("latin-1") if isinstance(text, bytes) else text
        self.most = most
        self.steps = 0
        self._runs: dict[tuple[int, int], tuple[int, int]] = {}
        self._none: Marks = (None,) * self.tree.state.groups

    def search(self) -> list[tuple[int, int]]:
        """The spans that `finditer` gives."""
        found = []
        at = 0
        banned = -1  # where an empty match was found already
        while at <= len(self.text):
            end = next((end for end, _ in self._run(self.tree, at) if not (end == at == banned)), None)
            if end is None:
                at += 1
                continue
            found.append((at, end))
            banned = end if end == at else -1
            at = end
        return found

    def match(self) -> tuple[int, int] | None:
        """The span that `match` gives."""
        end = next((end for end, _ in self._run(self.tree, 0)), None)
        return None if end is None else (0, end)

    def _run(self, tree: Any, at: int) -> Iterator[State]:
        return self._ways(tree.data, (at, self._none), int(self.flags))

    def _ways(self, items: list[Any], state: State, flags: int) -> Iterator[State]:
        """Like `_sequence`; most beginnings fail at their first character, which needs no generator."""
        if items and items[0][0] in _ONE:
            if not self._is(items[0], state[0], flags):
                return iter(())
            return self._sequence(items[1:], (state[0] + 1, state[1]), flags)
        return self._sequence(items, state, flags)

    def _step(self, steps: int = 1) -> None:
        self.steps += steps
        if self.steps > self.most:
            raise TooMuch

    def _sequence(self, items: list[Any], state: State, flags: int) -> Iterator[State]:
        """Every way in which the items match, the best first; explicit stack, since texts are long."""
        stack = [(0, iter((state,)))]
        while stack:
            number, ways = stack[-1]
            way = next(ways, None)
            if way is None:
                stack.pop()
                continue
            # Items of one character match in one way or not at all.
            while number < len(items) and items[number][0] in _ONE:
                if not self._is(items[number], way[0], flags):
                    break
                way = (way[0] + 1, way[1])
                number += 1
            else:
                if number == len(items):
                    yield way
                else:
                    stack.append((number + 1, self._item(items[number], way, flags)))

    def _item(self, item: Any, state: State, flags: int) -> Iterator[State]:
        self._step()
        op, argument = item
        at, marks = state
        if op is code.BRANCH:
            for branch in argument[1]:
                yield from self._ways(branch.data, state, flags)
        elif op is code.SUBPATTERN:
            group, added, removed, inner = argument
            for end, inside in self._ways(inner.data, state, (flags | added) & ~removed):
                yield end, _marked(inside, group, (at, end))
        elif op is code.ATOMIC_GROUP:
            yield from _first(self._sequence(argument.data, state, flags))
        elif op in (code.MAX_REPEAT, code.MIN_REPEAT, code.POSSESSIVE_REPEAT):
            ways = self._repeat(argument, state, flags, is_greedy=op is not code.MIN_REPEAT)
            yield from _first(ways) if op is code.POSSESSIVE_REPEAT else ways
        elif op in (code.ASSERT, code.ASSERT_NOT):
            yield from self._look(op, argument, state, flags)
        elif op is code.AT:
            if self._anchor(argument, at, flags):
                yield state
        elif op is code.GROUPREF:
            span = marks[argument]
            same = span is not None and self.text[span[0] : span[1]]
            if same is not False and self.text.startswith(same, at):
                yield at + len(same), marks
        else:
            raise NotImplementedError(op)

    def _repeat(self, argument: Any, state: State, flags: int, *, is_greedy: bool) -> Iterator[State]:
        least, most, inner = argument
        items = inner.data
        if len(items) == 1 and items[0][0] in _ONE:
            yield from self._repeat_one(items[0], least, most, state, flags, is_greedy=is_greedy)
            return
        # Each entry: how often it was matched, the state then, and the ways to match it once more.
        stack = [(0, state, self._sequence(items, state, flags))]
        if not is_greedy and least == 0:
            yield state
        while stack:
            count, here, more = stack[-1]
            way = next(more, None) if count < most else None
            if way is not None and way[0] == here[0] and count >= least:
                continue  # an empty match once more leads nowhere
            if way is None:
                stack.pop()
                if is_greedy and count >= least:
                    yield here
            else:
                stack.append((count + 1, way, self._sequence(items, way, flags)))
                if not is_greedy and count + 1 >= least:
                    yield way

    def _repeat_one(
        self, item: Any, least: int, most: int, state: State, flags: int, *, is_greedy: bool
    ) -> Iterator[State]:
        at, marks = state
        count = 0
        if is_greedy:
            count = min(self._run_end(item, at, flags) - at, most)
            self._step(count + (count < most))
            for end in range(at + count, at + least - 1, -1):
                yield end, marks
            return
        while True:
            if count >= least:
                yield at + count, marks
            if count == most or not self._is(item, at + count, flags):
                return
            count += 1

    def _look(self, op: Any, argument: Any, state: State, flags: int) -> Iterator[State]:
        direction, inner = argument
        at, marks = state
        starts = [at]
        if direction < 0:
            low, high = inner.getwidth()
            starts = [at - width for width in range(low, min(high, at) + 1)]
        found = None
        for start in starts:
            if start >= 0:
                ways = self._sequence(inner.data, (start, marks), flags)
                found = next((way for way in ways if direction > 0 or way[0] == at), None)
            if found:
                break
        if (found is not None) == (op is code.ASSERT):
            yield at, found[1] if found else marks

    def _anchor(self, where: Any, at: int, flags: int) -> bool:
        near = self.text[max(0, at - 1) : at + 2]
        # What stands further away does not matter, except that it is there.
        before = at - max(0, at - 1)
        if where is code.AT_BEGINNING_STRING or (where is code.AT_BEGINNING and not flags & re.MULTILINE):
            return at == 0
        if where is code.AT_END_STRING:
            return at == len(self.text)
        if where is code.AT_END and not flags & re.MULTILINE:
            return at == len(self.text) or (at == len(self.text) - 1 and self.text[at] == "\n")
        return self._compiled(_ANCHORS[where], flags).match(self._raw(near), before) is not None

    def _is(self, item: Any, at: int, flags: int) -> bool:
        """Take the step of matching an item of one character."""
        self._step()
        return at < len(self.text) and self._fits(item, at, flags)

    def _run_end(self, item: Any, at: int, flags: int) -> int:
        """Where the characters that an item matches end, from a place on; the same for every place inside of them."""
        start, end = self._runs.get((id(item), flags), (0, -1))
        if not start <= at <= end:
            end = at
            while end < len(self.text) and self._fits(item, end, flags):
                end += 1
            self._runs[id(item), flags] = at, end
        return end

    def _fits(self, item: Any, at: int, flags: int) -> bool:
        key = (id(item), flags, self.text[at])
        if key not in self._tests:
            self._tests[key] = self._compiled(_source(item), flags).match(self._raw(key[2])) is not None
        return self._tests[key]

    def _raw(self, text: str) -> Any:
        return text.encode("latin-1") if self.is_bytes else text

    def _compiled(self, source: str, flags: int) -> re.Pattern[Any]:
        kept = flags & int(_KEPT)
        return (
            re.compile(source.encode("latin-1"), kept & ~int(re.ASCII)) if self.is_bytes else re.compile(source, kept)
        )


def _source(item: Any) -> str:
    """A one-character item as a pattern."""
    op, argument = item
    if op is code.ANY:
        return "."
    if op is code.LITERAL:
        return re.escape(chr(argument))
    if op is code.NOT_LITERAL:
        return f"[^{re.escape(chr(argument))}]"
    parts = []
    for kind, value in argument:
        if kind is code.NEGATE:
            parts.append("^")
        elif kind is code.LITERAL:
            parts.append(re.escape(chr(value)))
        elif kind is code.RANGE:
            parts.append(f"{re.escape(chr(value[0]))}-{re.escape(chr(value[1]))}")
        else:
            parts.append(_CATEGORIES[value])
    return f"[{''.join(parts)}]"


def _marked(marks: Marks, group: int | None, span: tuple[int, int]) -> Marks:
    return marks if group is None else (*marks[:group], span, *marks[group + 1 :])


def _first(ways: Iterator[State]) -> Iterator[State]:
    for way in ways:
        yield way
        return


def count_steps(
    pattern: re.Pattern[Any], text: Any, how: Callable[[Matcher], Any] = Matcher.search, most: int = 10_000_000
) -> int:
    """How many steps a search through all of a text, or one match, takes."""
    matcher = Matcher(pattern, text, most)
    how(matcher)
    return matcher.steps
