"""Text as sessions hold it, for load: prose, code, logs, listings and CJK, with stop words everywhere and a long tail of rare names.

Words are drawn as language draws them (a Zipf law over stop words, everyday words, their inflections and forty thousand invented
ones); each stretch of lines comes back to a few names of its own, as a file or a conversation does.
"""

from __future__ import annotations

import math
import random
import re
from array import array
from collections.abc import Iterator
from itertools import accumulate

from benchmarks.load.sheet import SYLLABLES

STOP = (
    "the to a of and is in it that for this on with as be are not from or if we at can you i have was so but by an will all do"
    " has when which should then there what need no one only into also would any more our how they its up use out let now"
).split()
VERBS = (
    "add fix test check update move change remove rename parse load read write render build deploy validate merge split cache index"
    " sort filter handle retry cancel start stop run open close send fetch return create delete restore sync connect resolve reject"
    " wrap extract import export migrate format print log count match replace skip ignore block unlock attach detach mount flush"
).split()
NOUNS = (
    "error file line test function value type name list path key token user session request response server client module table row"
    " column record cursor query result page button field form state event message queue worker thread lock buffer stream chunk byte"
    " string number date time zone limit timeout retry config option flag default schema index migration branch commit merge review"
    " issue report header footer layout style colour theme image icon menu panel dialog tooltip chart axis legend label marker layer"
    " parser lexer node tree graph edge queue stack heap cache hash digest signature header cookie login password account invoice"
    " order payment receipt customer address country currency price discount tax shipment warehouse sensor reading sample batch job"
    " schedule alarm threshold average median window frame pixel texture shader camera light scene mesh vertex matrix vector"
).split()
OTHERS = (
    "new old same other first last next wrong right missing empty broken slow fast large small whole single double local remote public"
    " private async sync safe stale fresh flaky random stable nested shared global better still already never always instead because"
    " before after while where however maybe probably exactly actually simply twice again together"
).split()
ACCENTED = (
    "café naïve façade résumé Größe Übersicht schließen für später año señal búsqueda número más configuración déjà vérifier"
    " élément modèle données créé Łódź žádný smörgås Ångström"
).split()
EMOJI = ("✅", "🚀", "⚠️", "❌", "🎉", "🔥", "👍", "🧪")
TYPES = (
    "str",
    "int",
    "bool",
    "bytes",
    "None",
    "list[str]",
    "dict[str, Any]",
    "Path",
    "number",
    "string",
    "boolean",
    "void",
)
ERRORS = (
    "TypeError ValueError KeyError AttributeError RuntimeError FileNotFoundError TimeoutError ConnectionResetError AssertionError"
    " ReferenceError SyntaxError RangeError UnhandledPromiseRejection PermissionError ModuleNotFoundError IndexError OSError"
).split()
FOLDERS = "src lib app tests core api web ui utils models views services components hooks pages styles scripts docs db".split()
ENDINGS = "py py py ts ts tsx js go rs md json yaml toml css html sql sh".split()
CHINESE = (
    "我们 需要 修复 这个 错误 测试 文件 函数 登录 页面 用户 数据库 连接 超时 配置 更新 代码 返回 结果 列表 排序 缓存 请求 接口 参数 类型 检查 添加 删除"
    " 重命名 时间 线程 队列 日志 性能 内存 索引 搜索 迁移 分支 提交 合并 问题 已经 可以 如果 因为 所以 现在 然后 并且 没有"
).split()
JAPANESE = (
    "この エラー を 修正 して ください テスト が 失敗 します ファイル 関数 ログイン 画面 ユーザー 接続 設定 更新 コード 結果 一覧 並び替え キャッシュ 要求"
    " 引数 型 確認 追加 削除 名前 変更 時刻 検索 索引 移行 分岐 問題 です ました から まで では ので ない"
).split()
KOREAN = (
    "이 오류 를 수정 해 주세요 테스트 가 실패 합니다 파일 함수 로그인 화면 사용자 연결 설정 갱신 코드 결과 목록 정렬 캐시 요청 인수 확인 추가 삭제 이름"
    " 변경 시간 검색 색인 이전 분기 문제 입니다 했습니다 그리고 없는"
).split()

