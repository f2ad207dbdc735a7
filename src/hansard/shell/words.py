"""The words of a command line: quotes, escapes, expansions and substitutions."""

from __future__ import annotations

from hansard.shell.syntax import Pipeline, Word

DEEPEST = 12  # substitutions and compound commands inside of each other
META = frozenset(" \t\r\n;&|<>()")
_MOST_WORDS = 20_000
_SPACE = " \t\r"
_ESCAPES = {
    "n": "\n",
    "t": "\t",
    "r": "\r",
    "\\": "\\",
    "'": "'",
    '"': '"',
    "a": "\a",
    "b": "\b",
    "e": "\x1b",
    "0": "\0",
}


class Stop(Exception):
    """A limit of words, depth or work was reached."""


class WordReader:
    """Reads words from a place in a text; what substitutions run is read by `read_list`."""

    def __init__(self, text: str, escape: str) -> None:
        self.text = text
        self.at = 0
        self.escape = escape
        self.is_odd = False
        self.depth = 0
        self.words = 0
        self.bodies: tuple[int, int] | None = None  # of the line: where they end and begin
        self.scanned = 0

    def read_list(self, closers: frozenset[str]) -> list[Pipeline]:
        """Pipelines up to a closing word or bracket, which is taken."""
        raise NotImplementedError

    def inside(self, text: str) -> WordReader:
        """A reader for a text inside of this one."""
        reader = type(self)(text, self.escape)
        reader.depth, reader.words, reader.scanned = self.depth + 1, self.words, self.scanned
        return reader

    def script(self) -> list[Pipeline]:
        """Everything, also after a closing bracket or word that nothing opened."""
        found: list[Pipeline] = []
        try:
            while True:
                found += self.read_list(frozenset())
                if self.at >= len(self.text):
                    return found
                self.is_odd = True
                self.at += 1
        except (Stop, RecursionError):
            self.is_odd = True
            return found

    def pass_bodies(self) -> None:
        """Pass over the bodies of here-documents after a line."""
        if self.bodies is not None and self.bodies[1] == self.at:
            self.at = self.bodies[0]

    def inner_of(self, text: str) -> list[Pipeline]:
        """The pipelines that the substitutions in a text run."""
        if ("$(" not in text and "`" not in text) or self.depth > DEEPEST:
            return []
        parser = self.inside(text)
        inner: list[Pipeline] = []
        while parser.at < len(text):
            if text[parser.at] == self.escape:
                parser.at += 2
            elif not parser.expansion([], inner):
                parser.at += 1
        return inner

    # -- words

    def word(self) -> Word:
        """The word that begins here; empty if there is none."""
        self.words += 1
        if self.words > _MOST_WORDS:
            raise Stop
        out: list[str] = []
        inner: list[Pipeline] = []
        is_quoted = False
        text = self.text
        while self.at < len(text):
            sign = text[self.at]
            if sign == self.escape:
                if text.startswith("\n", self.at + 1):
                    self.at += 2
                    continue
                out.append(text[self.at + 1 : self.at + 2])
                is_quoted = True
                self.at += 2
            elif sign == "'":
                end = text.find("'", self.at + 1)
                self.is_odd |= end < 0
                end = len(text) if end < 0 else end
                out.append(text[self.at + 1 : end])
                is_quoted = True
                self.at = end + 1
            elif sign == '"':
                is_quoted = True
                self.double(out, inner)
            elif text.startswith("$'", self.at):
                is_quoted = True
                self.ansi(out)
            elif text.startswith('$"', self.at):
                self.at += 1
            elif text[self.at : self.at + 2] in ("<(", ">("):
                self.substitution(2, out, inner)
            elif self.expansion(out, inner):
                continue
            elif sign in META:
                break
            else:
                out.append(sign)
                self.at += 1
        self.at = min(self.at, len(text))
        return Word("".join(out), is_quoted, tuple(inner))

    def double(self, out: list[str], inner: list[Pipeline]) -> None:
        text = self.text
        self.at += 1
        while self.at < len(text):
            sign = text[self.at]
            if sign == '"':
                self.at += 1
                return
            if sign == self.escape:
                follows = text[self.at + 1 : self.at + 2]
                if follows == "\n":
                    pass
                elif follows in ('"', "\\", "$", "`"):
                    out.append(follows)
                else:
                    out.append(sign + follows)
                self.at += 2
            elif not self.expansion(out, inner):
                out.append(sign)
                self.at += 1
        self.is_odd = True

    def ansi(self, out: list[str]) -> None:
        self.at += 2
        while self.at < len(self.text):
            sign = self.text[self.at]
            if sign == "'":
                self.at += 1
                return
            if sign == "\\":
                follows = self.text[self.at + 1 : self.at + 2]
                out.append(_ESCAPES.get(follows, "\\" + follows))
                self.at += 2
            else:
                out.append(sign)
                self.at += 1
        self.is_odd = True

    def expansion(self, out: list[str], inner: list[Pipeline]) -> bool:
        """Take a parameter, an arithmetic expression or a command substitution that begins here."""
        text = self.text
        if text.startswith("$((", self.at):
            start = self.at
            self.pass_until("))")
            out.append(text[start : self.at])
            return True
        if text.startswith("$(", self.at):
            self.substitution(2, out, inner)
            return True
        if text.startswith("${", self.at):
            start, depth = self.at, 0
            while self.at < len(text):
                sign = text[self.at]
                if sign == self.escape:
                    self.at += 1
                elif sign == "{":
                    depth += 1
                elif sign == "}":
                    depth -= 1
                    if not depth:
                        break
                self.at += 1
            self.is_odd |= self.at >= len(text)
            self.at = min(self.at + 1, len(text))
            out.append(text[start : self.at])
            inner += self.inner_of(text[start + 2 : self.at - 1])
            return True
        if text.startswith("`", self.at) and self.escape != "`":
            end = self.at + 1
            while end < len(text) and text[end] != "`":
                end += 2 if text[end] == "\\" else 1
            self.is_odd |= end >= len(text)
            body = text[self.at + 1 : end].replace("\\`", "`")
            out.append(text[self.at : end + 1])
            self.at = min(end + 1, len(text))
            inner += self.inside(body).script()
            return True
        return False

    def substitution(self, length: int, out: list[str], inner: list[Pipeline]) -> None:
        start = self.at
        self.at += length
        inner += self.read_list(frozenset(")"))
        out.append(self.text[start : self.at])

    # -- small steps

    def skip_blank(self) -> None:
        """Pass over blanks, line continuations and a comment."""
        text = self.text
        while self.at < len(text):
            sign = text[self.at]
            if sign in _SPACE:
                self.at += 1
            elif sign == self.escape and text.startswith("\n", self.at + 1):
                self.at += 2
            elif sign == "#" and (not self.at or text[self.at - 1] in " \t\r\n;&|()"):
                end = text.find("\n", self.at)
                self.at = len(text) if end < 0 else end
            else:
                return

    def skip_lines(self) -> None:
        self.skip_blank()
        while self.at < len(self.text) and self.text[self.at] == "\n":
            self.at += 1
            self.pass_bodies()
            self.skip_blank()

    def starting(self, signs: tuple[str, ...]) -> str:
        return next((sign for sign in signs if self.text.startswith(sign, self.at)), "")

    def keyword(self) -> str:
        """The unquoted word that begins here, if it is a short one."""
        end = self.at
        while end < len(self.text) and end - self.at < 9 and self.text[end] not in META:
            end += 1
        return self.text[self.at : end]

    def pass_until(self, mark: str) -> None:
        end = self.text.find(mark, self.at)
        self.is_odd |= end < 0
        self.at = len(self.text) if end < 0 else end + len(mark)
