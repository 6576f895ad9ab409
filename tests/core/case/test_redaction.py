"""What is kept in clear and what is not."""

from __future__ import annotations

from typing import Any, cast

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from exonerate.core.case.records import canonical_json
from exonerate.core.case.redaction import Redactor
from exonerate.core.json_types import JsonObject

KEY = b"k" * 32
REDACTOR = Redactor(KEY, ["TARGET_CTAS"])
SECRET = "s3cr3tValue99"

secrets = st.text(
    "abcdefghijkmnopqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ23456789", min_size=10, max_size=30
)


def hidden(text: str, secret: str = SECRET) -> bool:
    return secret not in text and "hmac:" in text


@pytest.mark.parametrize(
    "text",
    [
        f"http://ann:{SECRET}@edge:8080/v1/models",
        f"http://{SECRET}@edge/",
        f"http://ann:a/{SECRET}@edge/",
        f"http://ann:a?{SECRET}#b@edge:80/",
        f"postgresql+psycopg://ann:{SECRET}@db/exonerate",
        f"GET https://edge/v1?key={SECRET}&stream=true HTTP/1.1",
        f"https://edge/hook?{SECRET}{SECRET}",
        f"Authorization: Bearer {SECRET}",
        f"authorization: Digest username=ann, response={SECRET}",
        f"curl -H 'Cookie: a=1; session={SECRET}' http://edge/",
        f'{{"api_key": "{SECRET}"}}',
        f"export HF_TOKEN={SECRET}",
        f"export AWS_SECRET_ACCESS_KEY_SECRET='{SECRET}'",
        f"serve --api-key {SECRET} --port 80",
        f"serve --hf-token={SECRET}",
        f"password: {SECRET}",
        f"sent with bearer {SECRET}",
        f"basic {SECRET}==",
        f"key sk-{SECRET} was refused",
        f"hf_{SECRET}",
        f"eyJ{SECRET}.{SECRET}.{SECRET}",
    ],
)
def test_secret_in_text_is_hashed(text: str) -> None:
    """A secret in a log line, a command, an address or a note does not stay in clear."""
    assert hidden(REDACTOR.text(text))


@pytest.mark.parametrize(
    "text",
    [
        "time to first token: 0.31 s, max_tokens=32, prompt_tokens: 200",
        "the Authorization header was dropped by the proxy",
        "basic understanding of the bearer authentication",
        "http://127.0.0.1:8000/v1/chat/completions",
        "http://[::1]:8000/metrics",
        "registry.npmjs.org/@scope/name and mail to ann@example.org",
        "SGLANG_SM120_MMA_TARGET_CTAS=512",
        "a" * 64,
        "hmac:0123456789ab",
        "the secret of the dip at C96",
    ],
)
def test_plain_text_stays_readable(text: str) -> None:
    """What is no secret is not mangled."""
    assert REDACTOR.text(text) == text


def test_address_keeps_host_path_and_names() -> None:
    """An address still says where it goes and which parameters it has."""
    safe = REDACTOR.url("http://ann:pw@edge:8080/v1/chat?api_key=abc&n=1")
    assert safe.startswith("http://hmac:")
    assert "@edge:8080/v1/chat?api_key=hmac:" in safe
    assert "&n=hmac:" in safe


def test_headers_keep_values_only_of_known_names() -> None:
    """`Content-Type` stays as it is; the value of a header nobody listed is hashed."""
    safe = REDACTOR.headers([("Content-Type", "text/event-stream"), ("X-Tenant", "acme")])
    assert safe[0] == ["Content-Type", "text/event-stream"]
    assert safe[1][0] == "X-Tenant"
    assert hidden(safe[1][1], "acme")


def test_environment_keeps_values_only_of_knobs_and_known_names() -> None:
    """A knob's value is evidence; every other variable might be a secret."""
    safe = REDACTOR.environment({"TARGET_CTAS": "512", "OMP_NUM_THREADS": "8", "HOME": "/home/ann"})
    assert (safe["TARGET_CTAS"], safe["OMP_NUM_THREADS"]) == ("512", "8")
    assert hidden(safe["HOME"], "ann")


