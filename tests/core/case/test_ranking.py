"""The order of suspects: what speaks against them counts, and nothing counts twice."""

from __future__ import annotations

from exonerate.core.case.model import Evidence, Fit, Grade, Rating, Suspect
from exonerate.core.case.ranking import rank


def suspects(*names: str) -> list[Suspect]:
    return [
        Suspect(id=name, claim=name, mechanism="", predicts=(), predicted_if_false=(), added_at="")
        for name in names
    ]


def piece(name: str, grade: Grade = "A", group: str | None = None) -> Evidence:
    return Evidence(
        id=name,
        type="measurement",
        source="",
        recorded_at="",
        grade=grade,
        group=group or name,
    )


def fit(suspect: str, evidence: str, fit: Fit, by: str = "rule") -> Rating:
    return Rating(suspect=suspect, evidence=evidence, fit=fit, why="", by=by)


def test_least_contradicted_suspect_stands_first() -> None:
    """Much that fits does not outweigh one thing that does not."""
    order = rank(
        suspects("knob", "proxy"),
        [piece("a"), piece("b"), piece("c")],
        [
            fit("knob", "a", "CC"),
            fit("knob", "b", "CC"),
            fit("knob", "c", "I"),
            fit("proxy", "a", "N"),
        ],
    )
    assert [one.suspect for one in order.suspects] == ["proxy", "knob"]


def test_pieces_of_one_group_count_once() -> None:
    """A table and its pasted copy weigh no more than the table."""
    ratings = [fit("knob", "a", "I"), fit("knob", "b", "I")]
    alone = rank(suspects("knob"), [piece("a", group="doc")], ratings)
    copied = rank(suspects("knob"), [piece("a", group="doc"), piece("b", group="doc")], ratings)
    apart = rank(suspects("knob"), [piece("a"), piece("b")], ratings)
    assert alone.suspects[0].inconsistency == copied.suspects[0].inconsistency == 1.0
    assert apart.suspects[0].inconsistency == 2.0


def test_weak_evidence_weighs_less() -> None:
    """A number without its environment hardly moves what a blocked experiment says."""
    order = rank(
        suspects("knob", "proxy"),
        [piece("weak", "E"), piece("strong", "A")],
        [fit("proxy", "weak", "II"), fit("knob", "strong", "I")],
    )
    assert [one.suspect for one in order.suspects] == ["proxy", "knob"]


def test_evidence_that_fits_everyone_alike_tells_nothing() -> None:
    """A piece rated the same for all suspects has diagnosticity zero."""
    order = rank(
        suspects("knob", "proxy"),
        [piece("same"), piece("telling")],
        [
            fit("knob", "same", "C"),
            fit("proxy", "same", "C"),
            fit("knob", "telling", "II"),
            fit("proxy", "telling", "C"),
        ],
    )
    assert order.diagnosticity == {"same": 0.0, "telling": 3.0}


def test_piece_that_the_order_hangs_on_is_named() -> None:
    """The single piece whose removal would put another suspect first is pointed out."""
    order = rank(
        suspects("knob", "proxy"),
        [piece("hinge", "D"), piece("small", "E")],
        [
            fit("knob", "hinge", "II"),
            fit("proxy", "small", "I"),
            fit("knob", "small", "N"),
            fit("proxy", "hinge", "N"),
        ],
    )
    assert order.suspects[0].suspect == "proxy"
    assert order.flipped_by == ("hinge",)


def test_suspect_that_nobody_rated_stands_behind_the_rated() -> None:
    """Silence about a suspect does not make it the likeliest."""
    order = rank(suspects("quiet", "knob"), [piece("a")], [fit("knob", "a", "II")])
    assert [one.suspect for one in order.suspects] == ["knob", "quiet"]


def test_model_does_not_overrule_person_nor_person_the_rule() -> None:
    """What an assistant says of a piece counts only where nobody better said anything."""
    for winner, others in [("rule", ["llm", "human"]), ("human", ["llm"])]:
        ratings = [fit("knob", "a", "I", winner), *(fit("knob", "a", "CC", by) for by in others)]
        order = rank(suspects("knob"), [piece("a")], ratings)
        assert (order.suspects[0].inconsistency, order.suspects[0].consistency) == (1.0, 0.0)
