"""Source files in several languages, invented but readable, for sessions to read and change."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hansard.demo.dice import Dice

VERBS = (
    "load",
    "merge",
    "parse",
    "render",
    "resolve",
    "split",
    "store",
    "trim",
    "update",
    "validate",
    "collect",
    "format",
)

PYTHON = '''
def {verb}_{noun}({other}: list[float], limit: int = {n}) -> list[float]:
    """{Verb} the {noun} and drop what lies beyond the limit."""
    kept = [value for value in {other} if abs(value) < limit]
    if len(kept) != len({other}):
        logger.info("dropped %d of %d {noun} values", len({other}) - len(kept), len({other}))
    return kept
'''
PYTHON_CLASS = '''
@dataclass(frozen=True)
class {Noun}{Verb}:
    """How one {noun} is handled when its {other} arrives late."""

    {other}_id: str
    retries: int = {n}
    patience: timedelta = timedelta(seconds={m})

    def due(self, now: datetime) -> bool:
        return now - self.seen_at > self.patience * (self.retries + 1)
'''
RUST = """
/// {Verb} a {noun} out of the given {other} bytes.
pub fn {verb}_{noun}({other}: &[u8], limit: usize) -> Result<{Noun}, Error> {{
    let mut cursor = Cursor::new(&{other}[..limit.min({other}.len())]);
    let header = cursor.read_u32::<LittleEndian>()?;
    if header != 0x{n:04x}{m:04x} {{
        return Err(Error::Header {{ expected: 0x{n:04x}{m:04x}, found: header }});
    }}
    {Noun}::from_reader(&mut cursor).map_err(Error::from)
}}
"""
TYPESCRIPT = """
export async function {verb}{Noun}({other}Id: string, signal?: AbortSignal): Promise<{Noun}[]> {{
  const response = await fetch(`/api/{noun}s/${{{other}Id}}?limit={n}`, {{ signal }});
  if (!response.ok) {{
    throw new ApiError(response.status, `could not {verb} {noun} ${{{other}Id}}`);
  }}
  const rows: {Noun}Row[] = await response.json();
  return rows.filter((row) => row.weight > {m}).map(to{Noun});
}}
"""
GO = """
// {Verb}{Noun} keeps the {other} until the {noun} is confirmed or {m} seconds have gone by.
func (s *Store) {Verb}{Noun}(ctx context.Context, {other} {Other}ID) (*{Noun}, error) {{
	ctx, cancel := context.WithTimeout(ctx, {m}*time.Second)
	defer cancel()
	row := s.pool.QueryRow(ctx, `SELECT id, state, price FROM {noun} WHERE {other}_id = $1 LIMIT {n}`, {other})
	var found {Noun}
	if err := row.Scan(&found.ID, &found.State, &found.Price); err != nil {{
		return nil, fmt.Errorf("{verb} {noun} for {other} %v: %w", {other}, err)
	}}
	return &found, nil
}}
"""
RUBY = """
  # {Verb}s the {noun} of a message and says how sure it is.
  def {verb}_{noun}({other}, threshold: 0.{n})
    score = {other}.each_token.sum {{ |token| weights.fetch(token, 0.0) }}
    return Verdict.new(:{noun}, score) if score > threshold

    logger.debug("{noun} below threshold") {{ {{ score: score.round(3), {other}: {other}.id }} }}
    Verdict.none
  end
"""
KOTLIN = """
    /** {Verb}s the {noun} and keeps the {other} for offline reading. */
    suspend fun {verb}{Noun}({other}: {Other}, limit: Int = {n}): Result<{Noun}> = withContext(io) {{
        runCatching {{
            val cached = dao.find{Noun}({other}.id)
            if (cached != null && cached.age < {m}.seconds) cached
            else remote.{verb}({other}.id, limit).also {{ dao.insert(it) }}
        }}
    }}
