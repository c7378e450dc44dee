"""Registration of shared memory: one RPC per kind of memory and deed."""

from typing import Any

from worker_runtime.core.shared_memory import SharedMemory
from worker_runtime.protocols.grpc.simple import Query
from worker_runtime.types.listening import Category
from worker_runtime.types.triton_messages import service_pb2 as pb


class Memory:
    def __init__(self, memory: SharedMemory) -> None:
        self._memory = memory

    def by_name(self) -> dict[str, Query]:
        answers = {
            "SystemSharedMemoryStatus": self._system_status,
            "SystemSharedMemoryRegister": self._system_register,
            "SystemSharedMemoryUnregister": self._system_unregister,
            "CudaSharedMemoryStatus": self._cuda_status,
            "CudaSharedMemoryRegister": self._cuda_register,
            "CudaSharedMemoryUnregister": self._cuda_unregister,
        }
        return {
            name: Query(getattr(pb, f"{name}Request"), Category.SHARED_MEMORY, answer)
            for name, answer in answers.items()
        }

    def _system_status(self, message: Any) -> Any:
        return _regions(
            pb.SystemSharedMemoryStatusResponse(), self._memory.system_status(message.name)
        )

    def _system_register(self, message: Any) -> Any:
        self._memory.register_system(message.name, message.key, message.offset, message.byte_size)
        return pb.SystemSharedMemoryRegisterResponse()

    def _system_unregister(self, message: Any) -> Any:
        self._memory.unregister_system(message.name)
        return pb.SystemSharedMemoryUnregisterResponse()

    def _cuda_status(self, message: Any) -> Any:
        return _regions(pb.CudaSharedMemoryStatusResponse(), self._memory.cuda_status(message.name))

    def _cuda_register(self, message: Any) -> Any:
        self._memory.register_cuda(
            message.name, message.raw_handle, message.device_id, message.byte_size
        )
        return pb.CudaSharedMemoryRegisterResponse()

    def _cuda_unregister(self, message: Any) -> Any:
        self._memory.unregister_cuda(message.name)
        return pb.CudaSharedMemoryUnregisterResponse()


def _regions(reply: Any, rows: list[dict[str, Any]]) -> Any:
    """Status answers are maps by the region's name."""
    for row in rows:
        region = reply.regions[row["name"]]
        for field, value in row.items():
            setattr(region, field, value)
    return reply
