/*
 * launch.c - what a PE reads to find its job: four variables of the environment and the header of
 * the arena. Any of them may be wrong (another version, another job, a wrapper that meddles); the
 * answer is a sentence, or a job whose offsets all lie inside of the file.
 */
#include <fcntl.h>
#include <stdarg.h>
#include <sys/mman.h>
#include <unistd.h>

#include "boot/boot.h"

#include "fuzz.h"

/* In the place of error.c, which knows the rest of the library. */
static char sentence[512];

int nvsi_error(int status, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(sentence, sizeof sentence, format, args);
    va_end(args);
    PROMISE(status < 0, "status %d for '%s'", status, sentence);
    return status;
}

static const char *const names[] = {NVSI_ENV_NPES, NVSI_ENV_PE, NVSI_ENV_FD, NVSI_ENV_LAUNCHER};

/* A good job of npes PEs whose header the input then changes: at most one patch of 8 bytes, and one
 * new length. */
static int make_arena(struct reader *reader, uint32_t npes)
{
    struct nvsi_job *job;
    int fd;
    if (nvsi_job_create(npes, NVSI_LOSS_END, 1, &fd, &job))
        return -1;
    munmap(job, nvsi_job_channels(npes));
    uint8_t what = read_byte(reader);
    uint64_t patch;
    if (what & 1) {
        off_t at = read_byte(reader) % 64;
        read_bytes(reader, &patch, sizeof patch);
        PROMISE(pwrite(fd, &patch, 1 + (what >> 5), at) > 0, "pwrite");
    }
    if (what & 2) {
        read_bytes(reader, &patch, sizeof patch);
        if (ftruncate(fd, (off_t)(patch >> (what >> 2 & 7) * 8 >> 1)))
            PROMISE(lseek(fd, 0, SEEK_END) > 0, "ftruncate");
    }
    return fd;
}

static void check_arena(int fd, int npes)
{
    char byte;
    struct nvsi_job header;
    if (nvsi_arena_check(fd, npes)) {
        PROMISE(strlen(sentence) > 20, "no sentence");
        return;
    }
    PROMISE(pread(fd, &header, sizeof header, 0) == sizeof header, "no header");
    for (uint32_t pe = 0; pe <= (uint32_t)npes; pe++) {
        off_t at = (off_t)nvsi_job_window(&header, pe) - 1;
        PROMISE(at > 0 && pread(fd, &byte, 1, at) == 1, "window %u is outside of the file", pe);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct reader reader = {data, size};
    uint32_t npes = 1 + read_byte(&reader) % 4;
    int arena = make_arena(&reader, npes);
    if (arena < 0)
        return 0;
    check_arena(arena, (int)npes);
    char number[16];
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char *text = read_text(&reader);
        snprintf(number, sizeof number, "%d", i == 2 ? arena : i == 3 ? (int)getpid() : (int)npes);
        setenv(names[i], strcmp(text, "!") ? text : number, 1);
        free(text);
    }
    struct nvsi_join join = {.pe = -1, .npes = -1, .arena_fd = -1};
    PROMISE(nvsi_boot_launcher.here(), "the variables are set");
    if (nvsi_boot_launcher.join(&join) == 0) {
        PROMISE(join.npes >= 1 && join.npes <= NVSI_MAX_PES && join.pe >= 0 && join.pe < join.npes,
                "PE %d of %d", join.pe, join.npes);
        PROMISE(nvsi_arena_is(join.arena_fd), "descriptor %d", join.arena_fd);
        PROMISE(fcntl(join.arena_fd, F_GETFD) & FD_CLOEXEC, "inherited by programs");
        if (join.arena_fd != arena)
            close(join.arena_fd);
    } else {
        PROMISE(strlen(sentence) > 20, "no sentence");
        PROMISE(join.arena_fd == -1, "a descriptor from a failed join");
    }
    close(arena);
    return 0;
}
