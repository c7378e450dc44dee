"""A load generator over HTTP/1.1: many requests at a time, or so many a second, and what it saw.

For node agents, which measure the replicas beside them, for ``shoal bench``, and for our own
benchmarks. Standard library only, and quick to start: it runs as a process of its own.
"""
