/*
 * memory_test.c - limits of control groups, as the kernel shows them in /proc and /sys: a tree of
 * such files is made for each case. Also what is left when nothing can be read.
 */
#include "memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "check.h"

#define MIB (UINT64_C(1) << 20)
#define NO_LIMIT "9223372036854771712"

static char root[] = "/tmp/nvs-memory-test-XXXXXX";

/* Writes a file below the root, with its folders. */
static void put(const char *path, const char *text)
{
    char full[512];
    snprintf(full, sizeof full, "%s%s", root, path);
    for (char *slash = full + strlen(root) + 1; (slash = strchr(slash, '/')); slash++) {
        *slash = 0;
        mkdir(full, 0700);
        *slash = '/';
    }
    FILE *file = fopen(full, "w");
    CHECK(file && fputs(text, file) >= 0 && fclose(file) == 0, "%s", full);
}

static void clear(void)
{
    char command[128];
    snprintf(command, sizeof command, "rm -rf %s/*", root);
    CHECK(system(command) == 0, "%s", command);
    put("/proc/meminfo", "MemTotal:       1048576 kB\nMemFree:  1 kB\nMemAvailable:    819200 kB\n"
                         "CommitLimit:     600000 kB\nCommitted_AS:    500000 kB\n");
}

static void expect(const char *name, uint64_t total_mib, uint64_t left_mib, const char *who)
{
    const char *what;
    uint64_t total = nvsi_memory_total(), left = nvsi_memory_available(&what);
    CHECK(total == total_mib * MIB, "%s: %llu bytes in all", name, (unsigned long long)total);
    CHECK(left / MIB == left_mib, "%s: %llu bytes left", name, (unsigned long long)left);
    CHECK(strstr(what, who), "%s: %s", name, what);
}

#define V2_MOUNT "30 20 0:26 / /sys/fs/cgroup rw shared:4 - cgroup2 cgroup2 rw,nsdelegate\n"
#define V1_MOUNT                                                                                   \
    "29 20 0:25 / /sys/fs/cgroup/cpu rw - cgroup cpu rw,cpu\n"                                     \
    "31 20 0:27 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"

static void test_none(void)
{
    clear();
    expect("no group", 1024, 800, "host");
    put("/proc/self/cgroup", "0::/user.slice\n");
    put("/proc/self/mountinfo", V2_MOUNT);
    put("/sys/fs/cgroup/user.slice/memory.max", "max\n");
    put("/sys/fs/cgroup/user.slice/memory.current", "1000\n");
    expect("no limit", 1024, 800, "host");
}

/* The limit is the parent's, and cached files do not count. */
static void test_version_2(void)
{
    clear();
    put("/proc/self/cgroup", "1:name=systemd:/x\n0::/job/step\n");
    put("/proc/self/mountinfo", "1 0 8:1 / / rw - ext4 /dev/sda rw\n" V2_MOUNT);
    put("/sys/fs/cgroup/job/step/memory.max", "max\n");
    put("/sys/fs/cgroup/job/step/memory.current", "10485760\n");
    put("/sys/fs/cgroup/job/memory.max", "268435456\n");
    put("/sys/fs/cgroup/job/memory.current", "209715200\n");
    put("/sys/fs/cgroup/job/memory.stat", "anon 1\nfile 2\ninactive_file 104857600\n");
    expect("version 2", 256, 156, "control group");
}

static void test_version_1(void)
{
    clear();
    put("/proc/self/cgroup", "9:cpu:/other\n4:memory:/docker/abc\n0::/\n");
    put("/proc/self/mountinfo", V1_MOUNT);
    put("/sys/fs/cgroup/memory/docker/abc/memory.limit_in_bytes", "134217728\n");
    put("/sys/fs/cgroup/memory/docker/abc/memory.usage_in_bytes", "33554432\n");
    put("/sys/fs/cgroup/memory/docker/memory.limit_in_bytes", NO_LIMIT);
    put("/sys/fs/cgroup/memory/docker/memory.usage_in_bytes", "33554432\n");
    put("/sys/fs/cgroup/memory/memory.limit_in_bytes", NO_LIMIT);
    expect("version 1", 128, 96, "control group");
}

/* In a container the path is one of the host, and the mount is the group itself. */
static void test_container(void)
{
    clear();
    put("/proc/self/cgroup", "4:memory:/docker/abc\n");
    put("/proc/self/mountinfo",
        "31 20 0:27 /docker/abc /sys/fs/cgroup/memory rw - cgroup c rw,memory\n");
    put("/sys/fs/cgroup/memory/memory.limit_in_bytes", "67108864\n");
    put("/sys/fs/cgroup/memory/memory.usage_in_bytes", "69000000\n");
    expect("a container over its limit", 64, 0, "control group");
}

static void test_strict(void)
{
    clear();
    CHECK(!nvsi_memory_strict(), "no such file");
    put("/proc/sys/vm/overcommit_memory", "0\n");
    CHECK(!nvsi_memory_strict(), "0");
    expect("overcommit", 1024, 800, "host");
    put("/proc/sys/vm/overcommit_memory", "2\n");
    CHECK(nvsi_memory_strict(), "2");
    expect("no overcommit", 1024, 97, "promises");
}

/* No files at all: a system call still knows how much memory there is. */
static void test_nothing(void)
{
    nvsi_memory_root = "/no/such/folder";
    uint64_t total = nvsi_memory_total(), left = nvsi_memory_available(NULL);
    CHECK(total > MIB && total != UINT64_MAX, "%llu", (unsigned long long)total);
    CHECK(left > 0 && left <= total, "%llu of %llu", (unsigned long long)left,
          (unsigned long long)total);
}

int main(void)
{
    CHECK(mkdtemp(root) != NULL, "%s", root);
    nvsi_memory_root = root;
    test_none();
    test_version_2();
    test_version_1();
    test_container();
    test_strict();
    test_nothing();
    char command[64];
    snprintf(command, sizeof command, "rm -rf %s", root);
    CHECK(system(command) == 0, "%s", command);
    return check_result();
}
