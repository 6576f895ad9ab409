"""Suspect classes that come from elsewhere: whether one can stand beside the built-in ones.

A foreign class is data like the others. It is rated, and convicted, by the same rules; it can
predict what is observed and nothing else.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import get_args

from exonerate.core.diagnosis.catalogue.registry import BUILT_IN
from exonerate.core.diagnosis.suspect import Layer, SuspectClass
from exonerate.core.diagnosis.vocabulary import VALUES

ROLES = ("proxy", "router", "prefill", "decode", "engine")
PRIOR_MAX = 0.2
"""No foreign class is believed more, before anything was seen, than that all is well."""


@dataclass(frozen=True, slots=True)
class PluggedClasses:
    """Classes of other distributions, and the name under which they judged."""

    classes: tuple[SuspectClass, ...] = ()
    origins: tuple[str, ...] = ()
    """Distribution and version of each origin."""

    def rules(self, built_in: str) -> str:
        """The version of the rules with these classes: a verdict says which rules made it."""
        return "+".join([built_in, *sorted(self.origins)])


NOTHING_PLUGGED = PluggedClasses()


def problems_of(value: object, others: Sequence[SuspectClass] = ()) -> list[str]:
    """What is wrong with a class that was given, in words; nothing where it can be used."""
    if not isinstance(value, SuspectClass):
        return [f"it is no `SuspectClass` but {type(value).__name__}"]
    return list(_problems(value, others))


def _problems(given: SuspectClass, others: Sequence[SuspectClass]) -> Iterator[str]:
    known = {c.slug for c in (*BUILT_IN, *others)}
    if not given.slug or given.slug in known:
        yield f"`slug` is `{given.slug}`, which is there already" if given.slug else "no `slug`"
    if given.layer not in get_args(Layer):
        yield f"`layer` is `{given.layer}`; it can be {', '.join(get_args(Layer))}"
    wrong = [role for role in given.roles if role not in ROLES]
    if wrong or not given.roles:
        yield f"`roles` must be some of {', '.join(ROLES)}"
    if not 0 < given.prior <= PRIOR_MAX:
        yield f"`prior` must be above 0 and at most {PRIOR_MAX}"
    if given.total:
        yield "`total` is for what says that all is well"
    yield from _wrong_predictions(given.predicts)
    unknown = [name for name in (*given.needs, *given.needs_one_of) if name not in VALUES]
    if unknown:
        yield f"`needs` names what is not observed: {', '.join(unknown)}"


def _wrong_predictions(predicts: Mapping[str, frozenset[str]]) -> Iterator[str]:
    if "through" not in predicts:
        yield "`predicts` must say what is seen `through` its hop"
    for name, values in predicts.items():
        if name not in VALUES:
            yield f"`predicts` names `{name}`, which is not observed"
        elif not values or not values <= set(VALUES[name]):
            yield f"`{name}` can be {', '.join(VALUES[name])}"
