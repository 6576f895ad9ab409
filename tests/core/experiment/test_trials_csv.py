"""Trials from files that anyone wrote."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exonerate.core.experiment.trials_csv import choose_arms, read_trials
from exonerate.core.stats.trials import Trial
from exonerate.errors import ExonerateError

HEADER = "block,order,arm,cell,value\n"
ROWS = "1,1,256,64,719.5\n1,2,512,64,811.7\n"


def complaint(text: str | bytes) -> str:
    """What is said of a file that cannot be used."""
    content = text if isinstance(text, bytes) else text.encode()
    with pytest.raises(ExonerateError) as caught:
        read_trials(content, "t.csv")
    assert caught.value.hint
    return caught.value.problem


def test_a_plain_file_is_read() -> None:
    """Each row becomes one trial that knows its line."""
    first, second = read_trials((HEADER + ROWS).encode(), "t.csv")
    assert (first.block, first.order, first.arm, first.cell, first.value) == (
        "1", 1, "256", 64, 719.5,
    )  # fmt: skip
    assert (first.line, second.line) == (2, 3)


@pytest.mark.parametrize(
    "text",
    [
        "\ufeff" + HEADER + ROWS,
        HEADER.replace("\n", "\r\n") + ROWS.replace("\n", "\r\n"),
        "host,Value,ARM,block,cell, order\nx,719.5,256,1,64,1\ny,811.7,512,1,64,2",
        "# a note\n\n" + HEADER + "\n" + ROWS + ",,,,\n",
        '"block","order","arm","cell","value"\n"1","1.0","256","64.0"," 7.195e2 "\n' + ROWS[17:],
    ],
    ids=["byte order mark", "CRLF", "other columns and order", "notes and blanks", "quotes"],
)
def test_harmless_variants_are_read_the_same(text: str) -> None:
    """A byte order mark, line ends, further columns, blank lines and quotes change nothing."""
    plain = read_trials((HEADER + ROWS).encode(), "t.csv")
    found = read_trials(text.encode(), "t.csv")
    assert [(t.block, t.order, t.arm, t.cell, t.value) for t in found] == [
        (t.block, t.order, t.arm, t.cell, t.value) for t in plain
    ]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (HEADER + ROWS + "1,2,512,64,811.7\n", "t.csv:4: block 1 already has arm 512"),
        (HEADER + "1,1,256,64,fast\n", "t.csv:2: `value` is 'fast', not a number"),
        (HEADER + "1,1,256,64,\n", "t.csv:2: `value` is '', not a number"),
        (HEADER + "1,1,256,64,1_000\n", "t.csv:2: `value` is '1_000', not a number"),
        (HEADER + "1,1,256,64,nan\n", "t.csv:2: `value` is 'nan', not a number"),
        (HEADER + ROWS + "2,1,256,64,0\n", "t.csv:4: `value` is 0; it must be above 0"),
        (HEADER + "1,1,256,64,-3\n", "t.csv:2: `value` is -3; it must be above 0"),
        (HEADER + "1,1,256,64,1e999\n", "t.csv:2: `value` is 1e999; it must be above 0"),
        (HEADER + "1,1,256,C64,1\n", "t.csv:2: `cell` is 'C64', not a number"),
        (HEADER + "1,1.5,256,64,1\n", "t.csv:2: `order` is 1.5; a place in the block is a whole"),
        (HEADER + "1,1,,64,1\n", "t.csv:2: `arm` is empty"),
        (HEADER + ",1,256,64,1\n", "t.csv:2: `block` is empty"),
        (HEADER + "1,1,256,64,719,5\n", "t.csv:2: 6 fields where the header has 5"),
        (HEADER + "1,1,256\n", "t.csv:2: 3 fields where the header has 5"),
        ("block;order;arm;cell;value\n", "t.csv:1: no column `block`, `order`"),
        ("block,order,arm,cell,value,VALUE\n", "t.csv:1: the column `value` stands there twice"),
        ("", "t.csv:1: no column"),
        (HEADER, "t.csv: no trial below the header"),
        (b"block,\xff\xfe", "t.csv: byte 6 is not UTF-8"),
        (HEADER + '1,1,"256"x,64,1\n', "t.csv:2: "),
    ],
)  # fmt: skip
def test_a_bad_row_is_named_by_its_line(text: str | bytes, words: str) -> None:
    """A row that cannot be meant is refused with file, line, and what is wrong."""
    assert words in complaint(text)


def test_the_first_arm_is_the_baseline() -> None:
    """Without options the first arm of the file is the baseline, and options turn it round."""
    trials = read_trials((HEADER + ROWS).encode(), "t.csv")
    assert choose_arms(trials, "t.csv", baseline=None, candidate=None) == ("256", "512")
    assert choose_arms(trials, "t.csv", baseline="512", candidate=None) == ("512", "256")
    assert choose_arms(trials, "t.csv", baseline=None, candidate="256") == ("512", "256")


@pytest.mark.parametrize(
    ("rows", "baseline", "candidate", "words"),
    [
        ("1,3,1024,64,800\n", None, None, "t.csv:4: a third arm, `1024`, besides `256` and `512`"),
        ("", "128", None, "no arm is called `128`, as --baseline says"),
        ("", None, "128", "no arm is called `128`, as --candidate says"),
        ("", "256", "256", "the only arm is `256`"),
    ],
)
def test_arms_that_do_not_fit_are_refused(
    rows: str, baseline: str | None, candidate: str | None, words: str
) -> None:
    """A third arm, an unknown arm and an arm against itself are refused."""
    trials = read_trials((HEADER + ROWS + rows).encode(), "t.csv")
    with pytest.raises(ExonerateError, match=r"t\.csv") as caught:
        choose_arms(trials, "t.csv", baseline=baseline, candidate=candidate)
    assert words in caught.value.problem


def test_of_three_arms_two_can_be_named() -> None:
    """A third arm does not disturb when the two are named."""
    trials = read_trials((HEADER + ROWS + "1,3,1024,64,800\n").encode(), "t.csv")
    assert choose_arms(trials, "t.csv", baseline="256", candidate="1024") == ("256", "1024")


def test_one_arm_is_no_comparison() -> None:
    """A file with one arm is refused."""
    trials = read_trials((HEADER + "1,1,256,64,1\n").encode(), "t.csv")
    with pytest.raises(ExonerateError, match="the only arm is `256`"):
        choose_arms(trials, "t.csv", baseline=None, candidate=None)


FIELDS = st.one_of(
    st.sampled_from(
        ["1", "2", "256", "512", "64", "719.5", "0", "-1", "nan", "", '"', "é", "\x00"]
    ),
    st.text(max_size=6),
)


@given(st.lists(st.lists(FIELDS, max_size=7), max_size=6), st.booleans())
def test_any_file_is_read_or_refused(rows: list[list[str]], with_header: bool) -> None:
    """Whatever stands in a file, it is read as positive numbers or refused with a line."""
    text = (HEADER if with_header else "") + "\n".join(",".join(row) for row in rows)
    problem = ""
    trials: tuple[Trial, ...] = ()
    try:
        trials = read_trials(text.encode("utf-8", "surrogatepass"), "t.csv")
    except ExonerateError as error:
        problem = error.problem
    assert problem.startswith("t.csv:") != bool(trials)
    assert all(trial.value > 0 and trial.cell > 0 and trial.order >= 1 for trial in trials)
