"""The plan of a change."""

from __future__ import annotations

from exonerate.core.change.plan import smoke_of
from exonerate.core.deployment.model import Deployment, Hop, Service, Victim

DEPLOYMENT = Deployment(
    name="d",
    model="m",
    folder="/srv",
    hops=(Hop(name="engine", role="engine", url="http://127.0.0.1:8000"),),
    victim=Victim(headers=(("Authorization", "Bearer x"),), api_key_env="KEY", deadline_s=7.0),
)


def test_the_smoke_request_goes_straight_to_the_hop_of_the_service() -> None:
    """One short request of the victim's kind on a fresh connection, without its headers."""
    smoke = smoke_of(DEPLOYMENT, Service(name="s", hop="engine", start=("x",)))
    assert smoke is not None
    assert (smoke.url, smoke.rounds, smoke.connection) == ("http://127.0.0.1:8000", 1, "fresh")
    assert smoke.request.headers == ()
    assert smoke.request.api_key_env == "KEY"
    assert smoke.deadline_s == 7.0


def test_a_service_without_a_hop_has_no_smoke_request() -> None:
    """Where no address is known nothing is asked."""
    assert smoke_of(DEPLOYMENT, Service(name="s", start=("x",))) is None
