"""Sequence batching: requests that belong together meet the same slot of the same instance.

The table knows which sequence has which slot, a batcher forms the batches of one instance; both are
pure. The scheduler feeds them time and requests.
"""
