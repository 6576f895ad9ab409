"""The observables: small closed vocabularies that suspects predict.

Every observable is about one hop:

- ``through``: how the victim's own shape of session went at entries whose requests pass the hop
- ``beyond``: the same at every entry past the hop (towards the engine)
- ``fails-at``: which request of a connection failed, over the failing sessions
- ``fresh-meanwhile``: a new connection through the hop while a victim round was waiting
- ``small-meanwhile``: a request as small as can be through the hop, on a new connection meanwhile
- ``beyond-meanwhile``: a new connection past the hop while a victim round was waiting
- ``fresh-session``: many requests through the hop, each on a connection of its own
- ``engine-meanwhile``: what the engines' counters did while a victim round was waiting
- ``legs``: which of a pair of prefill and decode engines held the request meanwhile
- ``leg-answered``: whether an engine of a pair, to which a router sent the waiting request,
  answered
- ``request-left``: whether the waiting request's bytes left the hop on its upstream side
- ``request-copies``, ``left-to``: over how many connections it went on, and whether to a known hop
- ``request-read``: whether the program at the hop ever took the request from its socket
- ``ended-after``: what the failing rounds' times have in common; ``defect-kind``: what is damaged
- ``error-said``: what kind of 5xx came back
- ``same-text``, ``texts-past``: whether a question gets the text it gets past it, or further in
- ``load-text``: what becomes of the text of the same question in another crowd
- ``control``: that a known-good exchange on this host was slow too (a quick one is not reported)
- ``processor-wait``: that the hop's processes stood ready and got no processor (if they did)
- ``starved-path``: that a victim who complains of slowness has such a hop on its path (`control`)
- ``closed-while-idle``: what became of connections at the entry while they were idle
- ``period``: that the endings fall on a regular beat of the clock, or on all in flight at once
- ``abort-through``, ``abort-beyond``: whether the engine stops when a client leaves
- ``leaving``: whether the hop closes a request's connection behind it when its client has left
- ``requests-behind``: whether more requests wait behind the hop (a hop) than it has clients
- ``slots-held``: whether the engine holds more slots or cache than the work it does
- ``engine-process``: whether the engine's process was replaced, or nobody listens
- ``upstream-face``: that the hop's upstream side was in sight, and whether it leads to a known hop
- ``steps``: whether the engine's counters rose to the end of waits that were in vain, for whomever
- ``watchdog``: whether the engine's own watchdog said, for the time of a wait, that the scheduler
  stood still; ``silent`` where it is known to have had time to
- ``engine-said``: what else its log said of itself; no class predicts it, it is told
- ``gpu-failed``, ``gpu-slowed``: whether a GPU of the engine's host failed a short while ago, or
  was slowed down in a wait, for a grave reason or one that was not there before
- ``answer-held``: whether the answer's bytes reached the hop while its client got none of them
- ``spoken-by``: whether an error answer is the engine's own, by its `Server` header and its kind
- ``ended-by``: who ended the failing exchange; ``upstream``: the hop's log blames the next hop
- ``health``: what the hop's health page said while rounds waited
- ``breaker``: whether the hop kept the next ones from being asked, by its page or its log
- ``phase``: when it failed: before any byte, before the first token, or after it
- ``delivered``, ``onward-delivered``: whether the kernel at the other end acknowledged the request,
  on our own connection to the hop and on the hop's connection to the next one
- ``answer-lost``: whether the hop's own end of our connection sent what nobody acknowledged
- ``pool``: what the hop's connections to the next one were like before a request failed
- ``idle-dependence``, ``size-dependence``: whether all that failed was idle for longer, or larger,
  than all that went well
- ``next-idle``: whether the next hop closes idle connections just where requests fail
- ``connecting``: where new connections to the hop spend their time before anything is asked
- ``<axis>-flip``: whether the symptom goes when one thing of the victim's session is changed; see
  `axes`

A value is reported with how many tries showed it; mixed tries give ``mixed``, and a symptom that
some entry never showed is ``not-everywhere`` (it cannot live in a hop that every entry passes).
"""

