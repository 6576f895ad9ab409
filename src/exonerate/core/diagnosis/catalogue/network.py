"""Suspects on the way to a hop, and between a hop and the next one.

The same fault can lie on two stretches. On the way from here to a hop our own connections show it,
and the hop is the one that they lead to; between a hop and the next one only requests through the
hop show it, and the hop is the one that sends.
"""

from __future__ import annotations

from exonerate.core.diagnosis.suspect import BOXES, SuspectClass, any_of

_ALL = ("proxy", "router", "prefill", "decode", "engine")
_KEEPALIVE = (
    "the client and each proxy: TCP keep-alive at an interval below the time after which idle "
    "connections are forgotten",
    "the box that forgets: a longer timeout (`nf_conntrack_tcp_timeout_established`), or a reset "
    "instead of silence",
)


SILENT_DROP = SuspectClass(
    slug="silent-drop",
    layer="network",
    roles=_ALL,
    prior=0.05,
    mechanism="is reached through something that forgets idle connections without a word",
    predicts={
        "through": any_of("hang"),
        "beyond": any_of("ok", "slow"),
        "fresh-meanwhile": any_of("ok"),
        "beyond-meanwhile": any_of("ok"),
        "engine-meanwhile": any_of("idle"),
        "delivered": any_of("unacked"),
        "leg-answered": any_of("no"),
        "idle-dependence": any_of("longer-fails"),
        "keepalive-flip": any_of("flips"),
        "fresh-flip": any_of("flips"),
        "idle-flip": any_of("flips"),
        "ended-by": any_of("us"),
    },
    needs=("delivered",),
    # Some boxes forget within the second that lies between two keep-alive probes.
    needs_one_of=("keepalive-flip", "idle-flip"),
    flips="TCP keep-alive every second cures it, and so do shorter pauses",
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
        "through": any_of("hang"),
        "beyond": any_of("ok", "slow"),
        "engine-meanwhile": any_of("idle", "progressing"),
        "request-read": any_of("read"),
        "leg-answered": any_of("no"),
        "delivered": any_of("acked"),
        "idle-dependence": any_of("unrelated"),
        "answer-lost": any_of("yes"),
        "keepalive-flip": any_of("flips"),
        "fresh-flip": any_of("same"),
        "ended-by": any_of("us"),
        "phase": any_of("before-head", "before-token"),
    },
    needs=("delivered", "keepalive-flip"),
    flips="TCP keep-alive every second cures it",
    settings=_KEEPALIVE,
)
SILENT_DROP_ONWARD = SuspectClass(
    slug="silent-drop",
    layer="network",
    roles=BOXES,
    prior=0.05,
    mechanism="reaches the next hop through something that forgets silent connections without a "
    "word",
    predicts={
        # Little else: a box that swallows by idle time is told from it by the segments alone.
        "through": any_of("hang"),
        "beyond": any_of("ok", "slow"),
        "engine-meanwhile": any_of("idle"),
        "phase": any_of("before-head"),
        "request-left": any_of("no", "yes"),
        "request-read": any_of("read"),
        "ended-by": any_of("us"),
        "delivered": any_of("acked"),
        "onward-delivered": any_of("unacked"),
        "keepalive-flip": any_of("same"),
        "size-flip": any_of("same"),
        "idle-dependence": any_of("longer-fails"),
        "idle-flip": any_of("flips"),
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
        "through": any_of("hang"),
        "beyond": any_of("ok", "slow"),
        "beyond-meanwhile": any_of("ok"),
        "engine-meanwhile": any_of("idle"),
        "delivered": any_of("unacked"),
        "leg-answered": any_of("no"),
        "size-flip": any_of("flips"),
        "size-dependence": any_of("larger-fails"),
        "idle-dependence": any_of("unrelated"),
        "keepalive-flip": any_of("same"),
        "idle-flip": any_of("same"),
        "fresh-flip": any_of("same"),
        "ended-by": any_of("us"),
        "phase": any_of("before-head"),
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
    roles=BOXES,
    prior=0.03,
    mechanism="reaches the next hop over a link that drops large packets and tells nobody",
    predicts={
        "through": any_of("hang"),
        "beyond": any_of("ok", "slow"),
        "engine-meanwhile": any_of("idle"),
        "phase": any_of("before-head"),
        "request-left": any_of("no", "yes"),
        "request-read": any_of("read"),
        "ended-by": any_of("us"),
        "delivered": any_of("acked"),
        "onward-delivered": any_of("unacked"),
        "keepalive-flip": any_of("same"),
        "idle-flip": any_of("same"),
        "size-flip": any_of("flips"),
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
        "through": any_of("slow", "no-connect"),
        "connecting": any_of("slow-name", "slow-handshake"),
        "beyond": any_of("ok", "slow"),
        "same-text": any_of("same"),
        "fresh-meanwhile": any_of("ok"),
        "beyond-meanwhile": any_of("ok"),
        "engine-meanwhile": any_of("idle"),
        # While the connection was opened there was nothing yet to send on.
        "request-left": any_of("no", "answered"),
        "ended-by": any_of("us", "nobody"),
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
