"""Leading a client to the tap: variables, arguments, and the paths that stand in them."""

from exonerate.core.deployment.redirect import environment_proxies, redirect

HOP = "http://127.0.0.1:8080"
TAP = "http://127.0.0.1:9999"
CHAT = "/v1/chat/completions"


def test_every_known_variable_names_the_tap_with_its_version() -> None:
    """OpenAI's end with /v1, Anthropic's do not."""
    environment = redirect([], {}, hop_url=HOP, tap_url=TAP, endpoint=CHAT).environment
    assert environment["OPENAI_BASE_URL"] == f"{TAP}/v1"
    assert environment["OPENAI_API_BASE"] == f"{TAP}/v1"
    assert environment["LLM_BASE_URL"] == f"{TAP}/v1"
    bare = ("ANTHROPIC_BASE_URL", "ANTHROPIC_API_URL", "ANTHROPIC_HOST", "OPENAI_HOST")
    assert {environment[name] for name in bare} == {TAP}


def test_the_path_that_the_operator_set_is_kept() -> None:
    """A gateway's own path stays, in variables of any name and in arguments."""
    given = {"OPENAI_BASE_URL": f"{HOP}/team/v1", "MY_ENGINE": f"{HOP}/x", "OTHER": "http://a:1/"}
    done = redirect(
        ["agent", f"--url={HOP}/team/v1", "http://127.0.0.1:80801"],
        given,
        hop_url=HOP,
        tap_url=TAP,
        endpoint=CHAT,
    )
    assert done.environment["OPENAI_BASE_URL"] == f"{TAP}/team/v1"
    assert done.environment["MY_ENGINE"] == f"{TAP}/x"
    assert done.environment["OTHER"] == "http://a:1/"
    assert done.argv == ("agent", f"--url={TAP}/team/v1", "http://127.0.0.1:80801")
    assert done.arguments == 1


def test_a_variable_that_named_somebody_else_now_names_the_tap() -> None:
    """What the client would have asked elsewhere is what shall be watched; its path is kept."""
    given = {"OPENAI_BASE_URL": "https://api.example.com/api/v3"}
    done = redirect([], given, hop_url=f"{HOP}/base", tap_url=TAP, endpoint=CHAT)
    assert done.environment["OPENAI_BASE_URL"] == f"{TAP}/api/v3"
    assert done.environment["OPENAI_API_BASE"] == f"{TAP}/base/v1"


def test_localhost_is_the_loopback_address() -> None:
    """A harness that was given `localhost` is led away as well."""
    argv = ["agent", "http://localhost:8080/v1"]
    done = redirect(argv, {}, hop_url=HOP, tap_url=TAP, endpoint=CHAT)
    assert done.argv[1] == f"{TAP}/v1"


def test_the_proxies_of_an_environment_are_read_without_their_passwords() -> None:
    """Host and port, however they are written; nonsense is none."""
    environment = {
        "HTTP_PROXY": "http://ann:secret@proxy:3128/",
        "https_proxy": "10.0.0.1:8888",
        "ALL_PROXY": "http://[bad",
        "NO_PROXY": "localhost",
    }
    assert environment_proxies(environment) == {
        "HTTP_PROXY": "proxy:3128",
        "https_proxy": "10.0.0.1:8888",
    }
