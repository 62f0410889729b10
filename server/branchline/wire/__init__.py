"""Bytes to typed messages and back: framing, transports, JSON-RPC, the table of methods.

Knows only the bottom of the package and pygls. What a method does is passed in as a handler; no
session, file or tree is known here. `daemon_socket`, `hello` and `forwarder` are the way to the
shared daemon and import the standard library only; `listener` is its other end.
"""
