"""Which language a file is written in, by its name: the short names that Pygments knows; and which code is given to Pygments."""

from __future__ import annotations

import re
from functools import cache

LONGEST = 4_000
"""Characters of code that is coloured: Pygments does about a megabyte a second."""
# Many lexers take time with the square of a long line, of many lines, or of many words without a sign between them. Code
# that looks like code stays within these; what is beyond them is shown without colours.
_WIDEST = 300
_MOST_LINES = 250
_MOST_WORDS = 1_500_000  # the sum of the squares of their lengths
_WORDS = re.compile(r"[\w\s&*.,:<>-]+")
_NOT_CODE = frozenset({"", "text", "markdown"})
_ANY_OTHER = frozenset({"rst"})  # inside it the lexer of any language is asked for by its name
_NEVER_END = frozenset({"fish", "scala"})  # on some twenty backslashes behind a quote
_OTHERS = frozenset(
    "asm awk cython django emacs-lisp fortran glsl hlsl html+jinja jinja llvm matlab mysql nasm nginx pascal postgresql pycon"
    " scheme tcl verilog vim".split()
)
_BY_NAME = {
    "dockerfile": "docker",
    "makefile": "make",
    "cmakelists.txt": "cmake",
    "gemfile": "ruby",
    "rakefile": "ruby",
    "justfile": "make",
    ".bashrc": "bash",
    ".zshrc": "bash",
    ".gitconfig": "ini",
}
_BY_ENDING = {
    "astro": "html", "bash": "bash", "bat": "bat", "c": "c", "cc": "cpp", "cfg": "ini", "clj": "clojure", "cmake": "cmake",
    "conf": "ini", "cpp": "cpp", "cs": "csharp", "css": "css", "csv": "text", "cts": "typescript", "cxx": "cpp", "d": "d",
    "dart": "dart", "diff": "diff", "dockerfile": "docker", "ejs": "html", "ex": "elixir", "exs": "elixir", "elm": "elm",
    "env": "bash", "erl": "erlang", "fish": "fish", "fs": "fsharp", "go": "go", "gradle": "groovy", "graphql": "graphql",
    "groovy": "groovy", "h": "c", "hbs": "html", "hcl": "terraform", "hpp": "cpp", "hs": "haskell", "htm": "html",
    "html": "html", "ini": "ini", "ipynb": "json", "java": "java", "jl": "julia", "js": "javascript", "json": "json",
    "json5": "json", "jsonc": "json", "jsonl": "json", "jsx": "jsx", "kt": "kotlin", "kts": "kotlin", "less": "less",
    "lock": "text", "lua": "lua", "m": "objective-c", "md": "markdown", "mdx": "markdown", "mjs": "javascript",
    "ml": "ocaml", "mts": "typescript", "nim": "nim", "nix": "nix", "patch": "diff", "php": "php", "pl": "perl",
    "plist": "xml", "properties": "properties", "proto": "protobuf", "ps1": "powershell", "py": "python",
    "pyi": "python", "r": "r", "rb": "ruby", "rs": "rust", "rst": "rst", "sass": "sass", "scala": "scala", "scss": "scss",
    "sh": "bash", "sol": "solidity", "sql": "sql", "svelte": "html", "svg": "xml", "swift": "swift", "tex": "latex",
    "tf": "terraform", "toml": "toml", "ts": "typescript", "tsx": "tsx", "txt": "text", "vb": "vbnet", "vue": "html",
    "wasm": "text", "xml": "xml", "yaml": "yaml", "yml": "yaml", "zig": "zig", "zsh": "bash",
}  # fmt: skip


def language_of(path: str) -> str:
    """The language of a file, empty where its name does not tell."""
    name = path.replace("\\", "/").rsplit("/", 1)[-1].lower()
    if name in _BY_NAME:
        return _BY_NAME[name]
    return _BY_ENDING.get(name.rsplit(".", 1)[-1], "") if "." in name else ""


def lexer_name(text: str, language: str) -> str:
    """The name of the lexer that colours a piece of code, empty where it is not to be coloured."""
    language = language.lower()
    if len(text) > LONGEST or language not in _lexed():
        return ""
    if language == "json":  # by hand and in linear time
        return language
    lines = text.split("\n")
    is_code = (
        len(lines) <= _MOST_LINES
        and max(map(len, lines)) <= _WIDEST
        and sum(len(words) ** 2 for words in _WORDS.findall(text)) <= _MOST_WORDS
    )
    return language if is_code else ""


@cache
def _lexed() -> frozenset[str]:
    """The names of the languages that may be coloured, as Pygments has them."""
    from pygments.lexers import LEXERS  # type: ignore[import-untyped]

    wanted = ({*_BY_NAME.values(), *_BY_ENDING.values()} | _OTHERS) - _NOT_CODE - _NEVER_END - _ANY_OTHER
    return frozenset(name for _, _, names, _, _ in LEXERS.values() if wanted.intersection(names) for name in names)
