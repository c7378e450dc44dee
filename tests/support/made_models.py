"""Made response surfaces of three kinds of models under a closed load, to search in."""

import random
from collections.abc import Callable
from dataclasses import dataclass

from controlplane.tuning.space import Setting

CONCURRENCY = 32
PROCESSORS = 4


@dataclass(frozen=True)
class MadeModel:
    """A batch of n takes ``call_us + item_us * n``; more instances than processors take turns."""

    call_us: float
    item_us: float
    turns: float  # what each instance too many costs, as a share

    def throughput(self, setting: Setting) -> float:
        at_work = min(setting.instances, PROCESSORS)
        share = CONCURRENCY / setting.instances  # requests at each instance
        full = min(float(max(1, setting.batch)), max(1.0, share))
        waits = setting.delay_us if setting.batch > 1 and full < setting.batch else 0
        # several instances keep the processors at work while one waits
        batch_us = self.call_us + self.item_us * full
        busy = at_work * full / batch_us
        idle = setting.instances * full / (batch_us + waits)
        crowd = 1 + self.turns * max(0, setting.instances - PROCESSORS)
        return 1e6 * min(busy, idle) / crowd


KINDS = {
    "calls cost most": MadeModel(4000, 100, 0.05),
    "items cost most": MadeModel(200, 900, 0.15),
    "tiny": MadeModel(60, 4, 0.4),
}


def noisy(model: MadeModel, seed: int, share: float = 0.03) -> Callable[[Setting], float]:
    """As a busy machine measures it: some noise, and now and then something else runs."""
    chance = random.Random(seed)

    def measure(setting: Setting) -> float:
        hiccup = 0.9 if chance.random() < 0.1 else 1.0
        return model.throughput(setting) * hiccup * max(0.5, chance.gauss(1, share))

    return measure
