"""A dead broker delays background work; it does not hold up the call that asked for it."""

import contextlib
import socket
import threading

from celery import current_app
from kombu.exceptions import OperationalError


def test_a_broker_that_hangs_up_is_left_after_few_tries() -> None:
    tries = 0
    with socket.create_server(("127.0.0.1", 0)) as server:

        def hang_up() -> None:
            nonlocal tries
            with contextlib.suppress(OSError):
                while True:
                    server.accept()[0].close()
                    tries += 1

        thread = threading.Thread(target=hang_up)
        thread.start()
        broker = current_app.connection_for_write(
            url=f"redis://127.0.0.1:{server.getsockname()[1]}/0"
        )
        with contextlib.suppress(OperationalError):
            broker.default_channel.queue_declare("control")
        broker.release()
        server.shutdown(socket.SHUT_RDWR)
        thread.join(10)
    # kombu's own default is 100 tries over minutes; redis-py dials up to twice for each of ours.
    assert 1 <= tries <= 8
