"""Split-K decode attention: an oracle, implementations to read and to run, and a prover of claims.

One decode step has one query per sequence, so its attention reads the whole KV cache and has little
to run in parallel. Split-K cuts each sequence into ranges, attends to each range alone and merges
the partial results.

Words:
    split       one contiguous range of a sequence's tokens, attended to by one block
    partial     what a split leaves: (m, l, acc), see `reference`
    combine     the merge of the partials of one row
    row         one query head of one sequence
    mates       the other sequences of the same batch

Reading order: `oracle` (the definition, float64), `reference` (the algorithm, NumPy),
`triton_kernels` (the same for a GPU), `torch_attention` (the fast path of a CPU), `prover`.
Only the `triton_*`, `torch_*` and `peers` modules need the extra `kernels`.
"""
