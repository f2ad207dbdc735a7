"""`python -m benchmarks.floor ROOT`: the least that any reader of JSON lines must do, as a measure for everything else."""

from __future__ import annotations

import json
import os
import sys
import time


def main() -> None:
    """Parse every line of every log in one thread; reading and splitting are timed apart."""
    import orjson

    loads, clock = orjson.loads, time.perf_counter
    started = clock()
    parsing = 0.0
    size = lines = bad = 0
    for folder, _folders, names in os.walk(sys.argv[1]):
        for name in names:
            if not name.endswith(".jsonl"):
                continue
            with open(os.path.join(folder, name), "rb") as file:
                content = file.read()
            split = content.split(b"\n")
            size += len(content)
            lines += len(split)
            before = clock()
            for line in split:
                try:
                    loads(line)
                except ValueError:
                    bad += 1
            parsing += clock() - before
    whole = clock() - started
    print(json.dumps({"parsing": parsing, "whole": whole, "bytes": size, "lines": lines, "bad": bad}))


if __name__ == "__main__":
    main()
