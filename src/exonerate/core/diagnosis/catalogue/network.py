"""Suspects on the way to a hop, and between a hop and the next one.

The same fault can lie on two stretches. On the way from here to a hop our own connections show it,
and the hop is the one that they lead to; between a hop and the next one only requests through the
hop show it, and the hop is the one that sends.
"""

from __future__ import annotations

from exonerate.core.diagnosis.suspect import SuspectClass

_BOXES = ("proxy", "router")
_ALL = ("proxy", "router", "prefill", "decode", "engine")
_KEEPALIVE = (
    "the client and each proxy: TCP keep-alive at an interval below the time after which idle "
    "connections are forgotten",
    "the box that forgets: a longer timeout (`nf_conntrack_tcp_timeout_established`), or a reset "
    "instead of silence",
)


def _any(*values: str) -> frozenset[str]:
    return frozenset(values)


SILENT_DROP = SuspectClass(
    slug="silent-drop",
    layer="network",
    roles=_ALL,
    prior=0.05,
    mechanism="is reached through something that forgets idle connections without a word",
    predicts={
        "through": _any("hang"),
        "beyond": _any("ok", "slow"),
        "fresh-meanwhile": _any("ok"),
        "beyond-meanwhile": _any("ok"),
        "engine-meanwhile": _any("idle"),
        "delivered": _any("unacked"),
        "leg-answered": _any("no"),
        "idle-dependence": _any("longer-fails"),
        "keepalive-flip": _any("flips"),
        "fresh-flip": _any("flips"),
        "idle-flip": _any("flips"),
        "ended-by": _any("us"),
    },
    needs=("delivered", "keepalive-flip"),
    flips="TCP keep-alive every second cures it",
    settings=_KEEPALIVE,
)
SILENT_DROP_OF_ANSWER = SuspectClass(
    slug="silent-drop",
    layer="network",
    roles=_ALL,
    prior=0.06,
    mechanism="is reached through something that forgets connections while an answer is computed, "
    "so that it never arrives",
    predicts={
        "through": _any("hang"),
        "beyond": _any("ok", "slow"),
        "engine-meanwhile": _any("idle", "progressing"),
        "request-read": _any("read"),
        "leg-answered": _any("no"),
        "delivered": _any("acked"),
        "idle-dependence": _any("unrelated"),
        "answer-lost": _any("yes"),
        "keepalive-flip": _any("flips"),
        "fresh-flip": _any("same"),
        "ended-by": _any("us"),
        "phase": _any("before-head", "before-token"),
    },
    needs=("delivered", "keepalive-flip"),
    flips="TCP keep-alive every second cures it",
    settings=_KEEPALIVE,
)
SILENT_DROP_ONWARD = SuspectClass(
    slug="silent-drop",
    layer="network",
    roles=_BOXES,
    prior=0.05,
    mechanism="reaches the next hop through something that forgets silent connections without a "
    "word",
    predicts={
        # Little else: a box that swallows by idle time is told from it by the segments alone.
        "through": _any("hang"),
        "beyond": _any("ok", "slow"),
        "engine-meanwhile": _any("idle"),
        "phase": _any("before-head"),
        "request-left": _any("no", "yes"),
        "request-read": _any("read"),
        "ended-by": _any("us"),
        "delivered": _any("acked"),
        "onward-delivered": _any("unacked"),
        "keepalive-flip": _any("same"),
        "size-flip": _any("same"),
        "idle-dependence": _any("longer-fails"),
        "idle-flip": _any("flips"),
    },
    needs=("onward-delivered", "idle-flip"),
    flips="what is idle for less time goes through",
    settings=_KEEPALIVE,
)
MTU_BLACK_HOLE = SuspectClass(
    slug="mtu-black-hole",
    layer="network",
    roles=_ALL,
    prior=0.03,
    mechanism="is reached over a link that drops large packets and tells nobody",
    predicts={
        "through": _any("hang"),
        "beyond": _any("ok", "slow"),
        "beyond-meanwhile": _any("ok"),
        "engine-meanwhile": _any("idle"),
        "delivered": _any("unacked"),
        "leg-answered": _any("no"),
        "size-flip": _any("flips"),
        "size-dependence": _any("larger-fails"),
        "idle-dependence": _any("unrelated"),
        "keepalive-flip": _any("same"),
        "fresh-flip": _any("same"),
        "ended-by": _any("us"),
        "phase": _any("before-head"),
    },
    needs=("delivered", "size-flip"),
    flips="a smaller request passes",
    settings=(
        "the hosts: a smaller MTU on the interface, or `net.ipv4.tcp_mtu_probing=1`",
        "the box on the way: let ICMP `fragmentation needed` pass, or clamp the MSS "
        "(`iptables ... -j TCPMSS --clamp-mss-to-pmtu`)",
    ),
)
MTU_BLACK_HOLE_ONWARD = SuspectClass(
    slug="mtu-black-hole",
    layer="network",
    roles=_BOXES,
    prior=0.03,
    mechanism="reaches the next hop over a link that drops large packets and tells nobody",
    predicts={
        "through": _any("hang"),
        "beyond": _any("ok", "slow"),
        "engine-meanwhile": _any("idle"),
        "phase": _any("before-head"),
        "request-left": _any("no", "yes"),
        "request-read": _any("read"),
        "ended-by": _any("us"),
        "delivered": _any("acked"),
        "onward-delivered": _any("unacked"),
        "keepalive-flip": _any("same"),
        "idle-flip": _any("same"),
        "size-flip": _any("flips"),
    },
    needs=("onward-delivered", "size-flip"),
    flips="a smaller request passes",
    settings=MTU_BLACK_HOLE.settings,
)
SLOW_CONNECT = SuspectClass(
    slug="slow-connect",
    layer="network",
    roles=_ALL,
    prior=0.06,
    mechanism="is slow to connect to: the time is lost before the request is sent",
    predicts={
        "through": _any("slow", "no-connect"),
        "connecting": _any("slow-name", "slow-handshake"),
        "beyond": _any("ok", "slow"),
        "same-text": _any("same"),
        "fresh-meanwhile": _any("ok"),
        "beyond-meanwhile": _any("ok"),
        "engine-meanwhile": _any("idle"),
        # While the connection was opened there was nothing yet to send on.
        "request-left": _any("no", "answered"),
        "ended-by": _any("us", "nobody"),
    },
    needs=("connecting",),
    flips="requests on a connection that is already open are quick",
    settings=(
        "where the name is slow: a literal address, or a resolver that answers "
        "(`options single-request timeout:1` in /etc/resolv.conf)",
        "where the handshake is slow: look for lost SYN packets (a full accept queue, a firewall); "
        "until then keep connections open",
    ),
)

CLASSES = (
    SILENT_DROP, SILENT_DROP_OF_ANSWER, SILENT_DROP_ONWARD, MTU_BLACK_HOLE, MTU_BLACK_HOLE_ONWARD,
    SLOW_CONNECT,
)  # fmt: skip
