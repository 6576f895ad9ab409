"""The founding story, step by step, with the commands that an operator would give."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass

import click

from exonerate.frontends.cli import exit_status
from exonerate.frontends.cli.demo.cure import SUSPECT, check_cure
from exonerate.frontends.cli.demo.narrator import Narrator
from exonerate.frontends.cli.demo.stage import (
    KNOB,
    KNOB_BASELINE,
    SECOND_KNOB,
    SECOND_REVERTED,
    HarnessRun,
    Stage,
)
from exonerate.frontends.cli.demo.tuning import (
    DOCUMENT,
    OUTPUT_TOKENS,
    PROMPT_TOKENS,
    write_document,
)

STEPS = 9


@dataclass(frozen=True, slots=True)
class Scale:
    """How long the demo takes: cells and requests of the benchmarks, blocks of the A/B."""

    cells: tuple[int, ...]
    document_requests: int
    ab_requests: int
    blocks: int


FAST = Scale(cells=(1,), document_requests=3, ab_requests=2, blocks=2)
FULL = Scale(cells=(1, 2), document_requests=6, ab_requests=6, blocks=3)


@dataclass(slots=True)
class Story:
    """The whole demo on one stage."""

    stage: Stage
    scale: Scale
    narrator: Narrator
    processes: ExitStack

    def tell(self) -> int:
        """Every step; returns the exit status of the demo."""
        self._tuned_once()
        self._wedges()
        self._wrong_suspicion()
        convicted = self._locate()
        self._read_document()
        self._restore()
        self._what_came_back()
        cured = check_cure(self.stage, self.narrator, self.processes)
        self._report()
        return self._end(convicted=convicted, cured=cured)

    def _tuned_once(self) -> None:
        self.narrator.step(
            "The knob was tuned, once",
            f"A real llama.cpp server is started by {self.stage.script.name}, which exports "
            f"{KNOB}. Each value is measured once and the table goes into {DOCUMENT}, as such "
            "tables do.",
        )
        document = write_document(self.stage, self.scale.cells, self.scale.document_requests)
        table = [line for line in document.read_text().splitlines() if line.startswith("|")]
        click.echo("\n" + "\n".join(table))
        pid = self.stage.start_engine()
        self.narrator.say(f"The engine runs with the tuned value (pid {pid}).")

    def _wedges(self) -> None:
        self.narrator.step(
            "The harness wedges",
            "A proxy stands in front of the engine. An agent makes rounds through it on one pooled "
            "connection.",
        )
        self.processes.enter_context(self.stage.proxy(faulty=True))
        self._say_run(self.stage.harness())

    def _wrong_suspicion(self) -> None:
        self.narrator.step(
            "The wrong suspicion",
            "Somebody remembers the knob. It is reverted, as the test of a hypothesis with a "
            "prediction; a second setting is changed in the same belief.",
        )
        give = self.narrator.command
        give(["case", "open", "The agent wedges after a few rounds", "--symptom", "hang"])
        give(
            ["case", "suspect", "add", f"{KNOB}=512 makes the engine hang", "--id", SUSPECT,
             "--knob", KNOB, "--mechanism", "a larger batch blocks the decode loop",
             "--predicts", f"no round hangs with {KNOB}={KNOB_BASELINE}",
             "--if-false", f"rounds still hang with {KNOB}={KNOB_BASELINE}"]
        )  # fmt: skip
        give(
            ["case", "evidence", "--statement", "it began after we tuned the batch size",
             "--by", "the person on call", "--suspect", SUSPECT]
        )  # fmt: skip
        for knob, value in ((KNOB, KNOB_BASELINE), (SECOND_KNOB, SECOND_REVERTED)):
            give(
                ["knob", "revert", knob, "--to", value, "--tests", SUSPECT,
                 "--predict", "no round hangs any more", "--reason", "a precaution", "--yes"]
            )  # fmt: skip
        self._say_run(self.stage.harness())

    def _locate(self) -> bool:
        self.narrator.step(
            "Who is it?",
            "Every hop is asked the way the harness asks; while a round waits, the engine's "
            "counters and the sockets between the hops are read.",
        )
        status = self.narrator.command(
            ["locate", "--symptom", "hang", "--budget", "120s", "--seed", str(self.stage.seed)]
        )
        return status == exit_status.FINDING

    def _read_document(self) -> None:
        self.narrator.step(
            "What did the revert cost?",
            "The old document is read, recomputed and graded; the debt is the price of what "
            "still stands.",
        )
        self.narrator.command(["read", DOCUMENT])
        self.narrator.command(["case", "evidence", "--file", DOCUMENT, "--suspect", SUSPECT])
        self.narrator.command(["debt"])

    def _restore(self) -> None:
        self.narrator.step(
            "The knobs are given back",
            "First the restore brief. Then one setting at a time: the file is exchanged in one "
            "step, the engine restarted, and its process asked whether the setting arrived.",
        )
        self.narrator.command(["knob", "restore", KNOB, "--dry-run"])
        for knob in (KNOB, SECOND_KNOB):
            self.narrator.command(["knob", "restore", knob, "--yes"])

    def _what_came_back(self) -> None:
        self.narrator.step(
            "What came back, measured",
            "A controlled comparison: blocks of one restart each, in random order, on the engine "
            "directly.",
        )
        cells = ",".join(map(str, self.scale.cells))
        self.narrator.command(
            ["ab", KNOB, "-C", cells, "--blocks", str(self.scale.blocks), "--requests",
             str(self.scale.ab_requests), "--prompt-tokens", str(PROMPT_TOKENS), "--max-tokens",
             str(OUTPUT_TOKENS), "--seed", str(self.stage.seed), "--yes"]
        )  # fmt: skip

    def _report(self) -> None:
        self.narrator.step(
            "The case on one page",
            "What was suspected, what the evidence was, who was convicted and cleared, what it "
            "had cost.",
        )
        self.narrator.command(["case", "report"])
        for name in ("report.md", "report.html"):
            self.narrator.command(["case", "report", "--out", name])
        self.narrator.command(["debt"])
        self.narrator.command(["case", "verify"])

    def _say_run(self, run: HarnessRun) -> None:
        if run.completed:
            self.narrator.say(f"The harness completed {run.done} of {run.wanted} rounds.")
        else:
            self.narrator.say(
                f"The harness wedged at round {run.wedged_at}: {run.done} of {run.wanted} rounds "
                f"after {run.seconds:.0f} s."
            )

    def _end(self, *, convicted: bool, cured: bool) -> int:
        click.echo()
        if convicted and cured:
            self.narrator.say("The proxy was to blame. The knobs are back, and nothing is owed.")
            return exit_status.DONE
        self.narrator.say("The story did not end as it should; see what the steps above say.")
        return exit_status.FINDING


def innocent_path(stage: Stage, narrator: Narrator, processes: ExitStack, clients: int) -> int:
    """The other two endings: a healthy path, or one whose engine has too much to do."""
    narrator.step(
        "Nothing is broken" if clients == 0 else "The engine has too much to do",
        "The same engine and the same harness, with a proxy that has no fault"
        + ("." if clients == 0 else f", while {clients} other clients ask for long answers."),
    )
    stage.start_engine()
    processes.enter_context(stage.proxy(faulty=False))
    if clients:
        processes.enter_context(stage.other_clients(clients))
    run = stage.harness()
    narrator.say(f"The harness completed {run.done} of {run.wanted} rounds.")
    narrator.step("Who is it?", "Every hop is asked the way the harness asks.")
    command: Sequence[str] = ["locate", "--budget", "120s", "--seed", str(stage.seed)]
    return narrator.command(command)