# Slots: w word, n noun, v verb, c CamelName, i identifier, s snake_name, t type, p path, d number, x hex, e error, h hour.
CODE = (
    "def @s(self, @n: @t, @n: @t) -> @t:",
    "    return self.@s(@n, @d)",
    "    if @n is None or @n.@s() < @d:",
    "    for @n in self._@n.@s(@n):",
    "        @s = @i(@n)[@n.@n]",
    "        raise @e(f'@w @n {@n}: @v @w @n')",
    "    # @w @w @w @w the @n @w",
    "class @c(@c):",
    "    self.@s: dict[@t, @t] = {}",
    "import @s",
    "from @n.@s import @c, @i",
    "",
    "export async function @i(@n: @t): Promise<@t> {",
    "  const @i = await @n.@i(@n, { @n: @d, @n: '@w' });",
    "  if (!@n.@i) throw new @e('@w @w @n');",
    "  return @i.map((@n) => @n.@i ?? @n.@n);",
    "}",
    "  @n: @t;",
    "  // @w @w @w @n @w",
    "func (@n *@c) @c(@n @t) (@t, error) {",
    '    @n.@i = @n.@c{@n: @d, @n: \\"@w\\"}',
    ".@n-@n { margin: @dpx; color: #@x; }",
)
LOGS = (
    "@h INFO @n.@s: @v @n @d of @d in @dms",
    "@h WARN @n.@s: @w @n @w @w @n, retry @d",
    "@h ERROR [@x] @c.@i: @w to @v @n @d: @e",
    '  File \\"@p\\", line @d, in @s',
    "    @n = self.@s(@n, @s=@d)",
    "@e: @w @n '@s' @w @w @n (code @d)",
    "    at @c.@i (@p:@d:@d)",
    "@p:@d:@d - error TS@d: Property '@i' does not exist on type '@c'.",
    "tests/@s.py::test_@s PASSED",
    "FAILED tests/@s.py::test_@s - @e: @w @d != @d",
    "commit @x@x",
    "@d passed, @d failed, @d skipped in @d.@ds",
    "drwxr-xr-x @d mira mira @d May @d @h @n",
    "GET /@n/@d/@n?@n=@x @d @dms",
    "npm ERR! @w @n @n@@d.@d.@d @w @w",
    "Step @d/@d : RUN @v @n --@n=@d",
    "error[E@d]: @w @n `@s` @w @w `@c`",
)
LISTINGS = ("@p:@d:    @n = @s(@n)", "@p:@d:  const @i = @n.@i;", "@p", "@p", "@p:@d:class @c:", "@p-@d-    # @w @w @n")
_SLOT = re.compile(r"@([wnvcistpdxeh])")
_TABLE = 1 << 18
_LOCAL = 32  # draws of a stretch, two thirds of them from its own few names
_STRETCH = 72  # lines
_FEW = {"w": 14, "n": 6, "v": 4, "c": 4, "i": 7, "s": 7, "t": 4, "p": 5, "e": 3}  # a stretch's own of each kind
_RARE = math.log(6_000_000)
_NAMES = len(SYLLABLES)


def _forms(word: str) -> tuple[str, str, str]:
    stem = word.removesuffix("e")
    return f"{word}s", f"{stem}ed", f"{stem}ing"


def _invented(rng: random.Random, count: int) -> list[str]:
    found: dict[str, None] = {}
    while len(found) < count:
        chances = rng.randbytes(4)
        found["".join([SYLLABLES[chance % _NAMES] for chance in chances[: 2 + chances[3] % 3]])] = None
    return list(found)


def _drawn(words: list[str], *, size: int = _TABLE, shift: float = 2.7, power: float = 1.0) -> list[str]:
    """A table in which each word stands as often as its rank deserves, so that drawing is one look-up."""
    weights = [1 / (rank + shift) ** power for rank in range(len(words))]
    share = (size - len(words)) / sum(weights)
    table: list[str] = []
    for word, weight in zip(words, weights, strict=True):
        table += [word] * (1 + int(weight * share))
    return (table + words)[:size]


