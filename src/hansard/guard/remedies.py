"""The name of each kind of secret, and the provider's page to replace it."""

from __future__ import annotations

_PAGES = {
    # the beginning of a rule's name: the provider, and its page
    "1password": ("1Password", "https://my.1password.com/developer-tools/active"),
    "airtable": ("Airtable", "https://airtable.com/create/tokens"),
    "algolia": ("Algolia", "https://dashboard.algolia.com/account/api-keys"),
    "anthropic": ("Anthropic", "https://console.anthropic.com/settings/keys"),
    "asana": ("Asana", "https://app.asana.com/0/my-apps"),
    "atlassian": ("Atlassian", "https://id.atlassian.com/manage-profile/security/api-tokens"),
    "auth0": ("Auth0", "https://manage.auth0.com"),
    "aws": ("AWS", "https://console.aws.amazon.com/iam/home#/security_credentials"),
    "azure": ("Azure", "https://portal.azure.com"),
    "bitbucket": ("Bitbucket", "https://bitbucket.org/account/settings/app-passwords"),
    "brave": ("Brave", "https://api-dashboard.search.brave.com/app/keys"),
    "buildkite": ("Buildkite", "https://buildkite.com/user/api-access-tokens"),
    "circleci": ("CircleCI", "https://app.circleci.com/settings/user/tokens"),
    "clojars": ("Clojars", "https://clojars.org/tokens"),
    "cloudflare": ("Cloudflare", "https://dash.cloudflare.com/profile/api-tokens"),
    "codecov": ("Codecov", "https://app.codecov.io/account"),
    "cohere": ("Cohere", "https://dashboard.cohere.com/api-keys"),
    "crates": ("crates.io", "https://crates.io/settings/tokens"),
    "cursor": ("Cursor", "https://cursor.com/dashboard"),
    "databricks": ("Databricks", "https://accounts.cloud.databricks.com"),
    "datadog": ("Datadog", "https://app.datadoghq.com/organization-settings/api-keys"),
    "deepseek": ("DeepSeek", "https://platform.deepseek.com/api_keys"),
    "digitalocean": ("DigitalOcean", "https://cloud.digitalocean.com/account/api/tokens"),
    "discord": ("Discord", "https://discord.com/developers/applications"),
    "docker": ("Docker", "https://app.docker.com/settings/personal-access-tokens"),
    "doppler": ("Doppler", "https://dashboard.doppler.com"),
    "dropbox": ("Dropbox", "https://www.dropbox.com/developers/apps"),
    "elevenlabs": ("ElevenLabs", "https://elevenlabs.io/app/settings/api-keys"),
    "fastly": ("Fastly", "https://manage.fastly.com/account/personal/tokens"),
    "figma": ("Figma", "https://www.figma.com/settings"),
    "flyio": ("Fly.io", "https://fly.io/user/personal_access_tokens"),
    "gcp": ("Google Cloud", "https://console.cloud.google.com/apis/credentials"),
    "github": ("GitHub", "https://github.com/settings/tokens"),
    "gitlab": ("GitLab", "https://gitlab.com/-/user_settings/personal_access_tokens"),
    "google": ("Google", "https://console.cloud.google.com/apis/credentials"),
    "grafana": ("Grafana", "https://grafana.com/orgs"),
    "groq": ("Groq", "https://console.groq.com/keys"),
    "heroku": ("Heroku", "https://dashboard.heroku.com/account/applications"),
    "hubspot": ("HubSpot", "https://app.hubspot.com/private-apps"),
    "huggingface": ("Hugging Face", "https://huggingface.co/settings/tokens"),
    "langchain": ("LangSmith", "https://smith.langchain.com/settings"),
    "linear": ("Linear", "https://linear.app/settings/account/security"),
    "mailchimp": ("Mailchimp", "https://admin.mailchimp.com/account/api"),
    "mailgun": ("Mailgun", "https://app.mailgun.com/settings/api_security"),
    "mistral": ("Mistral", "https://console.mistral.ai/api-keys"),
    "netlify": ("Netlify", "https://app.netlify.com/user/applications"),
    "new-relic": ("New Relic", "https://one.newrelic.com/admin-portal/api-keys/home"),
    "notion": ("Notion", "https://www.notion.so/profile/integrations"),
    "npm": ("npm", "https://www.npmjs.com/settings/~/tokens"),
    "okta": ("Okta", "https://login.okta.com"),
    "openai": ("OpenAI", "https://platform.openai.com/api-keys"),
    "openrouter": ("OpenRouter", "https://openrouter.ai/settings/keys"),
    "perplexity": ("Perplexity", "https://www.perplexity.ai/account/api/keys"),
    "planetscale": ("PlanetScale", "https://app.planetscale.com"),
    "postman": ("Postman", "https://go.postman.co/settings/me/api-keys"),
    "pulumi": ("Pulumi", "https://app.pulumi.com/account/tokens"),
    "pypi": ("PyPI", "https://pypi.org/manage/account/token/"),
    "render": ("Render", "https://dashboard.render.com/u/settings#api-keys"),
    "replicate": ("Replicate", "https://replicate.com/account/api-tokens"),
    "rubygems": ("RubyGems", "https://rubygems.org/profile/api_keys"),
    "sendgrid": ("SendGrid", "https://app.sendgrid.com/settings/api_keys"),
    "sentry": ("Sentry", "https://sentry.io/settings/account/api/auth-tokens/"),
    "shopify": ("Shopify", "https://partners.shopify.com"),
    "slack": ("Slack", "https://api.slack.com/apps"),
    "snyk": ("Snyk", "https://app.snyk.io/account"),
    "sonar": ("SonarQube Cloud", "https://sonarcloud.io/account/security"),
    "square": ("Square", "https://developer.squareup.com/apps"),
    "stripe": ("Stripe", "https://dashboard.stripe.com/apikeys"),
    "supabase": ("Supabase", "https://supabase.com/dashboard/account/tokens"),
    "tailscale": ("Tailscale", "https://login.tailscale.com/admin/settings/keys"),
    "telegram": ("Telegram", "https://t.me/BotFather"),
    "hashicorp-tf": ("Terraform", "https://app.terraform.io/app/settings/tokens"),
    "twilio": ("Twilio", "https://console.twilio.com/us1/account/keys-credentials/api-keys"),
    "vault": ("Vault", "https://developer.hashicorp.com/vault/docs/commands/token/revoke"),
    "vercel": ("Vercel", "https://vercel.com/account/settings/tokens"),
    "xai": ("xAI", "https://console.x.ai"),
}
_WORDS = {
    "api": "API", "jwt": "JWT", "pat": "PAT", "id": "ID", "url": "URL", "uri": "URI", "sql": "SQL", "oauth": "OAuth", "ca": "CA",
    "ci": "CI", "cicd": "CI/CD", "sdk": "SDK", "age": "age", "netrc": "netrc",
}  # fmt: skip
_ADVICE = {
    "private-key": "Make a new key pair, replace the public key wherever this one is trusted, and remove the old one.",
    "jwt": "End the session that it belongs to; if the token never expires, replace the key that signed it.",
    "url-password": "Change the password in the database or service that the address names.",
    "password": "Change the password where it is used.",
    "command-password": "Change the password where it is used; pass it by a file or a variable instead of an argument.",
    "sql-password": "Change the password of the database role.",
    "netrc": "Change the password of the machine that the line names.",
    "authorization-header": "Revoke the token where it was issued.",
    "session-cookie": "Log out everywhere in the service that set the cookie.",
    "age-key": "Make a new identity, and encrypt again what was encrypted for this one.",
}
_DEFAULT = "Find out which service issued it, and replace it there."


def rule_title(rule: str) -> str:
    """The name of a rule in words: GitHub PAT."""
    provider, rest = _split(rule)
    words = [_WORDS.get(word, word) for word in rest.split("-") if word]
    title = " ".join([*([provider] if provider else []), *words])
    return title[:1].upper() + title[1:] if not provider else title


def how_to_replace(rule: str) -> tuple[str, str]:
    """Advice about a secret, and the provider's page for it, or an empty string."""
    for name, (provider, page) in _PAGES.items():
        if rule == name or rule.startswith(f"{name}-"):
            return f"Revoke it at {provider}, make a new one, and put that where it is used.", page
    return _ADVICE.get(rule, _DEFAULT), ""


def _split(rule: str) -> tuple[str, str]:
    for name, (provider, _) in _PAGES.items():
        if rule == name or rule.startswith(f"{name}-"):
            return provider, rule[len(name) :]
    return "", rule
