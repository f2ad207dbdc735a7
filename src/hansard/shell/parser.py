"""Shell command lines, parsed: quotes, pipelines, substitutions, here-documents and compound commands of POSIX shells and bash.

The parser never fails: what it cannot make sense of is passed over, and the script says that it is incomplete. A line of
PowerShell is read by the same grammar, with its own escape character.
"""

from __future__ import annotations

from hansard.shell.syntax import Group, Pipeline, Redirect, Script, Simple, Word
from hansard.shell.words import DEEPEST, Stop, WordReader

LONGEST = 1 << 20  # characters of a command that are parsed
_MOST_SCANNED = 8 << 20  # characters, to find where here-documents begin
_SEPARATORS = ("&&", "||", ";;&", ";;", ";&", "|&", ";", "&", "|", "\n")
_REDIRECTS = ("<<<", "<<-", "<<", "<>", "<&", ">>", ">&", ">|", "&>>", "&>", "<", ">")
_OPENERS = {"if": "fi", "while": "done", "until": "done", "{": "}"}
_PASSED = frozenset({"then", "elif", "else", "do", "!", "time", "coproc"})
_CLOSERS = frozenset({"fi", "done", "esac", "}"})


def parse(text: str, *, is_powershell: bool = False) -> Script:
    """Parse a command line or script."""
    parser = _Parser(text[:LONGEST], "`" if is_powershell else "\\")
    pipelines = parser.script()
    return Script(tuple(pipelines), len(text) <= LONGEST and not parser.is_odd)


