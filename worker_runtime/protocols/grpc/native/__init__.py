"""Our own HTTP/2 front end for gRPC: one asyncio protocol per connection, no task per unary call.

Frames and header blocks are pure; the connection keeps the rules of RFC 9113, the calls those of
gRPC over HTTP/2. What a call does is not decided here: a ``Service`` gets it.
"""
