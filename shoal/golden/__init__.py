"""Golden cases: saved calls with the answers that they should get, asked of a deployment."""

from shoal.golden.junit import junit
from shoal.golden.running import Comparison, Outcome, compare, golden, run

__all__ = ["Comparison", "Outcome", "compare", "golden", "junit", "run"]
