"""Work units per request from a model's heads: what one CTA takes on before any splitting."""

from __future__ import annotations

from dataclasses import dataclass

from exonerate.core.waves.model import checked_units
from exonerate.errors import ExonerateError

_HINT = "write query heads, KV heads and query heads per CTA on this GPU, such as `32,1,16`"


@dataclass(frozen=True, slots=True)
class Heads:
    """Heads on one GPU; latent attention (MLA) and MQA have one KV head."""

    query: int
    key_value: int
    per_cta: int

    @property
    def units(self) -> int:
        """CTAs per request: KV heads times the head tiles of one group."""
        group = self.query // self.key_value
        return self.key_value * -(-group // self.per_cta)


def parse_heads(text: str) -> Heads:
    """Heads from `query,kv,per CTA`; raises ExonerateError when they do not fit together."""
    parts = text.split(",")
    if len(parts) != 3 or not all(part.strip().isdecimal() for part in parts):
        raise ExonerateError(f"heads `{text}` cannot be read", _HINT)
    query, key_value, per_cta = (int(part) for part in parts)
    if min(query, key_value, per_cta) < 1:
        raise ExonerateError(f"heads `{text}` hold a 0", _HINT)
    if query % key_value:
        raise ExonerateError(
            f"{query} query heads cannot be shared by {key_value} KV heads",
            "query heads are a multiple of KV heads",
        )
    heads = Heads(query, key_value, per_cta)
    checked_units(heads.units)
    return heads
