"""What other installed distributions add, by entry points: engines, and classes of suspects.

Whatever is wrong with one of them is the operator's to put right, so it is said with the name of
the distribution and of the entry point, and what to do; nothing is left out in silence, because a
run without a class would be judged by other rules.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.metadata import EntryPoint, entry_points

from exonerate.core.diagnosis.catalogue.plugged import PluggedClasses, problems_of
from exonerate.core.diagnosis.suspect import SuspectClass
from exonerate.errors import ExonerateError

SUSPECTS = "exonerate.suspects"
OWN = "exonerate"


@dataclass(frozen=True, slots=True)
class Plugged:
    """One entry point, loaded."""

    name: str
    distribution: str
    version: str
    value: object


def loaded(group: str) -> list[Plugged]:
    """Everything that is registered for a group, in the order of names.

    Raises:
        ExonerateError: something of it cannot be imported.
    """
    points = sorted(entry_points(group=group), key=lambda point: (point.name, point.value))
    return [_load(point) for point in points]


def wrong(plugged: Plugged, group: str, problem: str) -> ExonerateError:
    """What to raise for a plug-in that cannot be used."""
    return ExonerateError(
        f"the plug-in `{plugged.name}` of `{plugged.distribution}` ({group}) cannot be used: "
        f"{problem}",
        f"repair it, or take it out: `pip uninstall {plugged.distribution}`",
    )


def plugged_suspects() -> PluggedClasses:
    """The classes of suspects that other distributions add.

    Raises:
        ExonerateError: one of them cannot be used.
    """
    found: list[SuspectClass] = []
    origins: dict[str, None] = {}
    for plugged in loaded(SUSPECTS):
        origins[f"{plugged.distribution}-{plugged.version}"] = None
        for value in _each(plugged.value):
            problems = problems_of(value, found)
            if problems:
                raise wrong(plugged, SUSPECTS, "; ".join(problems))
            assert isinstance(value, SuspectClass)
            found.append(value)
    return PluggedClasses(tuple(found), tuple(origins))


def _load(point: EntryPoint) -> Plugged:
    owner = point.dist
    name = owner.name if owner is not None else "an unnamed distribution"
    version = owner.version if owner is not None else "0"
    try:
        value = point.load()
    except Exception as error:  # whatever foreign code raises when it is imported
        said = f"{type(error).__name__}: {error}"
        raise wrong(Plugged(point.name, name, version, None), point.group, said) from error
    return Plugged(point.name, name, version, value)


def _each(value: object) -> Iterator[object]:
    if isinstance(value, Sequence) and not isinstance(value, str):
        yield from value
    else:
        yield value
