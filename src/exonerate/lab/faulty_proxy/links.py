"""The engine's side of one exchange: one connection, or several when the request is duplicated."""

from __future__ import annotations

from dataclasses import dataclass

from exonerate.lab.duplex import Duplex
from exonerate.lab.faulty_proxy.rules import Duplicate
from exonerate.lab.faulty_proxy.upstream import Address, EngineConnections


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """Where the request goes, and how often."""

    engine: EngineConnections
    address: Address
    misrouted: bool
    duplicate: Duplicate | None


class Links:
    """The connections that carry a request and its copies."""

    def __init__(self, request: bytes, route: Route) -> None:
        self._request = request
        self._route = route
        self._links: list[Duplex] = []
        self._reused = False
        self.next_copy_at: float | None = None
        self.opened = 0

    @property
    def received_bytes(self) -> int:
        """What the engine has sent over all of them."""
        return sum(link.received_bytes for link in self._links)

    async def open(self, now: float) -> None:
        """Send the request, over the kept connection when there is one."""
        if self._route.misrouted:
            link = await self._route.engine.fresh(self._route.address)
        else:
            link, self._reused = await self._route.engine.checked_out(self._route.address)
        self._send_on(link)
        if self._route.duplicate is not None:
            self.next_copy_at = now + self._route.duplicate.after_s

    async def send_copies(self, now: float) -> None:
        """Send the copies that are due while nobody has answered."""
        duplicate = self._route.duplicate
        while duplicate is not None and self.next_copy_at is not None and now >= self.next_copy_at:
            if len(self._links) >= duplicate.copies or self.received_bytes:
                self.next_copy_at = None
                return
            self._send_on(await self._route.engine.fresh(self._route.address))
            self.next_copy_at += duplicate.after_s

    async def send_again(self) -> bool:
        """Repeat the request once when the kept connection was closed before it; whether it was."""
        if not self._reused or self.received_bytes or len(self._links) != 1:
            return False
        self._reused = False
        self._links.pop().close()
        self._send_on(await self._route.engine.fresh(self._route.address))
        return True

    @property
    def was_stale(self) -> bool:
        """Whether the request went over a kept connection that never answered it."""
        return self._reused and not self.received_bytes

    def active(self) -> Duplex | None:
        """The connection that answers: the first to speak wins, what the others say is dropped."""
        spoken = [link for link in self._links if link.received_bytes]
        if not spoken:
            return self._links[0] if len(self._links) == 1 else None
        winner = (
            spoken[0] if len(spoken) == 1 else next(link for link in spoken if not link.discard)
        )
        for link in self._links:
            link.discard = link is not winner
        return winner

    def pass_end(self) -> None:
        """Pass on that the client sends no more."""
        for link in self._links:
            link.send_eof()

    def give_back(self, *, whole: bool, strays: list[Duplex]) -> None:
        """Keep the connection of a whole answer, leave copies to run on, close the rest."""
        winner = self.active()
        for link in self._links:
            if link is winner and whole and not link.gone and not self._route.misrouted:
                self._route.engine.keep(link)
            elif link is not winner and self._route.duplicate is not None:
                link.discard = True
                strays.append(link)
            else:
                link.close()

    def _send_on(self, link: Duplex) -> None:
        self._links.append(link)
        self.opened += 1
        link.send(self._request)
