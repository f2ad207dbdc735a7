"""Invented secrets of many kinds, with the checksums and inner structure that real ones have, each with how people write it.

Nothing here was ever valid. Values are made from a seed, so a test can plant hundreds and know every one of them.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import random
import string
import zlib
from collections.abc import Callable, Iterator
from typing import NamedTuple

_LETTERS = string.ascii_letters
_BASE62 = string.digits + string.ascii_uppercase + string.ascii_lowercase
_ALNUM = string.ascii_letters + string.digits
_URL_SAFE = _ALNUM + "-_"
_HEX = "0123456789abcdef"
_BASE32 = string.ascii_uppercase + "234567"


class Planted(NamedTuple):
    """A secret: its kind, its value, and a line in which people write it."""

    kind: str
    value: str
    line: str


class Kind(NamedTuple):
    """How secrets of a kind are made, and how they are written: `{}` is the value."""

    name: str
    make: Callable[[random.Random], str]
    lines: tuple[str, ...]


def _some(rng: random.Random, alphabet: str, length: int) -> str:
    """Random characters, of more than one class as random tokens practically always are."""
    classes = len({character.isdigit() for character in alphabet})
    while True:
        text = "".join(rng.choices(alphabet, k=length))
        if length < 8 or len({character.isdigit() for character in text}) == classes:
            return text


def _base62(number: int, width: int) -> str:
    digits = ""
    while number:
        number, digit = divmod(number, 62)
        digits = _BASE62[digit] + digits
    return digits.rjust(width, "0")


def _with_crc(prefix: str, body: str) -> str:
    return f"{prefix}{body}{_base62(zlib.crc32(body.encode()), 6)}"


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode()


def _url_safe(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


def _uuid(rng: random.Random) -> str:
    text = _some(rng, _HEX, 32)
    return f"{text[:8]}-{text[8:12]}-4{text[13:16]}-a{text[17:20]}-{text[20:]}"


def _jwt(rng: random.Random) -> str:
    head = _url_safe(b'{"alg":"HS256","typ":"JWT"}')
    claims = {
        "sub": _some(rng, string.digits, 10),
        "iss": "auth.internal",
        "iat": 1_780_000_000 + rng.randrange(10_000),
    }
    body = _url_safe(json.dumps(claims, separators=(",", ":")).encode())
    sign = hmac.new(rng.randbytes(32), f"{head}.{body}".encode(), hashlib.sha256).digest()
    return f"{head}.{body}.{_url_safe(sign)}"


def _pem(rng: random.Random, label: str, size: int) -> str:
    text = _base64(b"\x30\x82" + rng.randbytes(size))
    body = "\n".join(text[at : at + 64] for at in range(0, len(text), 64))
    return f"-----BEGIN {label}PRIVATE KEY-----\n{body}\n-----END {label}PRIVATE KEY-----"


def _openssh(rng: random.Random) -> str:
    text = _base64(b"openssh-key-v1\0\0\0\0\4none\0\0\0\4none" + rng.randbytes(260))
    body = "\n".join(text[at : at + 70] for at in range(0, len(text), 70))
    return f"-----BEGIN OPENSSH PRIVATE KEY-----\n{body}\n-----END OPENSSH PRIVATE KEY-----"


def _pypi(rng: random.Random) -> str:
    identity = json.dumps({"version": 1, "permissions": "user", "id": _uuid(rng)}).encode()
    macaroon = b"\x02\x01\x08pypi.org\x02" + bytes([len(identity) % 128]) + identity + b"\0\0\x06 " + rng.randbytes(32)
    return "pypi-" + _url_safe(macaroon)


def _sentry(rng: random.Random) -> str:
    head = json.dumps(
        {
            "iat": 1_780_000_000.5 + rng.randrange(9_999),
            "url": "https://sentry.io",
            "region_url": "https://us.sentry.io",
            "org": "acme",
        },
        separators=(",", ":"),
    )
    return f"sntrys_{_base64(head.encode())}_{_base64(rng.randbytes(32)).rstrip('=')}"


def _atlassian(rng: random.Random) -> str:
    body = "ATATT3xFfGF0" + _some(rng, _URL_SAFE, 171)
    return f"{body}={zlib.crc32(body.encode()):08X}"


def _grafana(rng: random.Random) -> str:
    body = _some(rng, _ALNUM, 32)
    return f"glsa_{body}_{zlib.crc32(('glsa_' + body).encode()):08x}"


def _grafana_cloud(rng: random.Random) -> str:
    head = json.dumps(
        {"o": str(rng.randrange(10**6)), "n": "ci", "k": _some(rng, _ALNUM, 24), "m": {"r": "us"}},
        separators=(",", ":"),
    )
    return "glc_" + _base64(head.encode())


def _discord_bot(rng: random.Random) -> str:
    head = _url_safe(str(rng.randrange(10**17, 10**18)).encode())
    return f"{head}.G{_some(rng, _URL_SAFE, 5)}.{_some(rng, _URL_SAFE, 38)}"


def _aws_key(rng: random.Random) -> str:
    # The account number is in bits 2 to 41 of the ten bytes that follow the prefix.
    return "AKIA" + base64.b32encode(bytes([0b1010_1010]) + rng.randbytes(9)).decode()


def _service_account(rng: random.Random) -> str:
    return _pem(rng, "", 1_190)


def _slack_hook(rng: random.Random) -> str:
    return f"T{_some(rng, string.ascii_uppercase + string.digits, 10)}/B{_some(rng, string.ascii_uppercase + string.digits, 10)}/{_some(rng, _ALNUM, 24)}"


def _of(template: str, alphabet: str, *lengths: int) -> Callable[[random.Random], str]:
    """A maker of values: each `*` of the template becomes so many random characters."""

    def make(rng: random.Random) -> str:
        value = template
        for length in lengths:
            value = value.replace("*", _some(rng, alphabet, length), 1)
        return value

    return make


def _password(rng: random.Random) -> str:
    return (
        rng.choice(("Brisk", "Copper", "Velvet", "Orbit"))
        + _some(rng, _ALNUM, 9)
        + rng.choice("!_-.")
        + _some(rng, string.digits, 3)
    )


_ENV = ("{name}={}", 'export {name}="{}"', "{name}: {}", "const key = '{}';")


def _env(name: str) -> tuple[str, ...]:
    return tuple(line.replace("{name}", name) for line in _ENV)


KINDS = (
    # Source code and packages
    Kind("github-pat", lambda rng: _with_crc("ghp_", _some(rng, _ALNUM, 30)), _env("GITHUB_TOKEN")),
    Kind("github-oauth", lambda rng: _with_crc("gho_", _some(rng, _ALNUM, 30)), _env("GH_TOKEN")),
    Kind("github-app", lambda rng: _with_crc("ghs_", _some(rng, _ALNUM, 30)), ("git clone https://x-access-token:{}@github.com/acme/shop.git", "token: {}")),
    Kind("github-refresh", lambda rng: _with_crc("ghr_", _some(rng, _ALNUM, 30)), _env("GH_REFRESH")),
    Kind("github-fine-grained", lambda rng: f"github_pat_{_some(rng, _ALNUM, 22)}_" + _with_crc("", _some(rng, _ALNUM, 53)), _env("GITHUB_PAT")),
    Kind("gitlab-pat", _of("glpat-*", _URL_SAFE, 20), _env("GITLAB_TOKEN")),
    Kind("gitlab-pipeline", _of("glptt-*", _HEX, 40), _env("TRIGGER_TOKEN")),
    Kind("gitlab-runner", _of("glrt-*", _URL_SAFE, 20), ("gitlab-runner register --token {} --url https://gitlab.internal", 'token = "{}"')),
    Kind("npm", lambda rng: _with_crc("npm_", _some(rng, _ALNUM, 30)), ("//registry.npmjs.org/:_authToken={}", "NPM_TOKEN={}")),
    Kind("pypi", _pypi, ("password = {}", "TWINE_PASSWORD={}")),
    Kind("rubygems", _of("rubygems_*", _HEX, 48), _env("GEM_HOST_API_KEY")),
    Kind("crates-io", _of("cio*", _ALNUM, 32), ("CARGO_REGISTRIES_CRATES_IO_TOKEN={}", "cargo login {}")),
    Kind("clojars", _of("CLOJARS_*", _HEX, 60), _env("CLOJARS_PASSWORD")),
    Kind("docker-pat", _of("dckr_pat_*", _URL_SAFE, 27), ("docker login -u acme -p {}", "DOCKER_TOKEN={}")),
    Kind("atlassian", _atlassian, _env("JIRA_API_TOKEN")),
    Kind("postman", lambda rng: f"PMAK-{_some(rng, _HEX, 24)}-{_some(rng, _HEX, 34)}", _env("POSTMAN_KEY")),
    Kind("sonar", _of("sqp_*", _HEX, 40), ("sonar-scanner -Dsonar.token={}", "SONAR_TOKEN={}")),
    Kind("sentry-org", _sentry, _env("SENTRY_AUTH_TOKEN")),
    Kind("linear", _of("lin_api_*", _ALNUM, 40), _env("LINEAR_API_KEY")),
    Kind("notion", lambda rng: f"ntn_{_some(rng, string.digits, 11)}{_some(rng, _ALNUM, 35)}", _env("NOTION_TOKEN")),
    Kind("figma", _of("figd_*", _URL_SAFE, 40), _env("FIGMA_TOKEN")),
    # Models
    Kind("anthropic", lambda rng: f"sk-ant-api03-{_some(rng, _URL_SAFE, 93)}AA", _env("ANTHROPIC_API_KEY")),
    Kind("anthropic-admin", lambda rng: f"sk-ant-admin01-{_some(rng, _URL_SAFE, 93)}AA", _env("ANTHROPIC_ADMIN_KEY")),
    Kind("anthropic-oauth", lambda rng: f"sk-ant-oat01-{_some(rng, _URL_SAFE, 93)}AA", ("CLAUDE_CODE_OAUTH_TOKEN={}", '"accessToken":"{}"')),
    Kind("openai", lambda rng: f"sk-proj-{_some(rng, _URL_SAFE, 74)}T3BlbkFJ{_some(rng, _URL_SAFE, 73)}A", _env("OPENAI_API_KEY")),
    Kind("openai-legacy", lambda rng: f"sk-{_some(rng, _ALNUM, 20)}T3BlbkFJ{_some(rng, _ALNUM, 20)}", _env("OPENAI_KEY")),
    Kind("openrouter", _of("sk-or-v1-*", _HEX, 64), _env("OPENROUTER_API_KEY")),
    Kind("groq", _of("gsk_*", _ALNUM, 52), _env("GROQ_API_KEY")),
    Kind("xai", _of("xai-*", _ALNUM, 80), _env("XAI_API_KEY")),
    Kind("perplexity", _of("pplx-*", _ALNUM, 48), _env("PPLX_API_KEY")),
    Kind("huggingface", _of("hf_*", _LETTERS, 34), _env("HF_TOKEN")),
    Kind("replicate", _of("r8_*", _ALNUM, 37), _env("REPLICATE_API_TOKEN")),
    # Clouds
    Kind("aws-access-key", _aws_key, _env("AWS_ACCESS_KEY_ID")),
    Kind("aws-secret", _of("*", _ALNUM + "+/", 40), ("AWS_SECRET_ACCESS_KEY={}", "aws_secret_access_key = {}")),
    Kind("google-key", _of("AIza*", _URL_SAFE, 35), ("https://maps.googleapis.com/maps/api/js?key={}", "GOOGLE_API_KEY={}")),
    Kind("google-oauth-secret", _of("GOCSPX-*", _URL_SAFE, 28), ('"client_secret":"{}"', "GOOGLE_CLIENT_SECRET={}")),
    Kind("google-access-token", _of("ya29.*", _URL_SAFE, 180), ("Authorization: Bearer {}", "gcloud token: {}")),
    Kind("google-service-account", _service_account, ("{}",)),
    Kind("azure-storage", lambda rng: _base64(rng.randbytes(64)), ("DefaultEndpointsProtocol=https;AccountName=acme;AccountKey={};EndpointSuffix=core.windows.net",)),
    Kind("azure-client-secret", lambda rng: f"{_some(rng, _ALNUM, 3)}8Q~{_some(rng, _ALNUM + '_-', 34)}", ("AZURE_CLIENT_SECRET={}", 'client_secret: "{}"')),
    Kind("digitalocean", _of("dop_v1_*", _HEX, 64), _env("DIGITALOCEAN_TOKEN")),
    Kind("heroku", _of("HRKU-AA*", _URL_SAFE, 58), _env("HEROKU_API_KEY")),
    Kind("vault", _of("hvs.*", _URL_SAFE, 95), ("VAULT_TOKEN={}", "vault login {}")),
    Kind("terraform", lambda rng: f"{_some(rng, _ALNUM, 14)}.atlasv1.{_some(rng, _ALNUM, 67)}", ('token = "{}"', "TFE_TOKEN={}")),
    Kind("pulumi", _of("pul-*", _HEX, 40), _env("PULUMI_ACCESS_TOKEN")),
    Kind("doppler", _of("dp.pt.*", _ALNUM, 43), _env("DOPPLER_TOKEN")),
    Kind("fly-io", lambda rng: "FlyV1 fm2_" + _base64(rng.randbytes(180)), ('FLY_API_TOKEN="{}"',)),
    Kind("vercel", _of("vcp_*", _ALNUM, 56), _env("VERCEL_TOKEN")),
    Kind("planetscale", _of("pscale_tkn_*", _URL_SAFE, 43), _env("PLANETSCALE_SERVICE_TOKEN")),
    Kind("supabase", _of("sbp_*", _HEX, 40), _env("SUPABASE_ACCESS_TOKEN")),
    Kind("databricks", _of("dapi*", _HEX, 32), _env("DATABRICKS_TOKEN")),
    Kind("cloudflare", _of("*", _URL_SAFE, 40), ("CLOUDFLARE_API_TOKEN={}", 'cloudflare_token = "{}"')),
    Kind("cloudflare-origin-ca", lambda rng: f"v1.0-{_some(rng, _HEX, 24)}-{_some(rng, _HEX, 146)}", _env("CF_ORIGIN_CA")),
    Kind("tailscale", lambda rng: f"tskey-auth-k{_some(rng, _ALNUM, 11)}CNTRL-{_some(rng, _ALNUM, 32)}", ("tailscale up --authkey={}", "TS_AUTHKEY={}")),
    Kind("new-relic", _of("NRAK-*", string.ascii_uppercase + string.digits, 27), _env("NEW_RELIC_API_KEY")),
    Kind("datadog", _of("*", _HEX, 32), ("DATADOG_API_KEY={}", "datadog_api_key: {}")),
    Kind("grafana", _grafana, _env("GRAFANA_TOKEN")),
    Kind("grafana-cloud", _grafana_cloud, _env("GRAFANA_CLOUD_TOKEN")),
    # Money, mail and messages
    Kind("stripe", _of("sk_live_51*", _ALNUM, 97), _env("STRIPE_SECRET_KEY")),
    Kind("stripe-restricted", _of("rk_live_51*", _ALNUM, 97), _env("STRIPE_RESTRICTED_KEY")),
    Kind("stripe-webhook", _of("whsec_*", _ALNUM, 32), _env("STRIPE_WEBHOOK_SECRET")),
    Kind("square", _of("EAAA*", _URL_SAFE, 60), _env("SQUARE_ACCESS_TOKEN")),
    Kind("shopify", _of("shpat_*", _HEX, 32), _env("SHOPIFY_ADMIN_TOKEN")),
    Kind("slack-bot", lambda rng: f"xoxb-{_some(rng, string.digits, 12)}-{_some(rng, string.digits, 13)}-{_some(rng, _ALNUM, 24)}", _env("SLACK_BOT_TOKEN")),
    Kind("slack-user", lambda rng: f"xoxp-{_some(rng, string.digits, 12)}-{_some(rng, string.digits, 12)}-{_some(rng, string.digits, 13)}-{_some(rng, _HEX, 32)}", _env("SLACK_USER_TOKEN")),
    Kind("slack-app", lambda rng: f"xapp-1-A{_some(rng, string.ascii_uppercase + string.digits, 10)}-{_some(rng, string.digits, 13)}-{_some(rng, _HEX, 64)}", _env("SLACK_APP_TOKEN")),
    Kind("slack-webhook", _slack_hook, ("curl -X POST https://hooks.slack.com/services/{}", "SLACK_HOOK=https://hooks.slack.com/services/{}")),
    Kind("discord-webhook", lambda rng: f"{rng.randrange(10**18, 10**19)}/{_some(rng, _URL_SAFE, 68)}", ("https://discord.com/api/webhooks/{}",)),
    Kind("discord-bot", _discord_bot, ("DISCORD_TOKEN={}", "client.login('{}')")),
    Kind("telegram", lambda rng: f"{rng.randrange(10**9, 10**10)}:AA{_some(rng, _URL_SAFE, 33)}", ("TELEGRAM_BOT_TOKEN={}", "https://api.telegram.org/bot{}/getMe")),
    Kind("twilio", _of("SK*", _HEX, 32), _env("TWILIO_API_KEY")),
    Kind("sendgrid", lambda rng: f"SG.{_some(rng, _URL_SAFE, 22)}.{_some(rng, _URL_SAFE, 43)}", _env("SENDGRID_API_KEY")),
    Kind("mailgun", _of("key-*", _HEX, 32), ("MAILGUN_API_KEY={}", "curl -s --user 'api:{}' https://api.mailgun.net/v3/acme")),
    Kind("mailchimp", _of("*-us12", _HEX, 32), ("MAILCHIMP_API_KEY={}",)),
    # Keys, logins and addresses
    Kind("rsa-key", lambda rng: _pem(rng, "RSA ", 1_190), ("{}",)),
    Kind("ec-key", lambda rng: _pem(rng, "EC ", 119), ("{}",)),
    Kind("openssh-key", _openssh, ("{}",)),
    Kind("age-key", _of("AGE-SECRET-KEY-1*", "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L", 58), ("# created: 2026-11-01\n{}", "SOPS_AGE_KEY={}")),
    Kind("jwt", _jwt, ("Authorization: Bearer {}", "session_jwt={}")),
    Kind("1password", _of("ops_eyJ*", _ALNUM, 300), _env("OP_SERVICE_ACCOUNT_TOKEN")),
    Kind("postgres-url", _password, ("DATABASE_URL=postgres://app:{}@db.internal:5432/shop", "postgresql+asyncpg://app:{}@10.0.0.5/shop")),
    Kind("mysql-url", _password, ("mysql://root:{}@mysql.internal:3306/shop",)),
    Kind("mongodb-url", _password, ("MONGO_URL=mongodb+srv://app:{}@cluster0.ab1cd.mongodb.net/shop",)),
    Kind("redis-url", _password, ("REDIS_URL=redis://:{}@cache.internal:6379/0",)),
    Kind("amqp-url", _password, ("amqp://worker:{}@mq.internal:5672/%2f",)),
    Kind("password", _password, ("DB_PASSWORD={}", 'password: "{}"', '"password":"{}"', "mysql --password={} shop")),
    Kind("bearer", _of("*", _URL_SAFE, 43), ("Authorization: Bearer {}", "curl -H 'Authorization: Bearer {}' https://api.internal/v1")),
    Kind("basic-auth", lambda rng: _base64(f"deploy:{_password(rng)}".encode()), ("Authorization: Basic {}", '"Authorization": "Basic {}"')),
    Kind("netrc", _password, ("machine api.internal login deploy password {}",)),
    Kind("client-secret", _of("*", _ALNUM, 40), ('"client_secret": "{}"', "CLIENT_SECRET={}")),
    Kind("api-key", _of("*", _ALNUM, 32), ("API_KEY={}", "x-api-key: {}", "apiKey: '{}'")),
)  # fmt: skip
"""Every kind. The first eighty or so have a form of their own; the rest are known by what is written before them."""


def plant(seed: int, each: int = 1) -> Iterator[Planted]:
    """Secrets of every kind, `each` of every way in which they are written."""
    rng = random.Random(seed)
    for kind in KINDS:
        for line in kind.lines:
            for _ in range(each):
                value = kind.make(rng)
                yield Planted(kind.name, value, line.replace("{}", value))
