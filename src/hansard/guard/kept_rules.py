"""A rule set that others keep: the 488 rules of Betterleaks and Veles, compiled by Kingfisher (extra `secrets`).

Nothing is ever sent anywhere: Kingfisher can ask providers whether a secret is valid, and that is not used.
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kingfisher_sdk import Scanner

    from hansard.guard.rules import Confidence

PACKAGE = "kingfisher-secret-scanner"
# Ids and names that are public or useless by themselves, and rules that take the whole address, command or file for the secret
# where a rule of ours takes only the secret.
_LEFT_OUT = re.compile(
    r"(?:-(?:client|access|api)-id|-pub(?:lic)?-(?:api-)?key|-project-api-key|-browser-api-token"
    r"|^curl-auth-user|^gcp-service-account|^generic-credential-uri|^mongodb-connection-string|^slack-webhook-url|^kubernetes-secret-yaml)$"
)
_EDGES = b" \t\r\n\"'`;,\\"
# A kept rule expects a quote, space or line end after a token; in prose and code there is other punctuation.
_PUNCTUATION = bytes.maketrans(b",)(]}[{<>|*!?&\\;", b" " * 16)


class KeptSecret(NamedTuple):
    """A secret that a kept rule found in a text."""

    rule: str
    confidence: Confidence
    start: int
    end: int


class KeptRules:
    """The compiled rules; one for each process."""

    def __init__(self, scanner: Scanner) -> None:
        self._scan = scanner.scan

    def find(self, text: str) -> Iterator[KeptSecret]:
        """Secrets in a text, some of them more than once."""
        data = text.encode("utf-8", "surrogatepass")
        findings = self._scan(data)
        spaced = data.translate(_PUNCTUATION)
        if spaced != data:
            findings += self._scan(spaced)
        for finding in findings:
            if not finding.visible:
                continue
            rule = finding.rule_id.partition(".")[2].removesuffix(".1").removesuffix(".2").removeprefix("secrets/")
            if _LEFT_OUT.search(rule):
                continue
            place = finding.location
            start, end = place["start_offset"], place["end_offset"]
            found = data[start:end]
            start += len(found) - len(found.lstrip(_EDGES))
            end -= len(found) - len(found.rstrip(_EDGES))
            if len(data) != len(text):
                end = len(data[:end].decode("utf-8", "surrogatepass"))
                start = len(data[:start].decode("utf-8", "surrogatepass"))
            if start < end:
                yield KeptSecret(rule, "high" if finding.confidence == "high" else "medium", start, end)


@cache
def kept_version() -> str | None:
    """The version of Kingfisher that is installed, or None; read from its metadata, which takes longer than a scan of one line."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(PACKAGE)
    except PackageNotFoundError:
        return None


@cache
def load_kept_rules() -> KeptRules | None:
    """The kept rules, or None if the extra is not installed.

    Compiling them takes three seconds; Kingfisher keeps the result in the user's cache directory (or `KF_RULE_CACHE_DIR`),
    from where they load in a third of one.
    """
    try:
        import kingfisher_sdk
    except ImportError:
        return None
    return KeptRules(kingfisher_sdk.Scanner(kingfisher_sdk.Rules(), base64=False))
