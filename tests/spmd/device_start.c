/*
 * device_start.c MODE - which memory nvshmem_malloc returns, and what it says if PEs disagree.
 *
 *   two_stage   init, the number on the node, a device, the first use: GPU memory; twice
 *   device      NVS_HEAP_KIND=device: nobody selects, everybody gets a device
 *   sysmem      NVS_HEAP_KIND=sysmem: host memory, in spite of a device
 *   none        nobody selects: host memory, and the driver is not even opened
 *   some        one PE has not selected: an error that names it, then the rest of the program
 *   kinds       NVS_HEAP_KIND differs
 *   absent      one PE has no GPU: host memory for all
 *   no_gpu      nvs_malloc_device where a PE has none
 *   full        one PE has too little memory left: all get the error, and go on
 *   no_vmm      the driver cannot share memory
 */
#include "device.h"

static bool is_host_memory(volatile char *ptr)
{
    return shmem_ptr((void *)(uintptr_t)ptr, nvshmem_my_pe()) == ptr && nvs_last_error();
}

static void join(int argc, char **argv)
{
    nvshmem_init();
    spmd_join(argc, argv);
}

static void use(char *ptr)
{
    char value = (char)(spmd_me + 1), have = 0;
    CHECK(ptr, "%s", nvs_last_error());
    if (!ptr)
        nvshmem_global_exit(1);
    nvshmem_char_put(ptr, &value, 1, (spmd_me + 1) % spmd_npes);
    nvshmem_barrier_all();
    nvshmem_char_get(&have, ptr, 1, spmd_me);
    CHECK(have == (spmd_me + spmd_npes - 1) % spmd_npes + 1, "%d", have);
    nvshmem_free(ptr);
}

static bool on_device(const void *ptr)
{
    char byte;
    return driver.to_host(&byte, (uint64_t)(uintptr_t)ptr, 1) == 0;
}

static void two_stage(int argc, char **argv)
{
    for (int life = 0; life < 2; life++) {
        nvshmem_init();
        CHECK(device_select_mine(nvshmem_team_my_pe(NVSHMEMX_TEAM_NODE)) == 0, "no device");
        spmd_join(argc, argv);
        size_t before = driver.used ? driver.used() : 0;
        char *ptr = nvshmem_malloc(100);
        CHECK(ptr && on_device(ptr), "%p is not memory of the GPU: %s", (void *)ptr,
              nvs_last_error());
        for (int pe = 0; pe < spmd_npes; pe++)
            CHECK(nvshmem_ptr(ptr, pe), "PE %d is out of reach", pe);
        use(ptr);
        nvshmem_finalize();
        CHECK(!driver.used || driver.used() <= before, "%zu bytes are left", driver.used());
    }
}

static void device(int argc, char **argv)
{
    join(argc, argv);
    char *ptr = nvshmem_malloc(100);
    CHECK(ptr && on_device(ptr), "%p is not memory of the GPU: %s", (void *)ptr, nvs_last_error());
    use(ptr);
    nvshmem_finalize();
}

static void host(int argc, char **argv, bool select)
{
    join(argc, argv);
    if (select)
        CHECK(device_select_mine(spmd_me) == 0, "no device");
    char *ptr = nvshmem_malloc(100);
    CHECK(ptr && is_host_memory(ptr), "%p: %s", (void *)ptr, nvs_last_error());
    *ptr = 1;
    nvshmem_barrier_all();
    use(ptr);
    nvshmem_finalize();
}

static void some(int argc, char **argv)
{
    join(argc, argv);
    int last = spmd_npes - 1;
    if (spmd_me != last)
        CHECK(device_select_mine(spmd_me) == 0, "no device");
    char *ptr = nvshmem_malloc(100), words[64];
    snprintf(words, sizeof words, "PE %d has not selected a GPU", last);
    CHECK(!ptr && strstr(nvs_last_error(), words), "%p: %s", (void *)ptr, nvs_last_error());
    if (spmd_me == last) /* the program sees to it, and goes on */
        CHECK(device_select_mine(spmd_me) == 0, "no device");
    ptr = nvshmem_malloc(100);
    CHECK(ptr && on_device(ptr), "%p: %s", (void *)ptr, nvs_last_error());
    use(ptr);
    nvshmem_finalize();
}

static void kinds(int argc, char **argv)
{
    const char *pe = getenv("NVS_JOB_PE");
    setenv("NVS_HEAP_KIND", pe && *pe == '0' ? "device" : "sysmem", 1);
    join(argc, argv);
    char *ptr = nvshmem_malloc(100);
    CHECK(!ptr && strstr(nvs_last_error(), "NVS_HEAP_KIND is sysmem on PE 1, but device on PE 0"),
          "%p: %s", (void *)ptr, nvs_last_error());
    nvshmem_finalize();
}

static void absent(int argc, char **argv, bool demand)
{
    const char *pe = getenv("NVS_JOB_PE");
    bool has = pe && *pe == '0';
    setenv("FAKECUDA_DEVICES", has ? "1" : "0", 1);
    join(argc, argv);
    if (has)
        CHECK(device_select_mine(0) == 0, "no device");
    char *ptr = demand ? nvs_malloc_device(100) : nvshmem_malloc(100);
    if (demand) {
        CHECK(!ptr && strstr(nvs_last_error(), "PE 1 has no GPU"), "%p: %s", (void *)ptr,
              nvs_last_error());
        ptr = nvshmem_malloc(100);
    }
    CHECK(ptr && is_host_memory(ptr), "%p: %s", (void *)ptr, nvs_last_error());
    use(ptr);
    nvshmem_finalize();
}

static void full(int argc, char **argv)
{
    const char *pe = getenv("NVS_JOB_PE");
    setenv("FAKECUDA_MEM", pe && *pe == '1' ? "256m" : "1g", 1);
    join(argc, argv);
    char *small = nvshmem_malloc(100), *ptr = nvshmem_malloc((size_t)300 << 20);
    CHECK(small && !ptr && strstr(nvs_last_error(), "PE 1 has ") &&
              strstr(nvs_last_error(), "bytes of GPU memory free, 314572800 are needed"),
          "%p: %s", (void *)ptr, nvs_last_error());
    ptr = nvshmem_malloc((size_t)100 << 20); /* what PE 0 had got was given back */
    CHECK(ptr, "%s", nvs_last_error());
    use(ptr);
    use(small);
    nvshmem_finalize();
}

static void no_vmm(int argc, char **argv)
{
    join(argc, argv);
    char *ptr = nvshmem_malloc(100);
    CHECK(!ptr && strstr(nvs_last_error(), "cannot share memory by descriptors"), "%p: %s",
          (void *)ptr, nvs_last_error());
    void *still = shmem_malloc(100);
    CHECK(still, "%s", nvs_last_error());
    nvshmem_finalize();
}

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "";
    device_open();
    if (!strcmp(mode, "two_stage"))
        two_stage(argc, argv);
    else if (!strcmp(mode, "device"))
        device(argc, argv);
    else if (!strcmp(mode, "sysmem") || !strcmp(mode, "none"))
        host(argc, argv, !strcmp(mode, "sysmem"));
    else if (!strcmp(mode, "some"))
        some(argc, argv);
    else if (!strcmp(mode, "kinds"))
        kinds(argc, argv);
    else if (!strcmp(mode, "absent") || !strcmp(mode, "no_gpu"))
        absent(argc, argv, !strcmp(mode, "no_gpu"));
    else if (!strcmp(mode, "full"))
        full(argc, argv);
    else if (!strcmp(mode, "no_vmm"))
        no_vmm(argc, argv);
    else
        return 2;
    return spmd_result();
}
