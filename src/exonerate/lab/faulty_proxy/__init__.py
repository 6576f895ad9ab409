"""A reverse proxy that is neutral until a rule tells it to misbehave.

`rules` and `parse` are the grammar (data), `triggers` says when an armed action fires, `transforms`
changes answers, `upstream` keeps the connection to the engine, `exchange` plays one request,
`server` owns the sockets.
"""
