"""Credentials anywhere in a stack file, and encrypted values."""

import json
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
    "a kubeconfig with a token": (
        "kubernetes:kubeconfig",
        "users: [{user: {token: abc}}]",
        "kubernetes:kubeconfig",
    ),
}
ACCEPTED: dict[str, tuple[str, object]] = {
    "an encrypted value": ("gcp:accessToken", ENCRYPTED),
    "an encrypted value below a key": ("acme:db", {"password": ENCRYPTED}),
    "a masked value of an offline preview": ("github:token", MASKED),
    "no value": ("github:token", ""),
    "a region": ("gcp:region", "us-west1"),
    "a name that contains the word": ("acme:tokenizer", "bpe"),
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
    parse(put("gcp:accessToken", "abc"), FILE, secret=["gcp:accessToken"])


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
        "config": put("gcp:accessToken", ENCRYPTED),
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
