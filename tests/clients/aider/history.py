"""An invented run of Aider."""

from __future__ import annotations

from pathlib import Path

RUN = "2026-03-01T09-00-00-a1b2c3d4"
CHAT = """# aider chat started at 2026-03-01 09:00:00

> Aider v0.86.2  
> Model: openai/gpt-4.1 with diff edit format  

#### When is high water in Emden?  
#### And low water?  

I look.

```python
#### not a prompt
> not an output
```

> Tokens: 4.2k sent, 1.1k cache write, 900 cache hit, 594 received. Cost: $0.01 message, $0.05 session.  
> Applied edit to tides.py  

#### /tokens  

> Something.  

#### /ask Which port?  

None.
"""  # noqa: W291 - as it is written


def write(root: Path) -> None:
    """What an import makes of it."""
    folder = root / "aider-conversations"
    folder.mkdir()
    (folder / f"{RUN}.md").write_text(CHAT)
