"""Sequence batching: requests that belong together meet the same slot of the same instance.

The table knows which sequence sits where, a lane is one instance with its slots; both are pure.
The scheduler feeds them time and requests.
"""
