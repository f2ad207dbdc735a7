"""Raw bytes to zstd frames and back, never giving more bytes than were stated."""

from __future__ import annotations

from hashlib import sha256
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import zstandard

Raw = bytes | bytearray | memoryview

LEVEL = 1


class DamagedError(Exception):
    """A stored frame does not give the bytes it should; the caller knows which file it belongs to and says so."""


def short_hash(raw: Raw) -> bytes:
    """The 16-byte hash of a chunk: on the machines measured, SHA-256 in hardware beats the cheaper-looking hashes."""
    return sha256(raw).digest()[:16]


class Codec:
    """One reused compressor and decompressor; zstandard is imported when the first frame is packed or unpacked."""

    __slots__ = ("_compressor", "_decompressor")

    def __init__(self) -> None:
        """Load nothing yet: a sync that finds nothing new never pays for the import."""
        self._compressor: zstandard.ZstdCompressor | None = None
        self._decompressor: zstandard.ZstdDecompressor | None = None

    def pack(self, raw: Raw) -> bytes:
        """Compress into one frame that states its raw length."""
        if self._compressor is None:
            import zstandard

            self._compressor = zstandard.ZstdCompressor(level=LEVEL, write_content_size=True)
        return self._compressor.compress(raw)

    def unpack(self, frame: bytes, length: int) -> bytes:
        """Decompress a frame of exactly `length` raw bytes, or raise DamagedError before memory is spent."""
        import zstandard

        if self._decompressor is None:
            self._decompressor = zstandard.ZstdDecompressor()
        try:
            stated = zstandard.frame_content_size(frame)
            if stated != length:
                raise DamagedError(f"its compressed data claims {stated} bytes where {length} are recorded")
            raw = self._decompressor.decompress(frame)
        except zstandard.ZstdError as error:
            raise DamagedError(f"its compressed data cannot be read ({error})") from None
        except MemoryError:
            raise DamagedError(f"it claims {length} bytes, more than there is memory for") from None
        if len(raw) != length:
            raise DamagedError(f"it gives {len(raw)} bytes where {length} are recorded")
        return raw

    def unpack_start(self, frame: bytes, length: int) -> bytes:
        """The first `length` raw bytes of a frame, without spending time on the rest."""
        import zstandard

        if self._decompressor is None:
            self._decompressor = zstandard.ZstdDecompressor()
        try:
            with self._decompressor.stream_reader(frame) as reader:
                return reader.read(length)
        except zstandard.ZstdError as error:
            raise DamagedError(f"its compressed data cannot be read ({error})") from None
