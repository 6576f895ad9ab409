"""Compare two arms from trials that were recorded earlier, by anyone: `ab --from TRIALS.csv`."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from exonerate.core.experiment.answer import Surroundings, comparison_answer
from exonerate.core.experiment.gate import broken_cells
from exonerate.core.experiment.table_gates import gates_of_table, not_examined_of, warnings_of
from exonerate.core.experiment.trials_csv import choose_arms, read_trials
from exonerate.core.json_types import JsonObject
from exonerate.core.stats.comparison import Question, compare
from exonerate.core.stats.stopping import plan_for
from exonerate.core.stats.trials import Cell, TrialTable, tabulate
from exonerate.errors import ExonerateError

DEFAULT_METRIC = "output_tokens_per_s"


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialsRequest:
    """What the operator asks of a file of trials.

    `blocks_planned` and `looks` say what was fixed before the first block; more blocks than
    planned are judged by the e-process.
    """

    question: Question = field(default_factory=Question)
    baseline: str | None = None
    candidate: str | None = None
    metric: str = DEFAULT_METRIC
    blocks_planned: int | None = None
    looks: bool = False


def analyse_trials(content: bytes, name: str, request: TrialsRequest) -> JsonObject:
    """The comparison (`exonerate.comparison/1`) of the two arms in the file `name`.

    Raises:
        ExonerateError: the file or the request cannot be used; names line or cell.
    """
    trials = read_trials(content, name)
    arms = choose_arms(trials, name, baseline=request.baseline, candidate=request.candidate)
    table = tabulate(trials, arms)
    question = replace(
        request.question,
        plan=plan_for(
            blocks=len(table.blocks), blocks_planned=request.blocks_planned, looks=request.looks
        ),
    )
    _check_cells(question.primary or (), table, "--primary")
    _check_cells(question.guards, table, "--guard")
    gates = gates_of_table(table)
    return comparison_answer(
        compare(table, question, invalid=broken_cells(gates, table.cells)),
        question,
        Surroundings(
            metric=request.metric,
            gates=gates,
            warnings=warnings_of(table),
            not_examined=not_examined_of(table),
        ),
    )


def _check_cells(cells: tuple[Cell, ...], table: TrialTable, option: str) -> None:
    for cell in cells:
        if cell not in table.cells:
            raise ExonerateError(
                f"`{option}` names cell {cell}, which the trials do not have",
                f"the cells are {', '.join(map(str, table.cells))}",
            )
