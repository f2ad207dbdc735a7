"""Which language a file is written in, by its name: the short names that Pygments knows."""

from __future__ import annotations

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
