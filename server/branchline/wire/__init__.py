"""Bytes to typed messages and back: framing, transports, JSON-RPC, the table of methods.

Knows only the bottom of the package (`codec`, `errors`, `entries`, `settings`) and pygls. What a
method does is passed in as a handler; no session, file or tree is known here.
"""
