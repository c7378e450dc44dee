"""What is pinned of the host's memory is counted."""

from tests.support import gpu_models as gm
from tests.support.gpu_device import Device
from tests.support.gpu_server import Server

USED = "nv_pinned_memory_pool_used_bytes"


def test_what_copies_take_of_the_hosts_memory_is_told(server: Server, device: Device) -> None:
    tensors = (f"x:FP32:{gm.WIDTH}", f"y:FP32:{gm.WIDTH}")
    server.add("pins", gm.torch_product(2), gm.config("pytorch", device, *tensors, batch=8))
    array = gm.rows_of(1, 8)
    assert (server.infer("pins", x=array) == array @ gm.weights(2)).all()
    (used,) = server.metric(USED).values()
    assert used >= array.nbytes if device.is_gpu else used == 0
    server.unload("pins")
