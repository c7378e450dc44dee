"""Outputs on the host that clients want in device memory: copied in the thread that has them."""

from collections.abc import Mapping

from worker_runtime.errors import RuntimeFault
from worker_runtime.types.device_memory import DeviceWindow
from worker_runtime.types.request import Response


def placed(windows: Mapping[str, DeviceWindow], response: Response) -> Response:
    """``response``, whose outputs are in their windows now; an error where that did not go.

    Texts, and what does not fit, are left to whoever writes the answer.
    """
    for name, array in zip(response.names, response.arrays, strict=True):
        window = windows.get(name)
        if (
            window is None
            or window.filled
            or array.dtype.hasobject
            or array.nbytes > window.byte_size
        ):
            continue
        try:
            window.write(array)
        except RuntimeFault as error:
            return Response(error=error)
        window.filled = True
    return response