from __future__ import annotations

from collections.abc import Mapping

from exonerate.core.diagnosis.axes.registry import FLIPS
from exonerate.core.diagnosis.client.values import CLIENT_VALUES

SYMPTOMS = (
    "ok", "slow", "hang", "cut", "lost-ending", "refused", "server-error", "no-answer",
    "no-connect", "corrupt", "burst", "jerky", "mixed", "not-everywhere",
)  # fmt: skip
ANSWERED = ("ok", "slow")
COMPLAINTS = ("hang", "slow", "truncated", "corrupted", "errors")
BROKEN_OFF = frozenset({"cut", "lost-ending", "no-answer"})
VALUES: Mapping[str, tuple[str, ...]] = {
    "through": SYMPTOMS,
    "beyond": SYMPTOMS,
    "fails-at": ("first-request", "same-request", "varying"),
    "fresh-meanwhile": ("ok", "fails"),
    "small-meanwhile": ("ok", "fails"),
    "beyond-meanwhile": ("ok", "fails"),
    "fresh-session": ("ok", "fails"),
    "engine-meanwhile": ("idle", "progressing", "queueing", "stuck", "holding"),
    "legs": ("decode-waits", "prefill-waits", "both-wait", "neither"),
    "leg-answered": ("yes", "no"),
    "request-left": ("no", "yes", "answered"),
    "request-copies": ("one", "several"),
    "left-to": ("next", "elsewhere"),
    "request-read": ("read", "unread", "not-accepted"),
    "ended-after": ("constant-silence", "own-silence", "constant-total", "varying", "at-once"),
    "defect-kind": ("special-token", "transport", "garbled", "foreign"),
    "error-said": ("timeout", "unavailable", "bad-gateway", "error"),
    "period": ("regular", "together"),
    "complaint": COMPLAINTS,
    "same-text": ("same", "differs"),
    "texts-past": ("same", "differs"),
    "load-text": ("same", "diverges", "unlike", "garbled", "foreign"),
    "closed-while-idle": ("never", "always", "after-a-while"),
    "abort-through": ("freed", "kept", "leaked"),
    "abort-beyond": ("freed", "kept", "leaked"),
    "leaving": ("passed-on", "kept-without-harm", "kept", "kept-before"),
    "requests-behind": ("as-many", "more"),
    "slots-held": ("as-live", "above-live"),
    "engine-process": ("same", "restarted", "down"),
    "steps": ("stop", "go-on"),
    "gpu-failed": ("no", "yes"),
    "gpu-slowed": ("no", "yes"),
    "watchdog": ("spoke", "silent"),
    "engine-said": (
        "gpu-error", "out-of-memory", "died", "transfer-failed", "front-end-stood-still",
        "no-token",
    ),
    "answer-held": ("yes", "no"),
    "upstream-face": ("seen", "elsewhere"),
    "spoken-by": ("hop", "engine"),
    "control": ("quick", "slow"),
    "processor-wait": ("fed", "starved"),
    "starved-path": ("no", "yes"),
    "ended-by": ("us", "hop", "network", "nobody", "upstream"),
    "breaker": ("open", "closed"),
    "health": ("ok", "fails", "silent", "loading"),
    "deep-health": ("ok", "fails", "silent", "loading"),
    "phase": ("before-head", "before-token", "after-token"),
    "delivered": ("acked", "unacked"),
    "onward-delivered": ("acked", "unacked"),
    "answer-lost": ("no", "yes"),
    "pool": ("used-closed", "kept-closed", "sound"),
    "idle-dependence": ("longer-fails", "unrelated"),
    "size-dependence": ("larger-fails", "unrelated"),
    "next-idle": ("same-time", "not-parted", "other-time", "stays-open"),
    "connecting": ("quick", "slow-name", "slow-handshake"),
    **CLIENT_VALUES,
    **FLIPS,
}  # fmt: skip
