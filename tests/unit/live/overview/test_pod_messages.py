"""Messages about pods are short and contain no credentials."""

from collections.abc import Callable

import pytest

from muster.live.overview.pod_messages import HIDDEN, LENGTH_MAX, one_line, pull_error, start_error, unplaced

IMAGE = "europe-west4-docker.pkg.dev/p/ray/train:1"
PULL = f'failed to pull and unpack image "{IMAGE}": failed to resolve reference "{IMAGE}": '
DENIED = (
    "failed to authorize: failed to fetch oauth token: unexpected status from GET request to "
    "https://europe-west4-docker.pkg.dev/v2/token"
)
MESSAGES: dict[str, tuple[Callable[[str], str], str, str]] = {
    "empty": (one_line, "", ""),
    "only line breaks": (one_line, "\n\n", ""),
    "the first line with text": (one_line, "\n first \nsecond", "first"),
    "the final period": (one_line, "No space left. ", "No space left"),
    "a password in an address": (
        one_line,
        "GET https://me:pw@registry/v2: 401",
        "GET https://registry/v2: 401",
    ),
    "a token in a query": (
        one_line,
        "GET https://registry/v2?sig=ab&x=1: 403",
        "GET https://registry/v2 403",
    ),
    "a bearer token": (one_line, f"sent Bearer {'ab' * 12}", f"sent Bearer {HIDDEN}"),
    "a challenge": (one_line, 'Bearer realm="https://r/token"', 'Bearer realm="https://r/token"'),
    "an error about credentials": (one_line, "no basic auth credentials", "no basic auth credentials"),
    "a variable": (one_line, "HF_TOKEN=hf_ab, x", f"HF_TOKEN={HIDDEN}, x"),
    "an option": (
        one_line,
        'exec: "ray --redis-password abc start"',
        f'exec: "ray --redis-password {HIDDEN} start"',
    ),
    "an option with =": (one_line, "ray --api-key=abc start", f"ray --api-key={HIDDEN} start"),
    "JSON": (one_line, '{"client_secret": "abc", "n": 1}', f'{{"client_secret": "{HIDDEN}", "n": 1}}'),
    "names of secrets": (
        one_line,
        "couldn't find key token in Secret team-a/hf-token",
        "couldn't find key token in Secret team-a/hf-token",
    ),
    "an image of tokens": (
        one_line,
        "docker.io/p/tokenizer:1.0: not found",
        "docker.io/p/tokenizer:1.0: not found",
    ),
    "a pull": (
        pull_error,
        f"rpc error: code = NotFound desc = {PULL}{IMAGE}: not found",
        f"{IMAGE}: not found",
    ),
    "a backoff": (
        pull_error,
        f'Back-off pulling image "{IMAGE}": ErrImagePull: {PULL}{DENIED}?scope=repo&service=x: 403 Forbidden',
        f"{DENIED} 403 Forbidden",
    ),
    "a backoff without the error": (pull_error, f'Back-off pulling image "{IMAGE}"', ""),
    "a start": (
        start_error,
        "failed to create containerd task: failed to create shim task: OCI runtime create failed: "
        'runc create failed: unable to start container process: exec: "rya": '
        "executable file not found in $PATH: unknown",
        'exec: "rya": executable file not found in $PATH: unknown',
    ),
    "no node": (
        unplaced,
        "0/1 nodes are available: 1 Insufficient cpu. preemption: 0/1 nodes are available: 1 Preemption is "
        "not helpful for scheduling.",
        "0/1 nodes are available: 1 Insufficient cpu",
    ),
}


@pytest.mark.parametrize("name", MESSAGES)
def test_messages_are_reduced_to_their_cause(name: str) -> None:
    shorten, message, expected = MESSAGES[name]
    assert shorten(message) == expected


def test_long_messages_keep_their_beginning_and_their_end() -> None:
    text = one_line(f"begin {'x' * 2 * LENGTH_MAX} end")
    assert len(text) == LENGTH_MAX
    assert text.startswith("begin xx")
    assert text.endswith("xx end")


@pytest.mark.parametrize("length", [LENGTH_MAX - 1, LENGTH_MAX])
def test_messages_of_the_maximum_length_are_not_cut(length: int) -> None:
    assert one_line("x" * length) == "x" * length
