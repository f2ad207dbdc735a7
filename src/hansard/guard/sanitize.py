"""Remove what readers cannot see: escape sequences, control characters, bidirectional overrides, zero-width and tag characters."""

from __future__ import annotations

from hansard.lazy_regex import lazy_compile

ESCAPES = lazy_compile(
    "\x1b\\[[0-?]*[ -/]*[@-~]"  # CSI: colours, cursor, screen
    "|\x9b[0-?]*[ -/]*[@-~]"
    "|(?:\x1b[\\]PX^_]|[\x90\x98\x9d\x9e\x9f])[^\x07\x1b\x90\x98\x9c-\x9f]*(?:\x07|\x1b\\\\|\x9c)"  # OSC and other strings: titles, links
    "|\x1b[ -/]*[0-~]"
)
BREAKS = lazy_compile("\r\n|[\r\x0b\x0c\x85\u2028\u2029]")

# Models read what people cannot see: C0 except tab and newline, DEL, C1, soft hyphens, fillers, bidirectional
# and zero-width characters, variation selectors, tag characters, annotations, lone surrogates, noncharacters.
_INVISIBLE = lazy_compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e"
    "\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\ufffe\uffff\ud800-\udfff"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]+"
)


def visible(text: str) -> str:
    """Text as a person would see it: no escape sequences, no invisible characters, one kind of line break."""
    if text.isascii() and text.isprintable():
        return text
    return _INVISIBLE.sub("", BREAKS.sub("\n", ESCAPES.sub("", text)))
