/* A CUDA driver made of files, for tests: what worker_runtime asks of libcuda.so.1, and no more.

   A handle holds the path of a file, which is the "device memory". Addresses lie where no host memory
   is, so that whoever treats one as a host pointer dies of it. Every call wants a context, as in CUDA. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define DEVICE (1ull << 62)
#define REGIONS 64
enum { OK = 0, INVALID_VALUE = 1, INVALID_DEVICE = 101, INVALID_CONTEXT = 201, INVALID_HANDLE = 400 };

typedef struct { char reserved[64]; } Handle;
static struct { char *host; size_t size; } regions[REGIONS];
static __thread void *current;

static int count(void) {
    const char *text = getenv("TEST_CUDA_DEVICES");
    return text ? atoi(text) : 1;
}

static int find(uint64_t address, size_t length) {
    for (int i = 0; i < REGIONS; i++) {
        uint64_t start = (uint64_t)(uintptr_t)regions[i].host + DEVICE;
        if (regions[i].host && address >= start && address + length <= start + regions[i].size) return i;
    }
    return -1;
}

int cuInit(unsigned flags) { return flags ? INVALID_VALUE : OK; }

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

int cuIpcCloseMemHandle(uint64_t address) {
    int i = current ? find(address, 0) : -1;
    if (i < 0) return current ? INVALID_VALUE : INVALID_CONTEXT;
    munmap(regions[i].host, regions[i].size);
    regions[i].host = NULL;
    return OK;
}
