"""Secrets that were found: never the secrets themselves."""

from __future__ import annotations

from hansard.model.secrets import SecretPage, SecretReport
from hansard.model.store_requests import SecretRequest, SecretsRequest
from hansard.web.api.endpoint import Endpoint

ENDPOINTS = (
    Endpoint(
        "/api/secrets",
        "Secrets that were found in the history, open ones by default: their kinds, counts and first places",
        lambda call: call.h.secrets(call.request),
        SecretPage,
        SecretsRequest,
    ),
    Endpoint(
        "/api/secrets/{secret}",
        "Every place that holds a secret, and how to replace it",
        lambda call: call.h.secret(call.request),
        SecretReport,
        SecretRequest,
        "secret",
    ),
)
