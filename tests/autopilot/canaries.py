"""Bad candidates are withdrawn before a person looks, good ones are not."""

import time
from typing import Any

from shoal.client.rollouts import UNDER_WAY
from tests.autopilot import models
from tests.autopilot.report import say
from tests.autopilot.world import Paced, Some, World, load, pause, seconds
from tests.chaos.studio import until

CAUGHT_WITHIN = 200  # requests of the candidate
BACK_S = 5.0
SHARE = 0.05  # of a bad version's requests that go wrong
STEPS = [
    {"percent": 10, "hold_s": 15},
    {"percent": 50, "hold_s": 10},
    {"percent": 100, "hold_s": 0},
]
EACH_S = 0.08  # of eight callers: 100 requests a second
PATIENCE_S = 120.0


def errors(world: World) -> None:
    """A canary of whose requests 5 % fail."""
    with _beside(world, "quote", models.failing(SHARE)) as callers:
        ended = _rolled_out(world, "quote")
        pause(1)
    shown = _figure(ended, "errors")
    bad, asked = int(shown["bad"]), int(shown["of"])
    world.report.must("it is withdrawn", ended["state"] == "Withdrawn", ended["reason"])
    world.report.within("caught within", asked, CAUGHT_WITHIN, "a lot of 1 in 20", "requests")
    answers = callers.of("green")
    failures = [at for at, what, _ in answers if what != "200"]
    if len(failures) >= bad:
        # as clients saw it: from the failure that tipped the scales to the candidate's last answer
        world.report.within(
            "from that figure until the candidate is asked nothing",
            answers[-1][0] - failures[bad - 1],
            BACK_S,
        )
    world.delete("quote")


def answers(world: World) -> None:
    """A canary that answers 5 % of the same inputs otherwise."""
    with _beside(world, "judged", models.erring(SHARE)) as callers:
        ended = _rolled_out(world, "judged", compare={"per_minute": 600})
        at = seconds(ended["finished_at"])
        pause(1)
    compared = _figure(ended, "answers")
    world.report.must("it is withdrawn", ended["state"] == "Withdrawn", ended["reason"])
    world.report.within(
        "caught within", compared["of"], CAUGHT_WITHIN, "a lot of 1 in 20", "inputs"
    )
    late = callers.of("green")[-1][0] - at
    world.report.within("from the decision until it is asked nothing", max(0.0, late), BACK_S)
    world.report.must("no client has seen an error", callers.lost == 0, f"{callers.lost} lost")
    world.delete("judged")


def copies(world: World) -> None:
    """A candidate that fails 5 % of the copies that it gets never answers anybody."""
    # why as many as a canary's first step: with more of them fewer answer beside each
    shadow = {"percent": 10, "hold_s": 60}
    with _beside(world, "copied", models.failing(SHARE)) as callers:
        ended = _rolled_out(world, "copied", shadow=shadow)
        pause(1)
    shown = _figure(ended, "errors")
    world.report.must("it is withdrawn", ended["state"] == "Withdrawn", ended["reason"])
    world.report.must("that is for copies", ended["stages"][0]["status"] == "failed", "a step")
    world.report.within("caught within", shown["of"], CAUGHT_WITHIN, "a lot of 1 in 20", "copies")
    world.report.must("no client has seen an error", callers.lost == 0, f"{callers.lost} lost")
    world.delete("copied")


def switch(world: World) -> None:
    """The same version gets all of the traffic at once; one that fails gives it back."""
    watched = [{"percent": 0, "hold_s": 15}, {"percent": 100, "hold_s": 15}]
    how: Any = {"strategy": "blue_green", "steps": watched}
    with _beside(world, "blue-green", models.failing(0)) as callers:
        ended = _rolled_out(world, "blue-green", **how)
    world.report.must("it keeps the traffic", ended["state"] == "Succeeded", ended["reason"])
    world.report.must("no request fails", callers.lost == 0, f"{callers.lost} of {callers.sent}")
    world.delete("blue-green")
    with _beside(world, "back", models.failing(SHARE)) as callers:
        ended = _rolled_out(world, "back", **how)
        pause(1)
    asked = int(_figure(ended, "errors")["of"])
    world.report.must("it is withdrawn", ended["state"] == "Withdrawn", ended["reason"])
    # why more than of a canary: all of the traffic comes between two looks
    world.report.within("caught within", asked, 2 * CAUGHT_WITHIN, "all of the traffic", "requests")
    late = callers.of("green")[-1][0] - seconds(ended["finished_at"])
    world.report.within("from the decision until it is asked nothing", max(0.0, late), BACK_S)
    world.delete("back")


def same(world: World) -> None:
    """The same version once more goes through all steps."""
    with _beside(world, "twin", models.failing(0)) as callers:
        ended = _rolled_out(world, "twin", compare={"per_minute": 60})
    world.report.must("it gets all of the traffic", ended["state"] == "Succeeded", ended["reason"])
    world.report.must("no request fails", callers.lost == 0, f"{callers.lost} of {callers.sent}")
    world.delete("twin")


def _beside(world: World, name: str, code: str) -> Paced:
    """Callers of an endpoint whose candidate, ``green``, runs ``code``; of before it fails none."""
    world.endpoint(name, models.failing(0))
    world.endpoint(name, code, "green", traffic=0)
    return load(world, Some, name, EACH_S)


def _rolled_out(world: World, name: str, **how: Any) -> Any:
    """The rollout once it has ended."""
    began = time.monotonic()
    world.client.start_rollout(name, "green", **{"steps": STEPS, **how})
    ended = until(lambda: _over(world, name), f"the rollout of {name} ends", PATIENCE_S)
    say(f"   {ended['state']} after {time.monotonic() - began:.0f} s: {ended['reason']}")
    return ended


def _figure(ended: Any, measure: str) -> Any:
    return next(one for one in ended["figures"] if one["measure"] == measure)


def _over(world: World, name: str) -> Any:
    shown = world.client.get_rollout(name)
    return shown if shown["state"] not in UNDER_WAY else None
