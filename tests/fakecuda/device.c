/*
 * device.c - what cuInit() reads, devices, and what every call looks at first.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "fake.h"

FAKE_API struct fake fake = {
    .lock = PTHREAD_MUTEX_INITIALIZER, .done = PTHREAD_COND_INITIALIZER, .pkey = -1};

__thread bool fake_in_host_function;

/* ---- the environment ------------------------------------------------------------------------- */

static long number_of(const char *name, long otherwise)
{
    const char *text = getenv(name);
    return text && *text ? strtol(text, NULL, 10) : otherwise;
}

static size_t bytes_of(const char *name, size_t otherwise)
{
    const char *text = getenv(name);
    if (!text || !*text)
        return otherwise;
    char *end;
    size_t nbytes = strtoull(text, &end, 10);
    const char *units = "kmg", *unit = *end ? strchr(units, *end | 0x20) : NULL;
    return unit ? nbytes << 10 * (unit - units + 1) : nbytes;
}

static bool is_no(const char *name)
{
    const char *text = getenv(name);
    return text && (strcmp(text, "no") == 0 || strcmp(text, "0") == 0);
}

/* ---- calls ----------------------------------------------------------------------------------- */

/* Named functions and how often they were called. */
static struct {
    const char *name;
    unsigned calls, since;
} counts[256];

static unsigned count_locked(const char *fn)
{
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        if (counts[i].name && strcmp(counts[i].name, fn) != 0)
            continue;
        counts[i].name = fn;
        counts[i].since++;
        return ++counts[i].calls;
    }
    abort();
}

unsigned fakecuda_calls(const char *function)
{
    unsigned since = 0;
    pthread_mutex_lock(&fake.lock);
    for (size_t i = 0; i < sizeof counts / sizeof *counts && counts[i].name; i++) {
        if (strcmp(counts[i].name, function) != 0)
            continue;
        since = counts[i].since;
        counts[i].since = 0;
    }
    pthread_mutex_unlock(&fake.lock);
    return since;
}

