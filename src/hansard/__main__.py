"""`python -m hansard` is the same as `hansard`."""

from hansard.cli import main

if __name__ == "__main__":
    main()
