"""A prover of what is true of a split-K implementation, whoever wrote it.

Theory of operation
-------------------
A *target* is called through a `Runner`: our own process, a worker process that imports the target,
or any program that speaks npz. A `Trial` is one input with the split counts to try and the
properties to judge; `catalogue` lists the trials, each with the failure it stands for. `judge`
runs one trial and returns violations. For the first violation of each property and condition
`shrink` looks for a smaller input that still violates, and `saved` writes it to a file from which
`judge` can be run again. `prove` does all that in order and folds what was seen into a
`core.exactness.Proof`.

Rules: whatever the target does is an observation; the sweep goes on. A property that no trial
could reach is `not_examined`, never `holds`.
"""
