"""Ids of inference requests that Shoal makes itself.

Where they are captured, statistics and what is asked again pass them over: no client sent them.
"""

from typing import Final

COMPARISON: Final = "shoal-comparison"  # golden cases, and inputs that both versions are asked
LOAD_SWEEP: Final = "shoal-load-sweep"  # of the load client: sweeps, tunings, `shoal bench`
FIRST_INFERENCE: Final = "shoal-first-inference"  # of the agent, at each start of a replica
OWN_REQUESTS: Final = frozenset({COMPARISON, LOAD_SWEEP, FIRST_INFERENCE})