class Wording:
    """The words of a history, by what they are good for; every table has a power of two of entries."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        everyday = list(dict.fromkeys([*NOUNS, *VERBS, *OTHERS]))
        rng.shuffle(everyday)
        forms = [form for word in VERBS for form in _forms(word)] + [f"{word}s" for word in NOUNS]
        rng.shuffle(forms)
        invented = _invented(rng, 40_000)
        words = list(dict.fromkeys([*STOP, *everyday, *forms, *invented[:1000], *ACCENTED, *invented[1000:]]))
        self.words = _drawn(words, size=1 << 19, power=1.12)
        self.nouns = _drawn([*NOUNS, *invented[5000:9000]], size=1 << 14, shift=8)
        self.verbs = _drawn(VERBS, size=1 << 10, shift=4)
        camel, snake, pascal = self._names(invented)
        self.tables: dict[str, list[str]] = {
            "w": self.words,
            "n": self.nouns,
            "v": self.verbs,
            "i": _drawn(camel, shift=20),
            "s": _drawn(snake, shift=20),
            "c": _drawn(pascal, shift=20),
            "t": _drawn(list(TYPES), size=256),
            "e": _drawn(ERRORS, size=256),
            "p": _drawn(self._paths([*snake, *camel]), shift=20),
            "d": [str(int(10 ** (rng.random() * 5))) for _ in range(1 << 13)],
            "x": [f"{rng.getrandbits(28):07x}" for _ in range(1 << 15)],
            "h": [f"{rng.randrange(24):02}:{rng.randrange(60):02}:{rng.randrange(60):02}" for _ in range(1 << 13)],
        }

    def _names(self, invented: list[str]) -> tuple[list[str], list[str], list[str]]:
        rng, count = self.rng, 30_000
        ends = [*NOUNS, *NOUNS, *invented[:3000]]
        tails = ("", "", "Error", "Server2", "HTTPClient", "Id")
        drawn = zip(
            *(rng.choices(kind, k=count) for kind in (VERBS, NOUNS, ends, NOUNS, tails)),
            rng.randbytes(count),
            strict=True,
        )
        camel, snake, pascal = [], [], []
        for verb, noun, end, last, tail, chance in drawn:
            camel.append(f"{verb}{noun.title()}{end.title()}" if chance & 1 else f"{noun}{end.title()}")
            snake.append(f"{verb}_{end}" if chance & 2 else f"{noun}_{end}_{last}")
            pascal.append(f"{noun.title()}{end.title()}{tail}")
        return list(dict.fromkeys(camel)), list(dict.fromkeys(snake)), list(dict.fromkeys(pascal))

    def _paths(self, names: list[str]) -> list[str]:
        rng, count = self.rng, 20_000
        drawn = zip(*(rng.choices(kind, k=count) for kind in (FOLDERS, FOLDERS, NOUNS, names, ENDINGS)), strict=True)
        return list(dict.fromkeys(f"{first}/{second}/{noun}/{name}.{end}" for first, second, noun, name, end in drawn))

    def draws(self) -> Iterator[int]:
        """Random numbers without end."""
        while True:
            yield from array("I", self.rng.randbytes(1 << 16))

    def local(self, kind: str) -> list[str]:
        """A stretch's own table: a few of its own, two times out of three, and new ones."""
        table, own = self.tables[kind], _FEW[kind]
        mask = len(table) - 1
        drawn = [table[chance & mask] for chance in array("I", self.rng.randbytes(4 * _LOCAL))]
        return [drawn[place % own] if place % 3 else word for place, word in enumerate(drawn)]

    def code(self) -> Iterator[str]:
        """Lines of code."""
        return self._filled(CODE)

    def logs(self) -> Iterator[str]:
        """Lines of logs, stack traces and reports of tests."""
        return self._filled(LOGS)

    def listings(self) -> Iterator[str]:
        """Lines as grep and find print them."""
        return self._filled(LISTINGS)

    def _filled(self, templates: tuple[str, ...]) -> Iterator[str]:
        ready = [(_SLOT.sub("%s", template.replace("%", "%%")), _SLOT.findall(template)) for template in templates]
        kinds = sorted({kind for _, slots in ready for kind in slots})
        chance, count = self.draws(), len(ready)
        tables = {kind: (self.tables[kind], len(self.tables[kind]) - 1) for kind in kinds}
        while True:
            tables |= {kind: (self.local(kind), _LOCAL - 1) for kind in kinds if kind in _FEW}
            own = [(shape, [tables[slot] for slot in slots]) for shape, slots in ready]
            for _ in range(_STRETCH):
                shape, places = own[next(chance) % count]
                yield shape % tuple([table[next(chance) & mask] for table, mask in places])

    def prose(self) -> Iterator[str]:
        """Sentences and points as people and models write them, with names of code among the words."""
        chance, words, mask = self.draws(), self.words, len(self.words) - 1
        while True:
            own = self.local("w") + self.local("n")
            names = self.local("i") + self.local("s") + self.local("p") + self.local("c")
            for _ in range(_STRETCH):
                toss = next(chance)
                drawn = array("I", self.rng.randbytes(4 * (6 + toss % 19)))
                said = [words[draw >> 8 & mask] if draw & 255 < 200 else own[draw >> 8 & 63] for draw in drawn]
                if toss >> 8 & 1:
                    said[toss >> 9 & 3] = f"`{names[toss >> 11 & 127]}`"
                if toss >> 20 & 63 == 0:
                    said.append(EMOJI[toss >> 26 & 7])
                said[0] = said[0].capitalize()
                opening = ("", "", "", "- ", "1. ", "## ", "", "")[toss >> 16 & 7]
                yield f"{opening}{' '.join(said)}{('.', '.', ',', ':', '?', '.', '!', ';')[toss >> 20 & 7]}"

    def cjk(self) -> Iterator[str]:
        """Chinese, Japanese and Korean, with names of code among the words."""
        chance = self.draws()
        languages = [
            (_drawn(CHINESE, size=1 << 10), ""),
            (_drawn(JAPANESE, size=1 << 10), ""),
            (_drawn(KOREAN, size=1 << 10), " "),
        ]
        while True:
            table, between = languages[next(chance) % 3]
            names = self.local("i")
            for _ in range(_STRETCH):
                toss = next(chance)
                said = [table[draw & 1023] for draw in array("I", self.rng.randbytes(4 * (5 + toss % 14)))]
                if toss >> 8 & 1:
                    said[1] = f" {names[toss >> 9 & 31]} "
                yield f"{between.join(said)}{'。。!.'[toss >> 16 & 3]}"

    def rare(self) -> str:
        """A name out of six million, the lower the commoner: many occur once in a history."""
        number = int(math.exp(self.rng.random() * _RARE))
        style = number % 5
        number, first = divmod(number, _NAMES)
        parts = [SYLLABLES[first]]
        while number:
            number, part = divmod(number, _NAMES)
            parts.append(SYLLABLES[part])
        word = "".join(parts)
        if style == 0:
            return f"{VERBS[first % len(VERBS)]}{word.title()}"
        if style == 1:
            return f"{word}_{NOUNS[first]}"
        if style == 2:
            return f"{NOUNS[first]}.{word}"
        return f"qu{word}x"


class Lines:
    """A long text, ready to stand inside JSON strings, from which runs of whole lines are cut."""

    def __init__(self, rng: random.Random, lines: Iterator[str], size: int) -> None:
        taken: list[bytes] = []
        length = 0
        while length < size:
            piece = [f"{next(lines)}\\n".encode() for _ in range(512)]
            taken += piece
            length += sum(map(len, piece))
        self.text = b"".join(taken)
        self.starts = array("I", accumulate(map(len, taken), initial=0))
        self.mean = length / len(taken)
        self._rng = rng

    def cut(self, size: float) -> bytes:
        """Give a run of lines of about that many bytes, from anywhere."""
        count = int(size / self.mean) + 1
        last = len(self.starts) - 1
        first = int(self._rng.random() * max(1, last - count))
        return self.text[self.starts[first] : self.starts[min(last, first + count)]]
