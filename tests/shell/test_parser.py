"""Command lines parsed: what is a command, and what is only said in one."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hansard.shell.commands import Command, read_commands
from hansard.shell.parser import parse


def ran(text: str) -> list[str]:
    """The commands of a line, each as its words."""
    return [" ".join((command.name, *command.args)) for command in read_commands(text, "/w").found]


def only(text: str, name: str) -> Command:
    (command,) = [command for command in read_commands(text, "/w").found if command.name == name]
    return command


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a b; c && d || e | f & g\nh", ["a b", "c", "d", "e", "f", "g", "h"]),
        ("a 'b; c' \"d && e\" f\\;g", ["a b; c d && e f;g"]),
        ("a # b; c\nd #e\nf#g", ["a", "d", "f#g"]),
        ("a \\\n  b", ["a b"]),
        ("a $'x\\ty' $\"z\"", ["a x\ty z"]),
        ("A=1 B='2 3' c d", ["c d"]),
        ("if ! a; then b; elif c; then d; else e; fi", ["a", "b", "c", "d", "e"]),
        ("for x in a b $(c); do d $x; done; e", ["c", "d $x", "e"]),
        ("for ((i=0; i<3; i++)); do a; done", ["a"]),
        ("while read l; do a; done < <(b)", ["read l", "a", "b", " "]),
        ("case $1 in a|b) c;; (d) e;; *) f;; esac; g", ["c", "e", "f", "g"]),
        ("f() { a; }; function g { b; }; h", ["a", "b", "h"]),
        ("(a; b) | { c; d; }", ["a", "b", "c", "d"]),
        ("[[ -f a && $b < c ]] && d", ["[[ -f a $b c", "d"]),
        ("((x = 1 << 2)); a $((1 + 2))", ["a $((1 + 2))"]),
        ('a "$(b "$(c)")" `d \\`e\\``', ["c", "b $(c)", "e", "d `e`", 'a $(b "$(c)") `d \\`e\\``']),
        ("a ${x:-$(b)} ${y}", ["b", "a ${x:-$(b)} ${y}"]),
        ("a <<X <<'Y' | b\n$(c)\nX\n$(d)\nY\ne", ["c", "a", "b", "e"]),
        ("cat <<-X\n\ta\n\tX\nb", ["cat", "b"]),
        ("a <<< 'b; c' 2>&1 >d &>e", ["a"]),
        ("x=(a b $(c)); d", ["c", "d"]),
        ("echo 'rm -rf /'", ["echo rm -rf /"]),
        ('git commit -m "$(cat <<\'EOF\'\nrm -rf /; don\'t\nEOF\n)"', ["cat", "git commit -m $(cat <<'EOF'\nrm -rf /; don't\nEOF\n)"]),
        ("cat <<'EOF' | tee a > b\nrm -rf /\nEOF", ["cat", "tee a"]),
        ("a >(b) | c", ["b", "a >(b)", "c"]),
    ],
)  # fmt: skip
def test_commands_of_a_line(text: str, expected: list[str]) -> None:
    assert [line.strip() for line in ran(text)] == [line.strip() for line in expected]
    assert parse(text).is_complete


@pytest.mark.parametrize(
    ("text", "name", "via"),
    [
        ("sudo -u x -E rm a", "rm", ("sudo",)),
        ("env -i A=1 timeout -s KILL 10 nice -n 5 rm a", "rm", ("env", "timeout", "nice")),
        ("bash -euo pipefail -c 'cd /x && rm a'", "rm", ("bash -c",)),
        ("sh -c \"bash -c 'rm a'\"", "rm", ("sh -c", "bash -c")),
        ("find . -name x -exec rm {} +", "rm", ("find",)),
        ("ls | xargs -0 -n1 rm", "rm", ("xargs",)),
        ("docker exec -it -u root web sh -c 'rm a'", "rm", ("docker", "sh -c")),
        ("docker compose -f a.yml run --rm web rm a", "rm", ("docker",)),
        ("kubectl exec web -- rm a", "rm", ("kubectl",)),
        ("ssh -i k -p 22 me@host 'sudo rm a'", "rm", ("ssh", "sudo")),
        ("ssh host <<X\nrm a\nX", "rm", ("ssh",)),
        ("eval rm a", "rm", ("eval",)),
        ("su - me -c 'rm a'", "rm", ("su",)),
        ("npx -y rm a", "rm", ("npx",)),
        ("uv run --with x rm a", "rm", ("uv",)),
        ("nohup rm a &", "rm", ("nohup",)),
        ("bash <<X\nrm a\nX", "rm", ("bash",)),
        ("cat > s.sh <<'X'\nrm a\nX\nbash s.sh", "rm", ("bash",)),
        ("powershell -Command 'rm a'", "rm", ("powershell",)),
        ("trap 'rm a' EXIT", "rm", ("trap",)),
        ("tmux send-keys -t x 'rm a' Enter", "rm", ("tmux",)),
        ("git submodule foreach 'rm a'", "rm", ("git submodule",)),
    ],
)
def test_commands_that_run_others(text: str, name: str, via: tuple[str, ...]) -> None:
    command = only(text, name)
    assert command.via == via
    assert command.operands in (["a"], [])


def test_where_a_command_runs() -> None:
    assert only("cd sub && rm x", "rm").folder == "/w/sub"
    assert only("(cd /a); rm x", "rm").folder == "/w"
    assert only("cd $X; rm x", "rm").folder is None
    assert only("ssh me@h 'cd /srv; rm x'", "rm").host == "me@h"
    assert only("D=/tmp/a; rm $D/b ${D}", "rm").args == ("/tmp/a/b", "/tmp/a")
    assert only("rm $HOME/x $Y", "rm").args == ("~/x", "$Y")


def test_what_goes_into_a_command() -> None:
    command = only("A=1 cat a | sort < b > c 2>/dev/null", "sort")
    assert [fed.name for fed in command.feeds] == ["cat"]
    assert (command.reads, command.writes) == (("b",), ("c", "/dev/null"))
    assert only("A=1 b c", "b").variable("A") == "1"
    assert only("psql <<X\nDROP TABLE a\nX", "psql").stdin == "DROP TABLE a"


def test_powershell() -> None:
    assert ran("Remove-Item -Recurse -Force C:\\Users\\me\\x; iwr https://a.b/c | iex") == [
        "remove-item -Recurse -Force C:\\Users\\me\\x",
        "iwr https://a.b/c",
        "iex",
    ]


@pytest.mark.parametrize(
    "text", ["a 'b", 'a "b', "a $(b", "(a", "a `b", "if a; then b", "a <<X\nb", "a)", "}", "case x in", "a ${b", "fi"]
)
def test_what_does_not_end_is_said(text: str) -> None:
    assert not parse(text).is_complete


@pytest.mark.parametrize(
    "text",
    [
        "$(" * 500 + "a",
        "(" * 5000,
        "`" * 4001,
        "${" * 2000,
        "bash -c '" * 50,
        "A=aaaaaaaaaa;" + "A=$A$A$A$A;" * 50 + "b $A",
        "a " * 50_000,
        "if " * 3000,
        "<<" * 2000,
        "a <<E " * 20_000,
        "sudo " * 500 + "a",
    ],
)  # fmt: skip
def test_hostile_lines_end(text: str) -> None:
    assert len(read_commands(text).found) <= 50_001


@given(st.text(alphabet="ab $(){}[]<>|&;'\"\\`\n#=*!-x", max_size=200))
def test_any_text_is_parsed(text: str) -> None:
    for command in read_commands(text, "/w").found:
        assert 0 <= command.start <= command.end <= len(text)