/* FAKECUDA_FAIL=function:number:error */
static CUresult told_to_fail(const char *fn, unsigned call)
{
    const char *plan = getenv("FAKECUDA_FAIL");
    size_t length = strlen(fn);
    if (!plan || strncmp(plan, fn, length) != 0 || plan[length] != ':')
        return CUDA_SUCCESS;
    char *end;
    unsigned long number = strtoul(plan + length + 1, &end, 10);
    if (number != call)
        return CUDA_SUCCESS;
    return *end == ':' ? (CUresult)strtol(end + 1, NULL, 10) : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult fake_enter(const char *fn)
{
    if (!fake.initialised || fake.forked)
        return CUDA_ERROR_NOT_INITIALIZED;
    if (fake_in_host_function)
        return CUDA_ERROR_NOT_PERMITTED;
    pthread_mutex_lock(&fake.lock);
    CUresult result = told_to_fail(fn, count_locked(fn));
    pthread_mutex_unlock(&fake.lock);
    return result;
}

/* ---- start ----------------------------------------------------------------------------------- */

static void in_child(void)
{
    fake.forked = true; /* as with the real driver, a child of fork() has no GPU */
}

void fake_allow_device_memory(bool allowed)
{
    if (fake.pkey >= 0)
        pkey_set(fake.pkey, allowed ? 0 : PKEY_DISABLE_ACCESS);
}

static void start_locked(void)
{
    fake.ndevices = (int)number_of("FAKECUDA_DEVICES", 1);
    if (fake.ndevices > FAKE_MAX_DEVICES)
        fake.ndevices = FAKE_MAX_DEVICES;
    fake.sms = (int)number_of("FAKECUDA_SMS", 2);
    fake.memory_bytes = bytes_of("FAKECUDA_MEM", (size_t)1 << 30);
    fake.p2p = !is_no("FAKECUDA_P2P");
    fake.vmm = !is_no("FAKECUDA_VMM");
    fake.pageable = getenv("FAKECUDA_PAGEABLE") && !is_no("FAKECUDA_PAGEABLE");
    if (!getenv("FAKECUDA_LOOSE") || is_no("FAKECUDA_LOOSE"))
        fake.pkey = pkey_alloc(0, PKEY_DISABLE_ACCESS);
    pthread_atfork(NULL, NULL, in_child);
    fake.initialised = fake.ndevices > 0;
}

CUresult cuInit(unsigned flags)
{
    if (flags)
        return CUDA_ERROR_INVALID_VALUE;
    if (fake.forked)
        return CUDA_ERROR_NOT_INITIALIZED;
    pthread_mutex_lock(&fake.lock);
    if (!fake.initialised)
        start_locked();
    CUresult result = fake.initialised ? CUDA_SUCCESS : CUDA_ERROR_NO_DEVICE;
    pthread_mutex_unlock(&fake.lock);
    return result;
}

CUresult cuDriverGetVersion(int *version)
{
    *version = 13000; /* allowed before cuInit() */
    return CUDA_SUCCESS;
}

/* ---- devices --------------------------------------------------------------------------------- */

bool fake_is_device(CUdevice device)
{
    return device >= 0 && device < fake.ndevices;
}

CUresult cuDeviceGetCount(int *count)
{
    ENTER();
    *count = fake.ndevices;
    return CUDA_SUCCESS;
}

CUresult cuDeviceGet(CUdevice *device, int ordinal)
{
    ENTER();
    if (!fake_is_device(ordinal))
        return CUDA_ERROR_INVALID_DEVICE;
    *device = ordinal;
    return CUDA_SUCCESS;
}

CUresult cuDeviceGetName(char *name, int size, CUdevice device)
{
    ENTER();
    if (!fake_is_device(device) || size <= 0)
        return CUDA_ERROR_INVALID_VALUE;
    snprintf(name, (size_t)size, "Stand-in GPU");
    return CUDA_SUCCESS;
}

CUresult cuDeviceGetUuid(CUuuid *uuid, CUdevice device)
{
    ENTER();
    if (!fake_is_device(device))
        return CUDA_ERROR_INVALID_DEVICE;
    memcpy(uuid->bytes, "stand-in GPU  \0", 16);
    uuid->bytes[15] = (char)(device + 1); /* the same in every process */
    return CUDA_SUCCESS;
}

CUresult cuDeviceTotalMem(size_t *nbytes, CUdevice device)
{
    ENTER();
    if (!fake_is_device(device))
        return CUDA_ERROR_INVALID_DEVICE;
    *nbytes = fake.memory_bytes;
    return CUDA_SUCCESS;
}

CUresult cuDeviceGetAttribute(int *value, int attribute, CUdevice device)
{
    enum {
        MAX_THREADS_PER_BLOCK = 1,
        MAX_SHARED = 8,
        WARP_SIZE = 10,
        L2_CACHE_BYTES = 38,
        UNIFIED_ADDRESSING = 41,
        PAGEABLE_USES_HOST_PAGE_TABLES = 100
    };
    ENTER();
    if (!fake_is_device(device))
        return CUDA_ERROR_INVALID_DEVICE;
    const int known[][2] = {
        {MAX_THREADS_PER_BLOCK, FAKE_THREADS_PER_BLOCK},
        {MAX_SHARED, FAKE_SHARED_BYTES},
        {WARP_SIZE, 32},
        {L2_CACHE_BYTES, 4 << 20},
        {UNIFIED_ADDRESSING, 1},
        {CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, fake.sms},
        {CU_DEVICE_ATTRIBUTE_PCI_BUS_ID, device + 1},
        {CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID, 0},
        {CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID, 0},
        {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 9},
        {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, 0},
        {CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS, fake.pageable},
        {PAGEABLE_USES_HOST_PAGE_TABLES, fake.pageable},
        {CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH, 1},
        {CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, fake.vmm},
        {CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED, fake.vmm},
        {CU_DEVICE_ATTRIBUTE_CAN_USE_64_BIT_STREAM_MEM_OPS, 1}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (known[i][0] != attribute)
            continue;
        *value = known[i][1];
        return CUDA_SUCCESS;
    }
    fprintf(stderr, "fakecuda: device attribute %d: add it to device.c\n", attribute);
    return CUDA_ERROR_INVALID_VALUE;
}

CUresult cuDeviceCanAccessPeer(int *can, CUdevice device, CUdevice peer)
{
    ENTER();
    if (!fake_is_device(device) || !fake_is_device(peer))
        return CUDA_ERROR_INVALID_DEVICE;
    *can = device != peer && fake.p2p; /* as the real one: not "peer" of itself */
    return CUDA_SUCCESS;
}

CUresult cuDeviceGetP2PAttribute(int *value, int attribute, CUdevice from, CUdevice to)
{
    ENTER();
    if (!fake_is_device(from) || !fake_is_device(to) || from == to)
        return CUDA_ERROR_INVALID_DEVICE;
    if (attribute != CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED &&
        attribute != CU_DEVICE_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED)
        return CUDA_ERROR_INVALID_VALUE;
    *value = fake.p2p;
    return CUDA_SUCCESS;
}
