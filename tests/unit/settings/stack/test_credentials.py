"""Credentials anywhere in a stack file, and encrypted values."""

import json
from base64 import b64encode, urlsafe_b64encode
from pathlib import Path
from typing import Any

import pytest
import yaml

from components.program import from_config
from preview.offline_config import offline
from settings.credentials import MASKED
from settings.load import SettingsError, load, parse
from tests.unit.settings.builders import FILE, put

PRIVATE_KEY = "-----BEGIN " + "PRIVATE KEY-----"
TOKEN = "gh" + "p_" + "a1" * 18
ENCRYPTED = {"secure": "v1:abc"}
PLAIN: dict[str, tuple[str, object, str]] = {
    "a key file as text": ("gcp:credentials", '{"type": "service_account"}', "gcp:credentials"),
    "a path of a key file": ("gcp:credentials", "/home/jo/key.json", "gcp:credentials"),
    "an access token": ("gcp:accessToken", "abc", "gcp:accessToken"),
    "a token of another provider": ("github:token", "abc", "github:token"),
    "a password below a key": ("acme:db", {"users": [{"password": "abc"}]}, "acme:db.users[0].password"),
    "an API key": ("datadog:apiKey", "abc", "datadog:apiKey"),
    "a private key, by its format": ("acme:tls", {"pem": PRIVATE_KEY}, "acme:tls.pem"),
    "a token, by its format": ("acme:notes", ["x", TOKEN], "acme:notes[1]"),
    "a password in a URL": ("acme:db", "postgres://ray:hunter2@db.example.com/x", "acme:db"),
    "a password in a URL without a user": ("acme:redis", "redis://:hunter2@10.0.0.1:6379", "acme:redis"),
    "a private key in base64": ("acme:x", b64encode(f"{PRIVATE_KEY}\nMIIE".encode()).decode(), "acme:x"),
    "a token in base64 for URLs": (
        "acme:x",
        urlsafe_b64encode(f">>>???{TOKEN}".encode()).decode().rstrip("="),
        "acme:x",
    ),
    "a key of PuTTY": ("acme:x", "PuTTY-User-Key-File-3: ssh-ed25519", "acme:x"),
    "a header of requests": ("acme:http", {"x": "Bearer abcdef1234567890"}, "acme:http.x"),
    "basic authentication": ("acme:http", {"Authorization": "Basic dXNlcjpw"}, "acme:http.Authorization"),
    "a variable of a container": (
        "acme:env",
        [{"name": "REGION", "value": "x"}, {"name": "DB_PASSWORD", "value": "hunter2"}],
        "acme:env[1].value",
    ),
    "a variable of a shell": ("acme:env", ["DB_PASSWORD=hunter2"], "acme:env[0]"),
    "a value of a chart": ("acme:set", ["auth.password=hunter2"], "acme:set[0]"),
    "a connection string": ("acme:db", "Server=x;User Id=a;Password=hunter2;", "acme:db"),
    "a password that is a number": ("acme:db", {"password": 12345678}, "acme:db.password"),
    "a short name of a password": ("acme:db", {"pwd": "hunter2"}, "acme:db.pwd"),
    "a key that signs": ("acme:x", {"signingKey": "hunter2"}, "acme:x.signingKey"),
    "a web hook": ("acme:hook", "https://hooks.slack.com/" + "services/T0/B0/X", "acme:hook"),
    "a token of npm": ("acme:x", "npm_" + "a1" * 18, "acme:x"),
    "a token of Vault": ("acme:x", "hvs." + "a1" * 12, "acme:x"),
    "a login of a registry": ("acme:x", '{"auths": {"x": {"auth": "dXNlcjpw"}}}', "acme:x"),
    "a key file as a mapping": ("acme:sa", {"private_key": "abc"}, "acme:sa.private_key"),
    "a token as a key": ("acme:x", {TOKEN: "x"}, "acme:x"),
    "a kubeconfig as a mapping": (
        "kubernetes:kubeconfig",
        {"users": [{"user": {"client-key-data": "abc"}}]},
        "kubernetes:kubeconfig.users[0].user.client-key-data",
    ),
    "a kubeconfig with a token": (
        "kubernetes:kubeconfig",
        "users: [{user: {token: abc}}]",
        "kubernetes:kubeconfig",
    ),
}
ACCEPTED: dict[str, tuple[str, object]] = {
    "an encrypted value": ("github:token", ENCRYPTED),
    "an encrypted value below a key": ("acme:db", {"password": ENCRYPTED}),
    "a masked value of an offline preview": ("github:token", MASKED),
    "no value": ("github:token", ""),
    "a region": ("gcp:region", "us-west1"),
    "a name that contains the word": ("acme:tokenizer", "bpe"),
    "a URL with a port": ("acme:proxy", "https://proxy.example.com:8080/@x"),
    "a URL with a user": ("acme:repo", "ssh://git@example.com:22/acme.git"),
    "a variable of a container without a secret": ("acme:env", [{"name": "REGION", "value": "us"}]),
    "an encrypted variable of a container": ("acme:env", [{"name": "TOKEN", "value": ENCRYPTED}]),
    "a public key": ("acme:x", "-----BEGIN " + "PUBLIC KEY-----"),
    "a digest": ("acme:image", "sha256:" + "0a" * 32),
    "a switch": ("acme:x", {"token": True}),
    "bypass": ("acme:x", {"bypass": "10.0.0.0/8"}),
}


