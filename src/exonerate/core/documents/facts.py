"""What the text round a table says of its measurement: host, GPU, engine, runs, order, dates.

Each pattern names one kind of fact. Only what is written counts; a fact that no sentence gives
stays unknown, and the grade treats unknown as the worst case.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from exonerate.core.documents.model import Claim, Fact, FactKind
from exonerate.core.documents.table import Prose

_I = re.IGNORECASE
TEXT_CHARACTERS_MAX = 2_000
FACTS_MAX = 200
CLAIMS_MAX = 100

_PATTERNS: tuple[tuple[FactKind, re.Pattern[str]], ...] = (
    (
        "host",
        re.compile(r"\b(?:host(?:name)?|machine|node|server)\s*[:=]\s*([^\n;]{2,120})", _I),
    ),
    (
        "gpu",
        re.compile(
            r"\b((?:\d{1,3}\s*[x×]\s*)?(?:NVIDIA |AMD )?(?:RTX(?: PRO)? ?\d{4}[A-Za-z ]{0,20}|"
            r"[ABHL]\d{2,3}S?\b|GB?200|GB?300|H20\b|MI\d{3}X?|Tesla [A-Z]\d+))"
        ),
    ),
    ("gpu", re.compile(r"\b(sm_\d{2,3}[a-z]?)\b")),
    (
        "engine",
        re.compile(
            r"\b((?:SGLang|vLLM|llama\.cpp|TensorRT-LLM|TGI|LMDeploy|xllamacpp)"
            r"(?:[ =v@]{1,3}\d+(?:\.\d+){1,3}\w{0,12})?)",
            _I,
        ),
    ),
    ("model", re.compile(r"\bmodel\s*[:=]\s*([^\s;,]{2,120})", _I)),
    ("driver", re.compile(r"\bdriver\s*[:=]?\s*(?:version )?(\d{3}\.\d+[\d.]*)", _I)),
    (
        "commit",
        re.compile(r"\b(?:commit|sha|rev(?:ision)?)\s*[:=]?\s*`?([0-9a-f]{7,40})\b", _I),
    ),
    ("flag", re.compile(r"(?:^|[\s`(])(--[a-z][a-z0-9-]{2,60}(?:[= ][\w./:-]{1,60})?)")),
    ("flag", re.compile(r"\b([A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+=[^\s`,;)]{1,80})")),
    (
        "flag",
        re.compile(
            r"\b([a-z][a-z -]{2,40} (?:scheduling|cache|caching|graphs?|decoding) "
            r"(?:is |was |turned |switched )?(?:disabled|enabled|off|on))\b",
            _I,
        ),
    ),
    ("date", re.compile(r"\b((?:19|20)\d{2}-\d{2}-\d{2})\b")),
    ("file", re.compile(r"\b([\w./-]{1,120}\.(?:csv|jsonl?|parquet|xlsx|log))\b")),
)
_RUNS = (
    re.compile(r"\bn\s*=\s*(\d{1,4})\b"),
    re.compile(r"\b(\d{1,4})\s+(runs?|repeats?|repetitions?|restarts?|trials?|reps?)\b", _I),
    re.compile(r"\b(?:runs?|repeated|restarted)\s+(\d{1,4})\s+times\b", _I),
)
_SINGLE = re.compile(r"\b(single|one) (run|shot|measurement)\b", _I)
_INTERLEAVED = re.compile(
    r"\b(interleav\w+|alternat\w+|ABAB|ABBA|randomi[sz]ed|random order|shuffled|"
    r"(?:in|paired|of) blocks)\b",
    _I,
)
_SEQUENTIAL = re.compile(
    r"\b(sequential\w*|one after the other|first .{1,40} then|all .{1,30} then all)\b",
    _I,
)

# Words by which documents claim that a change does no harm.
_CORRECTNESS = re.compile(
    r"\b(leaks?|leakage|bit(?:wise)?[- ]?(?:identical|exact|equal)|identical|lossless|"
    r"mathematically exact|exact(?:ly)?|no (?:\S+ ){0,2}(?:regressions?|corruption|drift|loss)|"
    r"accuracy|correct(?:ness)?|deterministic|parity|nan)\b",
    _I,
)
_LABEL = re.compile(r"^(correctness|accuracy|quality|validation|result|note)s?\s*:\s*", _I)
_MEASURED = re.compile(
    r"\b(measured (?:by|with|on)|checked (?:by|with|on|against)|compared (?:with|against|over)|"
    r"max(?:imum)? (?:abs\w* )?(?:diff\w*|error)|over \d+ (?:prompts|requests|samples|tokens)|"
    r"sha-?256|torch\.equal|allclose)\b",
    _I,
)
_DEFINITION = re.compile(
    r"[`\"'“]?(\w{3,30})[`\"'”]?\s+(?:means|is defined as|is the share of|counts the)\b",
    _I,
)
_SENTENCE_END = re.compile(r"(?<=[.!?;])\s+(?=\S)")


def facts_in(prose: Iterable[Prose]) -> tuple[Fact, ...]:
    """Every fact that these lines state, first mention first, without repeats."""
    seen: dict[tuple[FactKind, str], Fact] = {}
    for line in prose:
        for fact in _facts_of_line(Prose(line.line, line.text[:TEXT_CHARACTERS_MAX])):
            seen.setdefault((fact.kind, fact.value), fact)
            if len(seen) >= FACTS_MAX:
                return tuple(seen.values())
    return tuple(seen.values())


def claims_in(prose: Iterable[Prose]) -> tuple[Claim, ...]:
    """The sentences that claim correctness. `defined`: the text says how it was measured."""
    sentences = list(_sentences(prose))
    definitions = [match for _, text in sentences for match in _DEFINITION.findall(text)]
    terms = {term.lower().rstrip("s") for term in definitions}
    claims: list[Claim] = []
    for line, sentence in sentences:
        text = _LABEL.sub("", sentence.strip(" -*>#")).strip().rstrip(".;")
        word = _CORRECTNESS.search(text)
        if word is None or text.endswith(":") or " " not in text or _DEFINITION.search(text):
            continue
        defined = word.group(0).lower().rstrip("s") in terms or bool(_MEASURED.search(text))
        claims.append(Claim(text, line, defined))
    return tuple(claims[:CLAIMS_MAX])


def _sentences(prose: Iterable[Prose]) -> Iterator[tuple[int, str]]:
    """Sentences with the line they begin on; a sentence may run over several lines."""
    paragraph: list[Prose] = []
    for line in prose:
        if paragraph and line.line != paragraph[-1].line + 1:
            yield from _split(paragraph)
            paragraph = []
        paragraph.append(Prose(line.line, line.text[:TEXT_CHARACTERS_MAX]))
    yield from _split(paragraph)


def _split(paragraph: Sequence[Prose]) -> Iterator[tuple[int, str]]:
    starts, text = [], ""
    for line in paragraph:
        starts.append((len(text), line.line))
        text += line.text + " "
    begin = 0
    for end in [*(match.start() for match in _SENTENCE_END.finditer(text)), len(text)]:
        sentence = text[begin:end]
        at = begin + len(sentence) - len(sentence.lstrip())
        if sentence.strip():
            yield max(number for offset, number in starts if offset <= at), sentence
        begin = end


def _facts_of_line(line: Prose) -> Iterator[Fact]:
    for kind, pattern in _PATTERNS:
        for match in pattern.finditer(line.text):
            yield Fact(kind, match.group(1).strip(" .,`"), line.line)
    for pattern in _RUNS:
        for match in pattern.finditer(line.text):
            restarts = "restart" in match.group(0).lower()
            yield Fact("runs", f"{match.group(1)}{' restarts' if restarts else ''}", line.line)
    if _SINGLE.search(line.text):
        yield Fact("runs", "1", line.line)
    if _INTERLEAVED.search(line.text):
        yield Fact("order", "interleaved", line.line)
    elif _SEQUENTIAL.search(line.text):
        yield Fact("order", "sequential", line.line)
