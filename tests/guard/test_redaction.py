"""Secrets are found by named rules and never left in a text; what only looks like one stays."""

from __future__ import annotations

import base64
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hansard.guard.detection import Detector
from hansard.guard.redaction import Redactor, fingerprint
from hansard.guard.rules import RULES

redact = Redactor(Detector(None), b"key")
# Every token is put together here, so that no scanner takes this file for a leak.
LETTERS = "aB3dE5gH7jK9mN1pQ2rS4tU6vW8xY0zA"
LONG = LETTERS * 4
HEX = "0a1b2c3d4e5f60718293a4b5c6d7e8f9" * 2
KEY = "-----BEGIN {0}PRIVATE KEY-----\n" + f"MIIE{LONG}\n{LONG}\n" + "-----END {0}PRIVATE KEY-----"

SECRETS = [
    ("private-key", KEY.format("RSA "), "{}"),
    ("private-key", KEY.format("OPENSSH ").replace("\n", "\\n"), '"key": "{}"'),
    ("private-key", KEY.format("").partition("-----END")[0].strip(), "{}"),
    ("anthropic-key", "sk-ant-" + "api03-" + LETTERS, "export ANTHROPIC_API_KEY={}"),
    ("anthropic-key", "sk-ant-" + "oat01-" + LETTERS, "line one\\n{}"),
    ("openai-key", "sk-" + "proj-" + LETTERS + "_" + LETTERS, "{}"),
    ("openai-key", "sk-" + LETTERS + LETTERS[:16], "OPENAI={}"),
    ("openai-key", "sk-" + "or-v1-" + HEX, "{}"),
    ("github-token", "ghp" + "_" + LETTERS + "abcd", "https://{}@github.com/a/b"),
    ("github-token", "github" + "_pat_" + LETTERS, "{}"),
    ("gitlab-token", "glpat" + "-" + LETTERS, "{}"),
    ("aws-access-key", "AKIA" + "IOSFODNN7QWERTYU", "aws_access_key_id={}"),
    ("google-key", "AIza" + LETTERS + "abc", "key={}"),
    ("google-key", "ya29" + "." + LETTERS, "{}"),
    ("slack-token", "xoxb" + "-123456789012-" + LETTERS, "{}"),
    ("webhook-url", "T0A1B2C3D/B9Z8Y7X6W/" + LETTERS, "https://hooks.slack.com/services/{}"),
    ("telegram-token", "123456789" + ":AA" + LETTERS + "a", "{}"),
    ("discord-token", "MTA4NzY1NDMyMTA5ODc2NTQz" + ".GaBcDe." + LETTERS, "client.login('{}')"),
    ("crates-token", "cio" + LETTERS, "cargo login {}"),
    ("azure-client-secret", "aB3" + "8Q~" + LETTERS, "{}"),
    ("stripe-key", "sk" + "_live_" + LETTERS, "{}"),
    ("npm-token", "npm" + "_" + LETTERS + "abcd", "//registry.npmjs.org/:_authToken={}"),
    ("pypi-token", "pypi" + "-AgEIcHlwaS5vcmc" + LONG, "{}"),
    ("huggingface-token", "hf" + "_" + LETTERS, "{}"),
    ("sendgrid-key", "SG" + "." + LETTERS[:22] + "." + LETTERS + LETTERS[:11], "{}"),
    ("twilio-key", "SK" + HEX[:32], "{}"),
    ("docker-token", "dckr" + "_pat_" + LETTERS, "{}"),
    ("vault-token", "hvs" + "." + LETTERS, "{}"),
    ("digitalocean-token", "dop" + "_v1_" + HEX, "{}"),
    ("databricks-token", "dapi" + HEX[:32], "{}"),
    ("azure-key", LONG + "==", "AccountName=x;AccountKey={};EndpointSuffix=y"),
    ("age-key", "AGE-SECRET-KEY-1" + LETTERS.upper() * 2, "{}"),
    ("service-token", "gsk" + "_" + LETTERS * 2, "{}"),
    ("jwt", "eyJ" + "hbGciOiJIUzI1NiJ9.eyJ" + "zdWIiOiIxMjM0In0." + LETTERS, "token {}"),
    ("url-password", "s3cr3t!pass", "postgres://admin:{}@db.example.com:5432/app"),
    ("url-password", "hunter2", "redis://:{}@localhost"),
    ("authorization-header", LETTERS, "Authorization: Bearer {}"),
    ("authorization-header", "dXNlcjpwYXNz" + "dzEyMw==", '"authorization": "Basic {}"'),
    ("authorization-header", LETTERS, "curl -H 'X: bearer {}'"),
    ("session-cookie", LETTERS, "Cookie: lang=en; sid={}; theme=dark"),
    ("command-password", "tr0ub4dor", "sshpass -p {} ssh host"),
    ("command-password", "tr0ub4dor", "mysql -u root -p{} shop"),
    ("sql-password", "tr0ub4dor", "ALTER USER app WITH PASSWORD '{}'"),
    ("netrc", "tr0ub4dor", "machine example.com login me password {}"),
    ("piped-password", "tr0ub4dor", "echo {} | sudo -S ls"),
    ("pgpass", "tr0ub4dor", "db.internal:5432:shop:app:{}"),
    ("password-element", "tr0ub4dor", "<password>{}</password>"),
    ("password-attribute", "tr0ub4dor", '<input type="password" value="{}">'),
    ("password-argument", "tr0ub4dor", 'source.setPassword("{}")'),
    ("password", "hunter2", "password={}"),
    ("password", "Tr0ub4dor&3"[:9], 'DB_PASSWORD: "{}"'),
    ("password", "p4ssw0rd-x", '{{\\"password\\": \\"{}\\"}}'),
    ("password", "correct-horse-battery", "PGPASSWORD={} psql"),
    ("password", "swordfish9", "mysql --password {}"),
    ("api-key", LETTERS, "api_key = '{}'"),
    ("api-key", LETTERS + "/+", "aws_secret_access_key={}"),
    ("api-key", HEX, '"client_secret": "{}"'),
    ("api-key", LETTERS, "MY_TOKEN={}"),
]  # fmt: skip

