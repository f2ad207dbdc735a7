"""Passwords and keys with any sign in them are found whole, with one id, in every syntax that delimits them."""

from __future__ import annotations

import base64
import html
import json
import random
import re
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hansard.guard.detection import Detector, detector
from hansard.guard.redaction import Redactor, fingerprint
from hansard.secrets.masking import Masker

KEY = b"key"
MODES = {
    "on": Redactor(detector(), KEY),
    "strict": Redactor(detector(), KEY, strict=True),
    "on, own rules": Redactor(Detector(None), KEY),
    "strict, own rules": Redactor(Detector(None), KEY, strict=True),
}
SIGNS = "$&()[]{}<>|,;:'\" \\!@#%^*~?+=/.-_`"
Write = Callable[[str], str]


def _json(value: str) -> str:
    return json.dumps(value)[1:-1]


def _without(signs: str) -> Write:
    """A syntax that cannot have these signs: empty for such a value."""
    return lambda value: "" if set(value) & set(signs) else value


def _single(value: str) -> str:
    return _without("'")(value)


def _double(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"')


def _url(value: str) -> str:
    return value if set(value) <= set("$&()[]{}<>|,;:!^*~?+=.-_") | set("aB3dE5gH7jK9") else ""


# How a value is written, and the line that it is in.
SYNTAXES: dict[str, tuple[Write, str]] = {
    "JSON": (_json, '{"user": "bob", "password": "{}", "port": 5432}'),
    "JSON, compact": (_json, '{"user":"bob","dbPassword":"{}","port":5432}'),
    "JSON, last": (_json, '{"password": "{}"}'),
    ".env, single quotes": (_single, "DB_PASSWORD='{}'"),
    ".env, double quotes": (_double, 'DB_PASSWORD="{}"'),
    ".env": (_without(" '\"\\`"), "HOST=db\nDB_PASSWORD={}\nPORT=5432"),
    ".env, exported": (_without(" '\"\\`"), "export DB_PASSWORD={}"),
    "Python": (_double, 'connect(user="bob", password="{}", port=5432)'),
    "Python, single quotes": (_single, "connect(user='bob', password='{}', port=5432)"),
    "JavaScript": (_single, "const db = { user: 'bob', password: '{}' };"),
    "an item": (_double, 'config["password"] = "{}"'),
    "YAML, double quotes": (_double, 'db:\n  password: "{}"\n  port: 5432'),
    "YAML, single quotes": (_single, "db:\n  password: '{}'\n  port: 5432"),
    "shell, a variable of a command": (_single, "PGPASSWORD='{}' psql -h db"),
    "shell, an option": (_single, "tool --user bob --password '{}' --port 5432"),
    "shell, an option with =": (_double, 'tool --user bob --password="{}" --port 5432'),
    "mysql": (_single, "mysql -u root -p'{}' shop"),
    "sshpass": (_single, "sshpass -p '{}' ssh host"),
    "docker login": (_double, 'docker login -u bob -p "{}" registry'),
    "curl": (_single, "curl -u 'bob:{}' https://api.internal/"),
    "redis-cli": (_single, "redis-cli -h cache -a '{}' ping"),
    "smbclient": (_single, "smbclient //srv/x -U 'bob%{}'"),
    "net use": (_double, 'net use x: //srv/x /user:bob "{}"'),
    "sudo": (_single, "echo '{}' | sudo -S ls"),
    "password-stdin": (_double, 'echo -n "{}" | docker login -u bob --password-stdin'),
    "a connection string": (_without(";'\"\\ `"), '"Server=db;User=bob;Password={};Port=5432"'),
    "a connection string, last": (_without(";'\"\\ `"), "Server=db;User=bob;Password={}"),
    "an address": (_url, "DATABASE_URL=postgres://bob:{}@db.internal:5432/shop"),
    "SQL": (_without("'\\"), "ALTER USER bob WITH PASSWORD '{}';"),
    "an element": (html.escape, "<server><password>{}</password></server>"),
    "an attribute": (html.escape, '<add key="Password" value="{}"/>'),
    "an attribute before a blank": (html.escape, '<add key="SmtpPassword" value="{}" />'),
    "Kubernetes": (_double, '- name: POSTGRES_PASSWORD\n  value: "{}"'),
    "a template of Azure": (_json, '"adminPassword": {\n  "value": "{}"\n}'),
    "an input": (html.escape, '<input type="password" name="pw" value="{}">'),
    "a setter": (_double, 'source.setPassword("{}");'),
    "a builder": (_double, '.username("bob").password("{}").build()'),
    "HTTP": (_double, 'requests.get(url, auth=("bob", "{}"))'),
    "putenv": (_double, 'setdefault("DB_PASSWORD", "{}")'),
    "PowerShell": (_single, "ConvertTo-SecureString '{}' -AsPlainText -Force"),
    "psk": (_without('"\\'), 'psk="{}"'),
    "Dockerfile": (_without(" '\"\\`"), "FROM a\nENV DB_PASSWORD {}\nRUN b"),
    "pgpass": (_without(" '\"\\`"), "db.internal:5432:shop:bob:{}"),
    "German": (_double, 'Passwort: "{}"'),
    "Spanish": (_double, 'contraseña: "{}"'),
    "French": (_double, 'mot de passe : "{}"'),
    "Portuguese": (_double, 'senha: "{}"'),
    "Chinese": (_double, '密码："{}"'),  # noqa: RUF001 - as documents write it
    "Japanese": (_double, 'パスワード: "{}"'),
}  # fmt: skip
FORMS: dict[str, Write] = {
    "plain": lambda line: line,
    "in a transcript": lambda line: json.dumps({"content": [{"text": f"see\n{line}\nend"}]}, ensure_ascii=False),
    "in JSON in a transcript": lambda line: json.dumps({"input": json.dumps({"text": f"see\n{line}\nend"}, ensure_ascii=False)}, ensure_ascii=False),
}  # fmt: skip


def values(sign: str) -> list[str]:
    """Passwords with a sign within, near the beginning and near the end."""
    return [f"aB3{sign}dE5gH7jK9", f"a{sign}B3dE5gH7jK9", f"aB3dE5gH7jK{sign}9"]


def written(syntax: str, value: str) -> str:
    """A line with a value, or nothing if its syntax cannot have it."""
    write, line = SYNTAXES[syntax]
    inside = write(value)
    return line.replace("{}", inside) if inside else ""


def left_of(shown: str, value: str) -> list[str]:
    """Runs of six characters of a value that are in a text, with its escapes or without."""
    plain = html.unescape(re.sub(r"\\+", r"\\" if "\\" in value else "", shown))
    return [value[at : at + 6] for at in range(len(value) - 5) if value[at : at + 6] in shown + " \0 " + plain]


def check(redactor: Redactor, text: str, value: str) -> str:
    """What is wrong with the redaction of a text that holds a value; empty if nothing is left and the id is that of the value."""
    redactor.replaced.clear()
    shown = redactor(text)
    if left_of(shown, value) or fingerprint(KEY, value) not in redactor.replaced:
        return f"{text} has {value}: {[secret.value for secret in redactor.find(text)]}"
    return ""


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("syntax", SYNTAXES)
def test_every_sign_in_every_syntax(syntax: str, mode: str) -> None:
    lines = [(value, written(syntax, value)) for sign in SIGNS for value in values(sign)]
    found = [check(MODES[mode], form(line), value) for value, line in lines if line for form in FORMS.values()]
    assert len(found) > 50
    assert not any(found), [wrong for wrong in found if wrong]


@pytest.mark.parametrize("mode", ["on, own rules", "strict"])
@pytest.mark.parametrize("syntax", [syntax for syntax, (_, line) in SYNTAXES.items() if line.isascii()])
def test_every_sign_in_base64(syntax: str, mode: str) -> None:
    wrong = []
    for sign in SIGNS:
        for value in values(sign):
            if line := written(syntax, value):
                encoded = base64.b64encode(line.encode()).decode()
                wrong.append(check(MODES[mode], f"data: {encoded}", value))
    assert not any(wrong), [one for one in wrong if one]


@pytest.mark.parametrize("syntax", SYNTAXES)
def test_nothing_is_left_in_scrubbed_lines(syntax: str) -> None:
    """Lines of transcripts keep their length and stay JSON."""
    for sign in SIGNS:
        value = values(sign)[0]
        if line := written(syntax, value):
            for name in ("in a transcript", "in JSON in a transcript"):
                data = FORMS[name](line).encode()
                masked = Masker(Detector(None).find, KEY).data(data)
                assert masked.secrets == {fingerprint(KEY, value)}
                assert len(masked.data) == len(data)
                assert not left_of(str(json.loads(masked.data)), value)


KEY_SYNTAXES: dict[str, tuple[Write, str]] = {
    "Django": (_single, "SECRET_KEY = '{}'"),
    "JSON": (_json, '{"client_secret": "{}", "x": 1}'),
    "Python": (_double, 'connect(api_key="{}", port=1)'),
    "YAML": (_single, "auth:\n  token: '{}'\n"),
    ".env": (_without(" '\"\\`"), "A=1\nSESSION_SECRET={}\nB=2"),
    "an item": (_double, 'app.config["SECRET_KEY"] = "{}"'),
}
DJANGO = "abcdefghijklmnopqrstuvwxyz0123456789!@#$%^&*(-_=+)"  # of which its keys are made


@pytest.mark.parametrize("syntax", KEY_SYNTAXES)
def test_keys_of_any_characters(syntax: str) -> None:
    rng = random.Random(7)
    write, line = KEY_SYNTAXES[syntax]
    for _ in range(60):
        value = "".join(rng.choices(DJANGO, k=50))
        for form in FORMS.values():
            assert check(MODES["on, own rules"], form(line.replace("{}", write(value))), value) == ""


def test_a_key_of_laravel_has_its_prefix() -> None:
    value = "base64:" + base64.b64encode(bytes(range(3, 250, 8))).decode()
    for line in (f"APP_KEY={value}", f'APP_KEY="{value}"', f"'key' => env('APP_KEY', '{value}')"):
        assert check(MODES["on"], line, value) == "" or "env(" in line


@settings(max_examples=400)
@given(st.data())
def test_passwords_with_several_signs(data: st.DataObject) -> None:
    """Behind a quote and before the closing one there is nothing that a password may not have."""
    syntax = data.draw(
        st.sampled_from([name for name, (write, _) in SYNTAXES.items() if write in (_json, _double, _single)])
    )
    part = st.sampled_from(("aB3dE5", "gH7jK9", "mN1pQ2", "7rS4tU", "vW8xY0", "zA6bC3"))
    sign = st.sampled_from("$&()[]{}<>|,;:!@#^*~?+=.-_")
    value = "".join(data.draw(st.tuples(part, sign, part, sign, part)))
    form = FORMS[data.draw(st.sampled_from(list(FORMS)))]
    assert check(MODES["on, own rules"], form(written(syntax, value)), value) == ""