def problem(config: dict[str, Any]) -> str:
    with pytest.raises(SettingsError) as refused:
        parse(config, FILE)
    (only,) = refused.value.problems
    return only.path


@pytest.mark.parametrize(("key", "value", "path"), PLAIN.values(), ids=PLAIN)
def test_a_credential_in_plain_text_is_refused_and_not_repeated(key: str, value: object, path: str) -> None:
    config = put(key, value)
    assert problem(config) == path
    with pytest.raises(SettingsError) as refused:
        parse(config, FILE)
    assert str(value) not in str(refused.value)


@pytest.mark.parametrize(("key", "value"), ACCEPTED.values(), ids=ACCEPTED)
def test_other_values_are_accepted(key: str, value: object) -> None:
    parse(put(key, value), FILE)


def test_a_value_that_the_engine_decrypted_is_accepted() -> None:
    parse(put("github:token", "abc"), FILE, secret=["github:token"])


def test_a_decrypted_value_that_no_provider_reads_is_refused_without_it() -> None:
    with pytest.raises(SettingsError, match="declares its own provider of gcp") as refused:
        parse(put("gcp:accessToken", "hunter2"), FILE, secret=["gcp:accessToken"])
    assert "hunter2" not in str(refused.value)


@pytest.mark.parametrize(
    ("config", "path"),
    [
        (put("muster:forecast", {"trace": "https://u:hunter2@example.com/t.csv"}), "muster:forecast.trace"),
        (
            put("muster:cluster", "authorizedNetworks", {TOKEN: "10.0.0.0/8"}),
            "muster:cluster.authorizedNetworks",
        ),
    ],
    ids=["a URL", "a key"],
)
def test_credentials_in_settings_are_refused_and_not_repeated(config: dict[str, Any], path: str) -> None:
    assert problem(config) == path
    with pytest.raises(SettingsError) as refused:
        parse(config, FILE)
    assert TOKEN not in str(refused.value)
    assert "hunter2" not in str(refused.value)


@pytest.mark.parametrize("value", [ENCRYPTED, {"a": [ENCRYPTED]}])
def test_settings_are_not_encrypted(value: object) -> None:
    assert problem(put("muster:kuberay", value)) == "muster:kuberay"


def test_a_decrypted_setting_is_refused() -> None:
    config = put("gcp:region", "us-west1")
    with pytest.raises(SettingsError, match="plain values"):
        parse(config, FILE, secret=["muster:cluster"])


@pytest.mark.parametrize(
    ("beside", "path"),
    [
        ({"environment": {"values": {"pulumiConfig": {"github:token": "abc"}}}}, "github:token"),
        ({"environment": {"values": {"token": {"fn::secret": "abc"}}}}, "token"),
    ],
    ids=["a plain value", "a value to encrypt"],
)
def test_an_inline_environment_has_no_credentials(beside: dict[str, Any], path: str, tmp_path: Path) -> None:
    file = tmp_path / "Pulumi.test.yaml"
    file.write_text(yaml.safe_dump({**beside, "config": put("gcp:region", "us-west1")}))
    with pytest.raises(SettingsError) as refused:
        load(file)
    assert refused.value.problems[0].path.endswith(path)


def test_environments_and_encrypted_values_do_not_keep_a_stack_from_being_read(tmp_path: Path) -> None:
    file = tmp_path / "Pulumi.test.yaml"
    content = {
        "secretsprovider": "gcpkms://projects/acme/key",
        "encryptedkey": "Q2lwaGVy",
        "environment": ["acme/prod"],
        "config": put("github:token", ENCRYPTED),
    }
    file.write_text(yaml.safe_dump(content))
    assert load(file).project == content["config"]["gcp:project"]  # type: ignore[index]


def test_an_offline_preview_opens_no_secrets() -> None:
    text = "environment: [acme/prod]\nconfig:\n  gcp:accessToken: {secure: v1:abc}\n  acme:x: '1e3'\n"
    assert yaml.safe_load(offline(text)) == {"config": {"gcp:accessToken": MASKED, "acme:x": "1e3"}}


@pytest.mark.parametrize("text", ["config: {a: yes} # as it is\n", "config: [", "[]"])
def test_other_files_are_unchanged_in_an_offline_preview(text: str) -> None:
    assert offline(text) == text


def test_the_program_accepts_values_that_pulumi_marks_as_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    config = put("github:token", "abc")
    texts = {key: value if isinstance(value, str) else json.dumps(value) for key, value in config.items()}
    monkeypatch.setenv("PULUMI_CONFIG", json.dumps(texts))
    with pytest.raises(SettingsError, match="github:token"):
        from_config()
    monkeypatch.setenv("PULUMI_CONFIG_SECRET_KEYS", json.dumps(["github:token"]))
    from_config()
