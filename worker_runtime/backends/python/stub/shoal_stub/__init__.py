"""What runs in the process of one Python model instance.

Only numpy and the standard library are used, and the oldest Python that a model's own environment
may bring (3.9): the server's packages are not there.
"""
