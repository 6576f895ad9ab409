"""The deployment file: what is accepted, and how errors help."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exonerate.core.deployment.codec import deployment_from_json, deployment_to_json
from exonerate.core.deployment.model import Deployment
from exonerate.core.deployment.parse import parse_deployment
from exonerate.core.deployment.topology import beyond
from exonerate.errors import ExonerateError

FULL = """\
[deployment]
name = "dsv4"
model = "dsv4"

[[hop]]
name = "edge"
role = "proxy"
url = "http://127.0.0.1:8080/"

[[hop]]
name = "router"
role = "router"
url = "http://127.0.0.1:8100"

[[hop]]
name = "prefill"
role = "prefill"
url = "http://127.0.0.1:30000"

[[hop]]
name = "decode"
role = "decode"
url = "http://127.0.0.1:30001"
metrics = "http://127.0.0.1:30001/metrics"

[victim]
rounds = 8
think_s = 1
connection = "reuse"
headers = { "x-team" = "search" }

[[service]]
name = "decode"
hop = "decode"
start = ["./serve_dsv4_decode.sh"]
ready = "http://127.0.0.1:30001/health"

[[knob]]
name = "SGLANG_SM120_MMA_TARGET_CTAS"
service = "decode"
file = "serve_dsv4_decode.sh"
form = "export"
values = [256, 512]
default = 256
"""


def parse(text: str) -> Deployment:
    """Parse as the command line would."""
    return parse_deployment(text, path="exonerate.toml", folder="/srv")


def problem_of(text: str) -> tuple[str, str]:
    """Problem and hint of the error that a text gives."""
    with pytest.raises(ExonerateError) as caught:
        parse(text)
    return caught.value.problem, caught.value.hint


def accepted_or_explained(text: str) -> None:
    """Nothing but a deployment or an error with a hint may come out."""
    caught: ExonerateError | None = None
    try:
        parse(text)
    except ExonerateError as error:
        caught = error
    assert caught is None or (caught.problem and caught.hint)


def test_the_example_of_the_design_is_read() -> None:
    """Names, numbers and values come out as the model holds them."""
    deployment = parse(FULL)
    assert deployment.hops[0].url == "http://127.0.0.1:8080"
    assert deployment.knobs[0].values == ("256", "512")
    assert deployment.knobs[0].default == "256"
    assert deployment.victim.think_s == 1.0
    assert deployment.victim.headers == (("x-team", "search"),)


def test_engines_in_a_row_are_siblings_behind_the_router() -> None:
    """Prefill and decode stand side by side, not one behind the other."""
    deployment = parse(FULL)
    assert deployment.hops[2].behind == ("router",)
    assert deployment.hops[3].behind == ("router",)
    assert [hop.name for hop in beyond(deployment, "edge")] == ["router", "prefill", "decode"]


@pytest.mark.parametrize(
    ("old", "new", "at", "words"),
    [
        ("rounds = 8", "round = 8", "", ("unknown key `round`", "did you mean `rounds`?")),
        ("[[knob]]", "[[knobs]]", "", ("unknown section `knobs`", "did you mean `knob`?")),
        ('role = "router"', 'role = "ruoter"', "", ("hop.role", '"router"')),
        (":8100", ":81000", "", ("1 to 65535", "")),
        ("rounds = 8", "rounds = 0", "", ("whole number from 1", "")),
        ("rounds = 8", "rounds = true", "", ("whole number from 1", "")),
        ('service = "decode"', 'service = "decod"', "", ("`decod`", "did you mean `decode`?")),
        (
            'start = ["./serve_dsv4_decode.sh"]',
            "",
            "[[service]]",
            ("exactly one of `start` and `unit`", ""),
        ),
        ('model = "dsv4"', "", "[deployment]", ("lacks `model`", "")),
        ('name = "router"', 'name = "edge"', "", ("two sections `hop`", "")),
        ("[victim]", "[[victim]]", "", ("written as `[victim]`", "")),
    ],
)
def test_errors_name_the_line_and_what_would_be_right(
    old: str, new: str, at: str, words: tuple[str, str]
) -> None:
    """Each mistake names file, line and key, and the way out."""
    text = FULL.replace(old, new, 1)
    line = text[: text.rindex(at or new)].count("\n") + 1
    problem, hint = problem_of(text)
    assert problem.startswith(f"exonerate.toml:{line}: ")
    assert words[0] in problem
    assert words[1] in problem + hint


def test_broken_toml_says_where() -> None:
    """Syntax errors keep the position that the TOML reader gives."""
    problem, _ = problem_of("[deployment\nname = 1")
    assert "line 1" in problem


def test_an_empty_file_says_what_is_missing() -> None:
    """The first section to write is named."""
    assert "[deployment]" in problem_of("")[0]


def test_a_deployment_survives_the_ledger_without_its_header_values() -> None:
    """The recorded deployment decides alike, and holds no secret."""
    deployment = parse(FULL)
    tree = deployment_to_json(deployment)
    assert "search" not in repr(tree["victim"])
    again = deployment_from_json(tree)
    assert again.hops == deployment.hops
    assert again.services == deployment.services
    assert again.knobs == deployment.knobs


@given(st.text(max_size=200))
def test_garbage_is_refused_in_words(text: str) -> None:
    """Whatever the file holds, the answer is a deployment or an error for the operator."""
    accepted_or_explained(text)


@given(
    st.sampled_from(FULL.splitlines()),
    st.one_of(st.text(max_size=8), st.integers(-9, 99999).map(str)),
)
def test_a_damaged_line_never_crashes(line: str, replacement: str) -> None:
    """Any line of a good file may be replaced by anything."""
    key = line.split("=")[0]
    accepted_or_explained(FULL.replace(line, f"{key}= {replacement}", 1))


def hop(name: str, behind: str) -> str:
    """A hop behind another."""
    return f'[[hop]]\nname = "{name}"\nrole = "proxy"\nurl = "http://h:1"\nbehind = {behind}\n'


HEAD = '[deployment]\nmodel = "m"\n'


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (HEAD + hop("a", '"b"') + hop("b", '"a"'), "in a circle: a, b"),
        (HEAD + hop("a", '"c"') + hop("b", '"a"') + hop("c", '"b"'), "in a circle: a, b, c"),
        (HEAD + '[[hop]]\nname = "a"\nrole = "proxy"\nurl = "http://h"\n'
         + hop("b", '["a", "a"]'), "names a hop twice"),
        (HEAD + "[victim]\nrounds = " + "9" * 5000, "too many digits"),
        (HEAD + "x = " + "[" * 5000 + "]" * 5000, "nested too deep"),
    ],
    ids=["circle", "circle of three", "twice", "digits", "nesting"],
)  # fmt: skip
def test_what_cannot_be_a_path_or_a_file_is_refused_in_words(text: str, problem: str) -> None:
    """Also what makes the reader of TOML itself give up."""
    with pytest.raises(ExonerateError, match=problem) as caught:
        parse_deployment(text, path="exonerate.toml", folder="/")
    assert caught.value.hint
