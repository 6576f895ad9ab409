"""Benchmark documents and result files in, graded evidence out.

Rules
-----
1. A document may raise a suspect; it never convicts one. Unknown is not good: no stated number
   of runs counts as one run, no stated order as one arm after the other.
2. Nothing is guessed. What is ambiguous yields no number and a warning that says what was not
   understood and how to say it clearly.
3. Documents are untrusted: every loop has a bound, and no input makes the reader crash.

How a file flows
----------------
`formats` sniffs a file and hands it to one reader. `markdown` and `delimited` find tables,
`columns` gives each column a role, `compare` turns rows into comparisons with recomputed gains
and suspected dips, `facts` reads the text round a table, `grade` caps the evidence grade by
rules. Result files become runs (`result_files`); runs become a comparison only when somebody
says which file is which arm (`arms`).
"""
