"""Convert the data of the installed genai-prices into `pricing/prices.json.zst`, which a first sync reads instead of importing the package.

To be run after `make pin` and `make install`, where the pinned version changed.
"""

from __future__ import annotations

from hansard.pricing.book import CONVERTED, write_converted


def main() -> None:
    """Write the file, and say what is in it."""
    book = write_converted()
    print(f"{CONVERTED}: {len(book.models):,} models of genai-prices {book.version}")


if __name__ == "__main__":
    main()
