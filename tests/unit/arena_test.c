/*
 * arena_test.c - the header of an arena, right, and wrong in one place: the refusal and its
 * sentence.
 */
#include "boot/boot.h"
#include "check.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { NPES = 3 };

static int new_arena(void)
{
    struct nvsi_job *job;
    int fd = -1, error = nvsi_job_create(NPES, NVSI_LOSS_CONTINUE, 1, &fd, &job);
    CHECK(error == 0, "nvsi_job_create: %s", strerror(-error));
    munmap(job, nvsi_job_channels(NPES));
    return fd;
}

/* Changes nbytes of the header at `at`, which must be refused with a sentence that has `words`. */
static void test_wrong(size_t at, uint64_t value, size_t nbytes, const char *words)
{
    int fd = new_arena();
    CHECK(pwrite(fd, &value, nbytes, (off_t)at) == (ssize_t)nbytes, "pwrite at %zu", at);
    int status = nvsi_arena_check(fd, NPES);
    CHECK(status == NVS_ERR_LAUNCH && strstr(nvs_last_error(), words),
          "%llu at %zu: status %d, '%s', expected '%s'", (unsigned long long)value, at, status,
          nvs_last_error(), words);
    close(fd);
}

static void test_right(void)
{
    int fd = new_arena();
    char words[80];
    snprintf(words, sizeof words, "for %d PEs, this library version %d for %d PEs", NPES,
             NVSI_JOB_VERSION, NPES + 1);
    CHECK(nvsi_arena_is(fd), "an arena");
    CHECK(nvsi_arena_check(fd, NPES) == 0, "%s", nvs_last_error());
    CHECK(nvsi_arena_check(fd, NPES + 1) == NVS_ERR_LAUNCH && strstr(nvs_last_error(), words),
          "another number of PEs: '%s'", nvs_last_error());
    close(fd);
}

static void test_cut_short(void)
{
    int fd = new_arena();
    off_t size = lseek(fd, 0, SEEK_END);
    CHECK(ftruncate(fd, size - 1) == 0 && nvsi_arena_check(fd, NPES) == NVS_ERR_LAUNCH &&
              strstr(nvs_last_error(), "damaged"),
          "one byte less: '%s'", nvs_last_error());
    CHECK(ftruncate(fd, 20) == 0 && nvsi_arena_check(fd, NPES) == NVS_ERR_LAUNCH &&
              strstr(nvs_last_error(), "is not the job's memory"),
          "20 bytes: '%s'", nvs_last_error());
    CHECK(ftruncate(fd, 0) == 0 && !nvsi_arena_is(fd), "an empty file");
    close(fd);
    CHECK(!nvsi_arena_is(fd) && !nvsi_arena_is(-1), "a closed descriptor");
    CHECK(nvsi_arena_check(fd, NPES) == NVS_ERR_SYSTEM, "a closed descriptor: '%s'",
          nvs_last_error());
    fd = open("/dev/null", O_RDWR | O_CLOEXEC);
    CHECK(!nvsi_arena_is(fd) && nvsi_arena_check(fd, NPES) == NVS_ERR_LAUNCH, "/dev/null: '%s'",
          nvs_last_error());
    close(fd);
}

int main(void)
{
    const uint64_t gib = UINT64_C(1) << 30;
    test_right();
    test_cut_short();
    test_wrong(offsetof(struct nvsi_job, magic), 0, 8, "is not the job's memory");
    test_wrong(offsetof(struct nvsi_job, version), 99, 4, "nvsrun speaks version 99");
    test_wrong(offsetof(struct nvsi_job, npes), 4, 4, "for 4 PEs, this library");
    test_wrong(offsetof(struct nvsi_job, on_loss), 2, 4, "damaged");
    test_wrong(offsetof(struct nvsi_job, launched), 7, 4, "damaged");
    test_wrong(offsetof(struct nvsi_job, control_bytes), 4096, 8, "damaged");
    test_wrong(offsetof(struct nvsi_job, window_bytes), 0, 8, "damaged");
    test_wrong(offsetof(struct nvsi_job, window_bytes), NVSI_STATIC_BYTES, 8, "damaged");
    test_wrong(offsetof(struct nvsi_job, window_bytes), NVSI_WINDOW_BYTES + gib, 8, "damaged");
    test_wrong(offsetof(struct nvsi_job, window_bytes), NVSI_WINDOW_BYTES - 1, 8, "damaged");
    test_wrong(offsetof(struct nvsi_job, window_bytes), UINT64_MAX, 8, "damaged");
    return check_result();
}
