"""File names as storable text."""

from hansard.lazy_regex import lazy_compile

_ESCAPED = lazy_compile(r"\\(\\|u[0-9a-f]{4})")
_TO_ESCAPE = lazy_compile("[\\\\\ud800-\udfff]")
_SURROGATE = lazy_compile("[\ud800-\udfff]")

# A POSIX name is bytes; Python hands those that are not UTF-8 over as lone surrogates (surrogateescape), and a Windows
# name may hold lone surrogates of its own. Neither SQLite nor JSON takes them, so a kept path writes each as the six
# characters \udcff. A real backslash is doubled, which makes the writing reversible. Nearly no name needs either.


def escape(name: str) -> str:
    """Escape a file name into reversible, valid Unicode."""
    if name.isascii() and "\\" not in name:
        return name
    return _TO_ESCAPE.sub(lambda found: "\\\\" if found[0] == "\\" else f"\\u{ord(found[0]):04x}", name)


def unescape(name: str) -> str:
    """The file name that `escape` was given."""
    if "\\" not in name:
        return name
    return _ESCAPED.sub(lambda found: "\\" if found[1] == "\\" else chr(int(found[1][1:], 16)), name)


def printable(path: str) -> str:
    """A path for people, which any terminal or JSON writer can print; not reversible."""
    return path if path.isascii() else _SURROGATE.sub(lambda found: f"\\u{ord(found[0]):04x}", path)


def storable(text: str) -> str:
    """Text that a database can store: JSON may contain half of a surrogate pair, UTF-8 cannot."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
