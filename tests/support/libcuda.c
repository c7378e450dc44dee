/* A CUDA driver made of files, for tests: what worker_runtime and its clients ask of libcuda.so.1, and no more.

   A handle holds the path of a file, which is the "device memory". Addresses lie where no host memory
   is, so that whoever treats one as a host pointer dies of it, unless DEVICE is given as 0: then the host
   stands for the device (gpu_double.py). Every call wants a context, as in CUDA. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#ifndef DEVICE
#define DEVICE (1ull << 62)
#endif
#define REGIONS 64
enum { OK = 0, INVALID_VALUE = 1, INVALID_DEVICE = 101, INVALID_CONTEXT = 201, OPERATING_SYSTEM = 304, INVALID_HANDLE = 400 };

typedef struct { char reserved[64]; } Handle;
static struct { char *host; size_t size; char path[48]; } regions[REGIONS]; /* a path: allocated here */
static __thread void *current;

static int count(void) {
    const char *text = getenv("TEST_CUDA_DEVICES");
    return text ? atoi(text) : 1;
}

static int find(uint64_t address, size_t length) {
    for (int i = 0; i < REGIONS; i++) {
        uint64_t start = (uint64_t)(uintptr_t)regions[i].host + DEVICE;
        /* the end of one may be where the next begins */
        int inside = address >= start && address < start + regions[i].size;
        if (regions[i].host && inside && address + length <= start + regions[i].size) return i;
    }
    return -1;
}

/* As drivers since 570 do it: a thread is named by a file of /proc, and a socket listens on which other
   processes would be given descriptors. Who is refused either is told that the system failed. */
static int started(void) {
    char path[64];
    snprintf(path, sizeof path, "/proc/self/task/%d/comm", gettid());
    FILE *comm = fopen(path, "w");
    if (!comm) return OPERATING_SYSTEM;
    fclose(comm);
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    static int uvm = -1;
    int length = snprintf(name.sun_path + 1, sizeof name.sun_path - 1, "cuda-uvmfd-%d-%p", getpid(), (void *)&uvm);
    uvm = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)length);
    return uvm < 0 || bind(uvm, (struct sockaddr *)&name, size) || listen(uvm, 16) ? OPERATING_SYSTEM : OK;
}

int cuInit(unsigned flags) {
    static int code = -1;
    if (flags) return INVALID_VALUE;
    if (code < 0) code = started();
    return code;
}

int cuDeviceGetCount(int *found) { *found = count(); return OK; }

int cuDeviceGet(int *device, int ordinal) {
    if (ordinal < 0 || ordinal >= count()) return INVALID_DEVICE;
    *device = ordinal;
    return OK;
}

/* 16 bytes; the last one counts the devices from the end: no order that anybody could guess. */
int cuDeviceGetUuid_v2(unsigned char *uuid, int device) {
    if (device < 0 || device >= count()) return INVALID_DEVICE;
    for (int i = 0; i < 15; i++) uuid[i] = (unsigned char)(0xa0 + i);
    uuid[15] = (unsigned char)(count() - 1 - device);
    return OK;
}

int cuDevicePrimaryCtxRetain(void **context, int device) {
    *context = (void *)(uintptr_t)(device + 1);
    return OK;
}

int cuCtxSetCurrent(void *context) { current = context; return OK; }

/* One below the other: whoever pushes leaves what was current before as it was. */
static __thread void *below[8];
static __thread int depth;

int cuCtxPushCurrent_v2(void *context) {
    if (!context || depth == 8) return INVALID_CONTEXT;
    below[depth++] = current;
    current = context;
    return OK;
}

int cuCtxPopCurrent_v2(void **context) {
    if (!depth) return INVALID_CONTEXT;
    if (context) *context = current;
    current = below[--depth];
    return OK;
}

int cuCtxSynchronize(void) { return current ? OK : INVALID_CONTEXT; }

int cuStreamSynchronize(void *stream) { return current && !stream ? OK : INVALID_CONTEXT; }