HARMLESS = [
    "commit 214bc2e0a9b8c7d6e5f40312233445566778899a",
    "max_tokens: 4000, output_tokens=123456789012345678",
    "password: string",
    "password = get_password(user)",
    "password=os.environ['PASSWORD']",
    "password=${DB_PASSWORD}",
    "password: <your password>",
    "password=********",
    "password = self.password",
    "token = tokenizer.encode_plus2(text_for_the_model)",
    "const token: CancellationTokenSource = x",
    "secret=None",
    "task-0123456789abcdefghijklmnop",
    "https://example.com:8080/path@2x.png",
    "git@github.com:owner/repository.git",
    "postgres://user:${PASSWORD}@host/db",
    "the bearer of this letter, bearer authentication and so on",
    "-----BEGIN PRIVATE KEY----- is how such a file begins, and -----BEGIN CERTIFICATE----- how others do.",
    "AKIA is a prefix of access keys",
    "uuid 123e4567-e89b-12d3-a456-426614174000",
    "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    "sk-learn and sk-image",
    '"PWD": "/home/mira/src/tide", OLDPWD=/home/mira/src',
    "JWT_SECRET=e2e-test-secret-ci-only and idToken: 'mock-web3auth-token'",
    "encryptionKey: Uint8Array, client_secret: env.AUTH0_CLIENT_SECRET",
    'readonly PASSWORD: "passwordFactor"; `PASSWORD`: enable=true',
    "POSTGRES_PASSWORD: ${DB_PASSWORD:-postgres}",
    "postgres://user:password@localhost:5432/app and redis://:secret@cache",
    "1. `pwd`：显示当前目录的完整路径。",  # noqa: RUF001 - as documents write it
    "AKIA" + "IOSFODNN7EXAMPLE",
    "the eyJ of a token",
    'password: "Enter a password of at least 8 characters"',
    "placeholder='password' label=\"Password:\", type='text9'",
    'input("Password: ", hide_input=True, default="x1")',
    "url = base + '?password=' + quote(word1) + '&user=' + name2",
    'f"password={config.values[0]} user={name}"',
    "password: z.string().min(8).max(64),",
    "password=process.env.DB_PASSWORD1 || config.get('x1')",
    "password: Optional[str] = Field(default=None, min_length=8)",
    'password="$(cat /run/secrets/db1)" PGPASSWORD="${PG_PASS1:-none}"',
    "passwords = re.findall(r'password=[\"\\']([^\"\\']{8,64})[\"\\']', text1)",
    '<input type="password" placeholder="8 characters" value="{{ form.value1 }}">',
    "<password>${env.NEXUS_PASSWORD1}</password>",
    'source.setPassword(readPassword("db1")); setPassword("changeme1")',
    "page.locator('input[name=password]').fill(password1)",
    'auth=("user", os.environ["PASSWORD1"])',
    "echo $SUDO_PASSWORD1 | sudo -S ls",
    "127.0.0.1:5432:5432 and db:5432:shop:app",
    "Passwort: vergessen? Mot de passe : 8 caractères au moins",
    "secret: 'arn:aws:secretsmanager:eu-west-1:210987654321:secret:shop-db-Ab12Cd'",
    "x={number:!0,password:!0,range:!0,search:!0,week:!0};function or(e){}",
    "if (password=null,list.at(-1)!=r.passwordVerification2)",
    "",
]


