"""An OpenAI-style engine that behaves as its script says: for faults no real engine has on call.

`script` is the grammar, `answers` makes text, `metrics_page` its counters in SGLang's or vLLM's
names, `scheduler` the slots and the queue, `server` the sockets.
"""