class _Parser(WordReader):
    # -- lists and compound commands

    def read_list(self, closers: frozenset[str]) -> list[Pipeline]:
        """Pipelines up to a closing word or bracket, which is taken."""
        self.depth += 1
        if self.depth > DEEPEST:
            raise Stop
        found: list[Pipeline] = []
        stages: list[Simple | Group] = []

        def end() -> None:
            if stages:
                found.append(Pipeline(tuple(stages)))
                stages.clear()

        while True:
            self.skip_blank()
            if self.at >= len(self.text):
                self.is_odd |= bool(closers)
                break
            if self.text[self.at] == ")":
                if ")" in closers:
                    self.at += 1
                break
            sign = self.starting(_SEPARATORS)
            if sign and self.starting(_REDIRECTS) not in ("&>", "&>>"):
                self.at += len(sign)
                if sign == "\n":
                    self.pass_bodies()
                if sign not in ("|", "|&"):
                    end()
                if sign in (";;", ";;&", ";&") and ";;" in closers:
                    break
                continue
            word = self.keyword()
            if word in closers:
                self.at += len(word)
                if word == "esac":
                    self.at -= len(word)  # the caller's loop takes it
                break
            if word in _CLOSERS:
                self.is_odd = True
                self.at += len(word)
                continue
            if word in _PASSED:
                self.at += len(word)
                continue
            stage = self._stage(word)
            if stage is not None:
                stages.append(stage)
        end()
        self.depth -= 1
        return found

    def _stage(self, word: str) -> Simple | Group | None:
        """The command that begins here; None for the name of a function, whose body follows."""
        start = self.at
        inside: list[Pipeline] = []
        is_subshell = False
        if self.text.startswith("((", start):
            self.pass_until("))")
        elif self.text[start] == "(":
            self.at += 1
            is_subshell = True
            inside = self.read_list(frozenset(")"))
        elif word in _OPENERS:
            self.at += len(word)
            inside = self.read_list(frozenset({_OPENERS[word]}))
        elif word in ("for", "select"):
            inside = self._for(len(word))
        elif word == "case":
            inside = self._case()
        elif word == "function":
            self.at += len(word)
            self.skip_blank()
            self.word()
            self._take_brackets()
            return None
        elif word == "[[":
            return self._test()
        else:
            simple = self._simple()
            if len(simple.words) == 1 and not simple.redirects and self._take_brackets():
                return None
            return simple
        redirects: list[Redirect] = []
        self.skip_blank()
        while self._redirect(redirects):
            self.skip_blank()
        return Group(tuple(inside), tuple(redirects), is_subshell)

    def _for(self, length: int) -> list[Pipeline]:
        start = self.at
        self.at += length
        self.skip_blank()
        if self.text.startswith("((", self.at):
            self.pass_until("))")
        found: list[Pipeline] = []
        while self.at < len(self.text) and not self.starting(_SEPARATORS):
            before = self.at
            word = self.word()
            found += word.inner
            if self.at == before:
                break
            self.skip_blank()
        while self.at < len(self.text) and self.text[self.at] in ";\n \t\r":
            self.at += 1
        if self.keyword() not in ("do", "{"):
            self.is_odd = True
            self.at = max(self.at, start + length)
            return found
        closer = "done" if self.keyword() == "do" else "}"
        self.at += len(self.keyword())
        return [*found, *self.read_list(frozenset({closer}))]

    def _case(self) -> list[Pipeline]:
        self.at += len("case")
        self.skip_blank()
        found: list[Pipeline] = list(self.word().inner)
        self.skip_lines()
        if self.keyword() == "in":
            self.at += 2
        while self.at < len(self.text):
            self.skip_lines()
            if self.keyword() == "esac":
                self.at += len("esac")
                return found
            self._pattern()
            before = self.at
            found += self.read_list(frozenset({";;", "esac"}))
            if self.at == before and self.keyword() != "esac":
                break
        self.is_odd = True
        return found

    def _pattern(self) -> None:
        """Pass over the pattern of a case, with its bracket."""
        while self.at < len(self.text) and self.text[self.at] not in ")\n":
            before = self.at
            if self.text[self.at] in "(| \t\r":
                self.at += 1
            else:
                self.word()
            if self.at == before:
                self.at += 1
        if self.at < len(self.text) and self.text[self.at] == ")":
            self.at += 1

    def _test(self) -> Simple:
        """A `[[ ... ]]`, in which < > && || ( ) are operators of the test."""
        start = self.at
        words: list[Word] = []
        while self.at < len(self.text):
            self.skip_blank()
            if self.text.startswith("]]", self.at):
                self.at += 2
                break
            before = self.at
            word = self.word()
            if self.at == before:
                if self.text[self.at : self.at + 1] == "\n" and self.text.find("]]", self.at) < 0:
                    break
                self.at += 1
                continue
            words.append(word)
        return Simple(tuple(words), (), (), start, self.at)

    def _take_brackets(self) -> bool:
        """Take the `()` after a function's name."""
        self.skip_blank()
        rest = self.text[self.at : self.at + 16]
        if not rest.startswith("(") or not rest[1:].lstrip().startswith(")"):
            return False
        self.at = self.text.index(")", self.at) + 1
        self.skip_lines()
        return True

    # -- simple commands

    def _simple(self) -> Simple:
        start = self.at
        words: list[Word] = []
        env: list[tuple[str, Word]] = []
        redirects: list[Redirect] = []
        while True:
            self.skip_blank()
            if self.at >= len(self.text) or self._is_end():
                break
            if self._redirect(redirects):
                continue
            before = self.at
            name = "" if words else self._assignment()
            if name:
                env.append((name, self._value()))
                continue
            word = self.word()
            if self.at == before:
                if not words or self.text[self.at] != "(":
                    self.at += 1  # an operator that does not belong here
                    self.is_odd = True
                break
            words.append(word)
        return Simple(tuple(words), tuple(env), tuple(redirects), start, self.at)

    def _is_end(self) -> bool:
        if self.text[self.at] == ")":
            return True
        return bool(self.starting(_SEPARATORS)) and self.starting(_REDIRECTS) not in ("&>", "&>>")

    def _assignment(self) -> str:
        """The name of an assignment that begins here, which is taken up to its value."""
        end = self.at
        while end < len(self.text) and (self.text[end].isalnum() or self.text[end] == "_"):
            end += 1
        if end == self.at or self.text[self.at].isdigit():
            return ""
        name = self.text[self.at : end]
        if self.text.startswith("[", end):
            close = self.text.find("]", end, end + 200)
            end = close + 1 if close > 0 else end
        length = 2 if self.text.startswith("+=", end) else 1 if self.text.startswith("=", end) else 0
        if not length:
            return ""
        self.at = end + length
        return name

    def _value(self) -> Word:
        if self.at < len(self.text) and self.text[self.at] == "(":  # an array
            self.at += 1
            inner: list[Pipeline] = []
            texts: list[str] = []
            while self.at < len(self.text) and self.text[self.at] != ")":
                before = self.at
                self.skip_lines()
                word = self.word()
                inner += word.inner
                texts.append(word.text)
                if self.at == before:
                    break
            self.at += 1
            return Word(" ".join(texts), inner=tuple(inner))
        return self.word()

    def _redirect(self, into: list[Redirect]) -> bool:
        """Take a redirection that begins here, with the number or name of its descriptor."""
        end = self.at
        while end < len(self.text) and self.text[end].isdigit():
            end += 1
        if self.text.startswith("{", end) and end == self.at:
            close = self.text.find("}", end, end + 60)
            end = close + 1 if close > 0 and self.text[close + 1 : close + 2] in ("<", ">") else end
        sign = next((sign for sign in _REDIRECTS if self.text.startswith(sign, end)), "")
        if not sign or (sign[0] == "&" and end != self.at):
            return False
        if self.text[end : end + 2] in ("<(", ">("):
            return False  # a process substitution, which is a word
        self.at = end + len(sign)
        self.skip_blank()
        if sign in ("<<", "<<-"):
            before = self.at
            word = self.word()
            if self.at == before:
                self.is_odd = True
                return True
            self._heredoc(sign, word, into)
            return True
        word = self.word()
        if sign in (">&", "<&") and (word.text.isdigit() or word.text == "-"):
            return True
        into.append(Redirect(sign, word.text, "", word.inner))
        return True

    def _heredoc(self, sign: str, word: Word, into: list[Redirect]) -> None:
        """Read the body of a here-document, which begins after the line, and note where the next line begins."""
        start = self._body_start()
        place, lines = len(self.text) if start is None else start, []
        while place < len(self.text):
            end = self.text.find("\n", place)
            end = len(self.text) if end < 0 else end
            line = self.text[place:end]
            line = line.lstrip("\t") if sign == "<<-" else line
            place = end + 1
            if line.rstrip("\r") == word.text:
                break
            lines.append(line)
        else:
            self.is_odd = True
        body = "\n".join(lines)
        into.append(Redirect(sign, word.text, body, () if word.is_quoted else tuple(self.inner_of(body))))
        if start is not None:
            first = self.bodies[1] if self.bodies is not None and self.bodies[1] > self.at else start
            self.bodies = (min(place, len(self.text)), first)

    def _body_start(self) -> int | None:
        """The start of the body of a here-document on this line: after the line, or after the body before it."""
        if self.bodies is not None and self.bodies[1] > self.at:
            return self.bodies[0]
        place, quote = self.at, ""
        while place < len(self.text):
            sign = self.text[place]
            if quote:
                if sign == "\\" and quote == '"':
                    place += 1
                elif sign == quote:
                    quote = ""
            elif sign == "\\":
                place += 1
            elif sign in "'\"":
                quote = sign
            elif sign == "\n":
                break
            place += 1
        self.scanned += place - self.at
        if self.scanned > _MOST_SCANNED:
            raise Stop
        return place + 1 if place < len(self.text) else None