@pytest.mark.parametrize(("rule", "secret", "around"), SECRETS)
def test_a_secret_is_redacted_by_its_rule(rule: str, secret: str, around: str) -> None:
    text = f"before {around.format(secret)} after"
    shown = redact(text)
    assert secret not in shown
    assert re.search(rf"\[{rule}:[0-9a-f]{{4}}\]", shown), shown
    assert shown.startswith("before ")
    assert shown.endswith(" after")
    assert redact(shown) == shown


@pytest.mark.parametrize("text", HARMLESS)
def test_what_only_looks_like_a_secret_stays(text: str) -> None:
    assert redact(text) == text


def test_every_rule_has_an_example_and_a_name_of_its_own() -> None:
    assert {rule for rule, _, _ in SECRETS} == {rule.name for rule in RULES}
    assert len({rule.name for rule in RULES}) == len(RULES)
    assert all(re.fullmatch(r"[a-z]+(-[a-z]+)*", rule.name) for rule in RULES)
    assert all(word == word.lower() for rule in RULES for word in rule.words)


def test_overlapping_rules_redact_once() -> None:
    token = "ghp" + "_" + LETTERS + "abcd"
    assert redact(f"GITHUB_TOKEN={token}") == f"GITHUB_TOKEN=[github-token:{fingerprint(b'key', token)[:4]}]"
    assert [secret.rule for secret in redact.find(f"password={token} {token}")] == ["github-token"] * 2


@given(
    st.text(max_size=300), st.sampled_from([(secret, around) for _, secret, around in SECRETS]), st.text(max_size=300)
)
def test_no_neighbour_hides_a_secret_whose_beginning_is_known(before: str, one: tuple[str, str], after: str) -> None:
    secret, around = one
    assert secret not in redact(f"{before}\n{around.format(secret)}\n{after}")


@given(st.text())
def test_redaction_is_stable(text: str) -> None:
    once = redact(text)
    assert redact(once) == once


TOKEN = "ghp" + "_" + LETTERS + "abcd"


def test_the_same_secret_has_the_same_placeholder_in_every_encoding_but_not_with_another_key() -> None:
    shown = redact(TOKEN)
    encoded = base64.b64encode(f"see {TOKEN}".encode()).decode()
    assert redact(f"TOKEN={TOKEN}") == f"TOKEN={shown}"
    assert shown in redact(encoded)
    assert shown in redact(f"x%20{TOKEN.replace('_', '%5F')}")
    assert Redactor(Detector(None), b"other")(TOKEN) != shown


def test_a_key_has_one_fingerprint_however_its_lines_are_broken() -> None:
    key = KEY.format("RSA ")
    forms = (key, key.replace("\n", "\\n"), key.replace("\n", "\r\n"), key.replace("\n", "\\\\n"))
    assert len({fingerprint(b"key", secret.value) for form in forms for secret in redact.find(form)}) == 1


def test_false_alarms_stay_and_known_secrets_go_wherever_they_are() -> None:
    one = fingerprint(b"key", TOKEN)
    allowing = Redactor(Detector(None), b"key", ignored={one})
    assert allowing(TOKEN) == TOKEN
    knowing = Redactor(Detector(None), b"key", known=[("password", "Tr0ub4dor"), ("password", "Tr0ub4dor-3")])
    assert (
        knowing("it printed Tr0ub4dor-3, see") == f"it printed [password:{fingerprint(b'key', 'Tr0ub4dor-3')[:4]}], see"
    )
    assert len(knowing.replaced) == 1


def test_strict_redacts_what_is_only_random_but_no_hashes_and_ids() -> None:
    strict = Redactor(Detector(None), b"key", strict=True)
    assert strict(f"{LETTERS} there") != f"{LETTERS} there"
    assert redact(f"{LETTERS} there") == f"{LETTERS} there"
    assert strict("pin=4711") != "pin=4711"
    for text in HARMLESS[:2]:
        assert strict(text) == text
    for harmless in ("123e4567-e89b-12d3-a456-426614174000", HEX, HEX[:40], "src/hansard/guard/redaction.py:120"):
        assert strict(f"see {harmless} now") == f"see {harmless} now"


def test_secrets_are_counted_once_however_often_they_come() -> None:
    counting = Redactor(Detector(None), b"key")
    for text in (TOKEN, TOKEN, "nothing here", f"{TOKEN} and {TOKEN} " + "x " * 200):
        counting(text)
    assert counting.replaced == {fingerprint(b"key", TOKEN)}
    counting.replaced.clear()
    counting(TOKEN)  # from the cache
    assert len(counting.replaced) == 1