int cuIpcOpenMemHandle_v2(uint64_t *address, Handle handle, unsigned flags) {
    if (!current) return INVALID_CONTEXT;
    if (flags != 1 || memchr(handle.reserved, 0, sizeof handle.reserved) == NULL) return INVALID_VALUE;
    int file = open(handle.reserved, O_RDWR);
    struct stat about;
    if (file < 0 || fstat(file, &about)) return INVALID_HANDLE;
    for (int i = 0; i < REGIONS; i++) {
        if (regions[i].host) continue;
        regions[i].host = mmap(NULL, about.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
        regions[i].size = about.st_size;
        close(file);
        *address = (uint64_t)(uintptr_t)regions[i].host + DEVICE;
        return OK;
    }
    close(file);
    return INVALID_VALUE;
}

/* A file in /dev/shm, whose name is the handle: the folder is made of memory, as a device is. */
int cuMemAlloc_v2(uint64_t *address, size_t length) {
    if (!current) return INVALID_CONTEXT;
    for (int i = 0; i < REGIONS; i++) {
        if (regions[i].host) continue;
        static int made;
        snprintf(regions[i].path, sizeof regions[i].path, "/dev/shm/test_cuda_%d_%d", getpid(), __sync_fetch_and_add(&made, 1));
        int file = open(regions[i].path, O_CREAT | O_EXCL | O_RDWR, 0600);
        if (file < 0 || ftruncate(file, length)) return INVALID_VALUE;
        regions[i].host = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
        regions[i].size = length;
        close(file);
        *address = (uint64_t)(uintptr_t)regions[i].host + DEVICE;
        return OK;
    }
    return INVALID_VALUE;
}

int cuIpcGetMemHandle(Handle *handle, uint64_t address) {
    int i = current ? find(address, 0) : -1;
    if (i < 0 || !regions[i].path[0]) return current ? INVALID_VALUE : INVALID_CONTEXT;
    memset(handle, 0, sizeof *handle);
    memcpy(handle->reserved, regions[i].path, sizeof regions[i].path);
    return OK;
}

int cuMemFree_v2(uint64_t address) {
    int i = current ? find(address, 0) : -1;
    if (i < 0 || !regions[i].path[0]) return current ? INVALID_VALUE : INVALID_CONTEXT;
    unlink(regions[i].path);
    munmap(regions[i].host, regions[i].size);
    regions[i].host = NULL;
    regions[i].path[0] = 0;
    return OK;
}

int cuMemGetAddressRange_v2(uint64_t *base, size_t *size, uint64_t address) {
    int i = current ? find(address, 0) : -1;
    if (i < 0) return current ? INVALID_VALUE : INVALID_CONTEXT;
    if (base) *base = (uint64_t)(uintptr_t)regions[i].host + DEVICE;
    if (size) *size = regions[i].size;
    return OK;
}

int cuMemcpyDtoH_v2(void *host, uint64_t address, size_t length) {
    if (!current || find(address, length) < 0) return current ? INVALID_VALUE : INVALID_CONTEXT;
    memcpy(host, (void *)(uintptr_t)(address - DEVICE), length);
    return OK;
}

int cuMemcpyHtoD_v2(uint64_t address, const void *host, size_t length) {
    if (!current || find(address, length) < 0) return current ? INVALID_VALUE : INVALID_CONTEXT;
    memcpy((void *)(uintptr_t)(address - DEVICE), host, length);
    return OK;
}

/* One side may be memory that is no region's only where the host stands for the device. */
int cuMemcpyDtoD_v2(uint64_t target, uint64_t source, size_t length) {
    int places = (find(target, length) >= 0) + (find(source, length) >= 0);
    if (!current || places < (DEVICE ? 2 : 1)) return current ? INVALID_VALUE : INVALID_CONTEXT;
    memmove((void *)(uintptr_t)(target - DEVICE), (void *)(uintptr_t)(source - DEVICE), length);
    return OK;
}

int cuIpcCloseMemHandle(uint64_t address) {
    int i = current ? find(address, 0) : -1;
    if (i < 0) return current ? INVALID_VALUE : INVALID_CONTEXT;
    munmap(regions[i].host, regions[i].size);
    regions[i].host = NULL;
    return OK;
}