"""
HEADS = {
    "python": '"""{Noun} handling."""\n\nimport logging\nfrom dataclasses import dataclass\nfrom datetime import datetime, timedelta\n\n'
    "logger = logging.getLogger(__name__)\n",
    "rust": "use std::io::Cursor;\n\nuse byteorder::{{LittleEndian, ReadBytesExt}};\n\nuse crate::{noun}::{{Error, {Noun}}};\n",
    "typescript": 'import {{ ApiError }} from "./errors";\nimport type {{ {Noun}, {Noun}Row }} from "./types";\n',
    "go": 'package {noun}\n\nimport (\n\t"context"\n\t"fmt"\n\t"time"\n)\n',
    "ruby": "# frozen_string_literal: true\n\nmodule {Noun}\n",
    "kotlin": "package notes.{noun}\n\nimport kotlin.time.Duration.Companion.seconds\nimport kotlinx.coroutines.withContext\n",
}
BODIES = {
    "python": (PYTHON, PYTHON_CLASS),
    "rust": (RUST,),
    "typescript": (TYPESCRIPT,),
    "go": (GO,),
    "ruby": (RUBY,),
    "kotlin": (KOTLIN,),
}


def source_file(language: str, nouns: tuple[str, ...], dice: Dice, *, holding: str = "", parts: int = 8) -> str:
    """Give a source file of so many parts, with `holding` somewhere in the middle."""

    def filled(template: str) -> str:
        noun, other = dice.sample(nouns, 2)
        verb = dice.choice(VERBS)
        words = {"noun": noun, "other": other, "verb": verb, "Noun": noun.title(), "Other": other.title()}
        return template.format(**words, Verb=verb.title(), n=dice.randrange(10, 99), m=dice.randrange(3, 90))

    chunks = [filled(dice.choice(BODIES[language])) for _ in range(parts)]
    if holding:
        chunks.insert(dice.randrange(1, parts), "\n" + holding.strip("\n") + "\n")
    return filled(HEADS[language]) + "\n" + "\n".join(chunks).strip("\n") + "\n"


def listing(dice: Dice, files: tuple[str, ...]) -> str:
    """Give what `ls -l` would print."""
    rows = [
        f"-rw-r--r-- 1 mira mira {dice.randrange(300, 24000):6d} Sep {dice.randrange(1, 29):2d} 09:{dice.randrange(10, 59)} {name}"
        for name in files
    ]
    return "\n".join([f"total {len(files) * 4}", *rows])


def suite_report(language: str, dice: Dice, nouns: tuple[str, ...], failed: str = "") -> str:
    """Give what the tests of a language print, with one failure when `failed` says which."""
    names = [f"{dice.choice(VERBS)}_{dice.choice(nouns)}_{number}" for number in range(dice.randrange(14, 46))]
    seconds = dice.randrange(80, 900) / 100
    broken = len(names) // 2 if failed else -1
    rows = []
    for number, name in enumerate(names):
        bad = number == broken
        if language == "rust":
            rows.append(f"test {name} ... {'FAILED' if bad else 'ok'}")
        elif language == "go":
            rows.append(
                f"--- {'FAIL' if bad else 'PASS'}: Test{name.title().replace('_', '')} (0.0{dice.randrange(1, 9)}s)"
            )
        elif language == "python":
            rows.append(f"tests/test_{name.split('_')[1]}.py::test_{name} {'FAILED' if bad else 'PASSED'}")
        else:
            rows.append(f"  {'✗' if bad else '✓'} {name.replace('_', ' ')} ({dice.randrange(1, 40)} ms)")
    end = f"{len(names) - bool(failed)} passed" + (", 1 failed" if failed else "") + f" in {seconds:.2f}s"
    return "\n".join([*rows, *(["", failed] if failed else []), "", end])


def log_lines(dice: Dice, nouns: tuple[str, ...], count: int) -> str:
    """Give a service's log, long enough to spill over when wanted."""
    rows = []
    second = dice.randrange(3600)
    for _ in range(count):
        second += dice.randrange(1, 9)
        level = dice.choices(("INFO", "DEBUG", "WARN", "ERROR"), (60, 25, 12, 3))[0]
        clock = f"{7 + second // 3600:02d}:{second // 60 % 60:02d}:{second % 60:02d}"
        noun = dice.choice(nouns)
        rows.append(f"{clock} {level:5} {noun}.{dice.choice(VERBS)} id={dice.hex(8)} took={dice.randrange(1, 900)}ms")
    return "\n".join(rows)
