"""One thing of the victim's session that can be changed alone.

Theory of operation
-------------------
A suspect that cannot be bypassed, or whose bypass says nothing, is still found by experiment: the
victim's session beside the same session with one thing changed, at the same hop, turn by turn. If
the symptom goes with the change and stays without it, the symptom depends on that thing. An axis
is data: how to change a session, and how to say what was changed. `registry.AXES` lists them;
`observed` reads what came out; `choice` picks the one that tells the suspects apart.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from exonerate.core.deployment.model import Deployment
from exonerate.core.diagnosis.facts import Facts
from exonerate.core.scene import ProbeSession

Vary: TypeAlias = Callable[[ProbeSession, Facts, Deployment], ProbeSession | None]

FLIP_VALUES = ("flips", "same")


@dataclass(frozen=True, slots=True, kw_only=True)
class Axis:
    """One way to change the victim's session, and nothing else of it.

    Args:
        slug: names the observable, `<slug>-flip`, and the sessions.
        changed: what was changed, as it follows "the victim's session".
        vary: the changed session, or None where the victim is like that already, or it cannot be
            changed here. Pure.
        crowd: how many of the changed sessions run at once, where that is what is changed; None
            where the axis does not apply.
        same_prompts: both sides ask the same questions, so that their texts can be compared.
        from_the_first: whether the first request of a session is changed as well. Where it is not,
            a symptom that is there from the first request on cannot go.
    """

    slug: str
    changed: str
    vary: Vary
    crowd: Callable[[Deployment], int | None] | None = None
    same_prompts: bool = False
    from_the_first: bool = True

    @property
    def observable(self) -> str:
        """The observable that a scene of this axis fills."""
        return f"{self.slug}-flip"


def flip_name(session: str) -> tuple[str, str, str] | None:
    """(`axis` or `control`, slug, number) of a session's name; None for other sessions."""
    label, at, _ = session.partition("@")
    kind, dash, rest = label.partition("-")
    slug, _, number = rest.rpartition("-")
    if not at or not dash or kind not in ("axis", "control") or not slug:
        return None
    return kind, slug, number


def beside(session: str, hop: str) -> str:
    """What the names of a session's crowd begin with."""
    return f"crowd@{hop}/{session}/"
