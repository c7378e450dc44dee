"""What is asked of a product on a card, whatever backend computes it."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import tritonclient.grpc as over_grpc

from tests.support import gpu_models as gm
from tests.support.gpu_regions import Regions, floats
from tests.support.gpu_server import Server, given, let_go, side_by_side

CALLERS, TURNS, MOST_ROWS = 8, 20, 9
ROWS = 5  # of a request by regions
BYTES = ROWS * gm.WIDTH * 4


@dataclass(frozen=True)
class Product:
    """A loaded model that multiplies by ``gm.weights(seed)``, and what its tensors are called."""

    name: str
    seed: int
    takes: str = "x"
    gives: str = "y"


def ask_every_size(server: Server, product: Product, figures: Callable[..., None]) -> None:
    """Callers side by side ask for one to nine rows at once, so that batches of every size come of
    them; no answer may be wrong."""
    factor = gm.weights(product.seed)

    def ask(part: int) -> int:
        wrong = 0
        with server.over_grpc() as client:
            for turn in range(TURNS):
                for rows in range(1, MOST_ROWS + 1):
                    array = gm.rows_of(10_000 * part + 10 * turn + rows, rows)
                    tensors = given(over_grpc, **{product.takes: array})
                    answer = client.infer(product.name, tensors, client_timeout=30)
                    wrong += not np.array_equal(answer.as_numpy(product.gives), array @ factor)
        return wrong

    wrong = sum(side_by_side(CALLERS, ask))
    figures(answers=CALLERS * TURNS * MOST_ROWS, wrong=wrong)
    assert wrong == 0


def ask_by_regions(server: Server, product: Product, regions: Regions) -> None:
    """Inputs come from a region, outputs go to another place of it, one request after the other.
    It is let go when this returns, before the model may be unloaded."""
    factor, found = gm.weights(product.seed), regions(product.name, 2 * BYTES)
    with server.over_grpc() as client:
        for turn in range(5):
            array = gm.rows_of(turn, ROWS)
            found.write(0, array.tobytes())
            tensor = over_grpc.InferInput(product.takes, [ROWS, gm.WIDTH], "FP32")
            tensor.set_shared_memory(product.name, BYTES)
            wanted = over_grpc.InferRequestedOutput(product.gives)
            wanted.set_shared_memory(product.name, BYTES, BYTES)
            client.infer(product.name, [tensor], outputs=[wanted])
            np.testing.assert_array_equal(floats(found, BYTES, ROWS, gm.WIDTH), array @ factor)
    let_go(server)