@pytest.mark.parametrize("key", ["messages", "content", "completion", "output", "request_body"])
def test_prompts_and_outputs_are_never_kept(key: str) -> None:
    """What users wrote and models answered is hashed, however deep it lies."""
    body: Any = {"events": [{"data": {key: [{"role": "user", "text": "my name is Ann"}]}}]}
    assert hidden(str(REDACTOR.body(body)), "Ann")


def test_prompt_recipe_is_no_prompt() -> None:
    """The numbers that a prompt is made from are kept, because the probe must be repeatable."""
    body: JsonObject = {"prompt": {"seed": 1, "prompt_tokens": 200, "growth_tokens": 0, "salt": ""}}
    assert REDACTOR.body(body) == body
    assert hidden(str(REDACTOR.body({"prompt": "tell me"})), "tell me")


def test_equal_values_have_equal_hashes_under_one_key_only() -> None:
    """Two equal outputs can be told to be equal; another ledger's hashes say nothing."""
    assert REDACTOR.secret("a") == REDACTOR.secret("a") != REDACTOR.secret("b")
    assert Redactor(b"x" * 32).secret("a") != REDACTOR.secret("a")


def test_last_line_keeps_variables_and_notes_what_it_found() -> None:
    """The ledger, which knows no knobs, hashes only what sounds secret and says where."""
    last = Redactor(KEY, None)
    body: JsonObject = {
        "environment": {"TARGET_CTAS": "512", "HF_TOKEN": SECRET},
        "why": "ok",
        "n": 1,
    }
    safe = cast(dict[str, Any], last.last_line(body))
    assert safe["environment"]["TARGET_CTAS"] == "512"
    assert hidden(str(safe))
    assert safe["redacted"] == ["environment"]
    assert "redacted" not in last.last_line({"why": "ok", "n": 1})


bodies: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=30) | secrets,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["url", "headers", "environment", "content", "why", "prompt", "argv", "token", "x"]
            )
            | st.text(max_size=8),
            inner,
            max_size=3,
        )
    ),
    max_leaves=12,
)


@given(st.dictionaries(st.text(max_size=8) | st.just("headers"), bodies, max_size=4))
def test_redacting_twice_changes_nothing(body: dict[str, Any]) -> None:
    """A body that was redacted passes the ledger's own last line untouched."""
    once = REDACTOR.body(body)
    assert REDACTOR.body(once) == once
    assert Redactor(KEY, None).last_line(once) == once


@given(
    secret=secrets,
    place=st.sampled_from(
        [
            "http://ann:{}@edge/v1",
            "http://edge/v1?x={}&y=1",
            "Authorization: Bearer {}",
            "cookie: {}",
            "API_KEY={}",
            "--api-key {} --port 1",
            "access_token: {}",
        ]
    ),
    before=st.text(max_size=20),
    after=st.text(max_size=20),
)
def test_planted_secret_is_found_in_any_text(
    secret: str, place: str, before: str, after: str
) -> None:
    """Whatever stands around it on the line, a secret in a known place is hashed."""
    assume(secret not in before + after)
    body = {"why": f"{before}\n{place.format(secret)} {after}"}
    assert secret.encode() not in canonical_json(REDACTOR.body(body))


def test_hash_of_an_output_is_hashed_with_the_key() -> None:
    """Equal outputs stay recognisable, but nobody can try guesses on a plain SHA-256."""
    facts: JsonObject = {"content": {"text_sha256": "ab" * 32, "text_characters": 12}}
    beginnings: JsonObject = {"content": {"text_prefixes": ["ab" * 8, "cd" * 8]}}
    keyed = [REDACTOR.secret("ab" * 8), REDACTOR.secret("cd" * 8)]
    assert REDACTOR.body(beginnings) == {"content": {"text_prefixes": keyed}}
    safe = REDACTOR.body(facts)
    assert safe == {"content": {"text_sha256": REDACTOR.secret("ab" * 32), "text_characters": 12}}
    blob: JsonObject = {"sha256": "ab" * 32}
    assert REDACTOR.body(blob) == blob


def test_what_was_found_clear_once_hides_no_secret_later() -> None:
    """The same words again, and the same words with a secret behind them."""
    redactor = Redactor(KEY, None)
    for _ in range(2):
        assert redactor.text("state ESTABLISHED") == "state ESTABLISHED"
        assert hidden(redactor.text(f"state ESTABLISHED password={SECRET}"))
