/*
 * fdpass.c - descriptors between PEs: everybody sends more than any queue holds to everybody, and
 * only then begins to receive, in another order; what a stranger sends is thrown away.
 *
 * A program of several PEs over internal functions, run by nvsrun (tests/spmd/device.cmake).
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "boot/fdpass.h"
#include "check.h"

enum { MESSAGES = 40 };

static struct nvsi_fdpass_address *all;

static void gather(const struct nvsi_fdpass_address *mine)
{
    struct nvsi_coll_args args = {.fn = "test",
                                  .dst = all,
                                  .src = mine,
                                  .nelems = sizeof *mine,
                                  .dtype = -1,
                                  .elem_bytes = 1,
                                  .op = NVSI_OP_INTERNAL,
                                  .dst_stride = 1,
                                  .src_stride = 1};
    CHECK(nvsi_all_gather(nvsi.teams[0], &args) == 0, "%s", nvs_last_error());
}

static void open_boxes(void)
{
    struct nvsi_fdpass_address mine;
    CHECK(nvsi_fdpass_open("test", &mine) == 0, "%s", nvs_last_error());
    gather(&mine);
    CHECK(nvsi_fdpass_connect("test", all) == 0, "%s", nvs_last_error());
}

/* A file that says who made it and what for. */
static int make(int from, int to, uint64_t tag)
{
    uint64_t words[3] = {(uint64_t)from, (uint64_t)to, tag};
    int fd = memfd_create("test", MFD_CLOEXEC);
    CHECK(fd >= 0 && write(fd, words, sizeof words) == sizeof words, "no file");
    return fd;
}

static void check(int fd, int from, uint64_t tag)
{
    uint64_t words[3] = {0};
    CHECK(pread(fd, words, sizeof words, 0) == sizeof words, "descriptor %d", fd);
    CHECK(words[0] == (uint64_t)from && words[1] == (uint64_t)nvsi.me && words[2] == tag,
          "from %d, tag %d: %d to %d, tag %d", from, (int)tag, (int)words[0], (int)words[1],
          (int)words[2]);
    CHECK(fcntl(fd, F_GETFD) & FD_CLOEXEC, "it would be inherited");
    close(fd);
}

static void send_all(void)
{
    for (uint64_t tag = 0; tag < MESSAGES; tag++)
        for (int i = 1; i < nvsi.npes; i++) {
            int to = (nvsi.me + i) % nvsi.npes, fd = make(nvsi.me, to, tag);
            CHECK(nvsi_fdpass_send("test", to, tag, fd) == 0, "%s", nvs_last_error());
            close(fd);
        }
}

static void receive_all(void)
{
    for (uint64_t tag = MESSAGES; tag-- > 0;)
        for (int from = 0; from < nvsi.npes; from++) {
            int fd = -1;
            if (from == nvsi.me)
                continue;
            CHECK(nvsi_fdpass_receive("test", from, tag, &fd) == 0, "%s", nvs_last_error());
            check(fd, from, tag);
        }
}

/* Another process, which claims to be our neighbour; it knows the format, since it is our child. */
static void forge(void)
{
    int to = nvsi.me, from = (nvsi.me + 1) % nvsi.npes;
    pid_t child = fork();
    if (child == 0) {
        nvsi.me = from;
        nvsi.npes = 2; /* so that the wait for room works in a child, too */
        int fd = memfd_create("forged", MFD_CLOEXEC);
        _exit(nvsi_fdpass_send("test", to, 7, fd) != 0);
    }
    int status = -1;
    CHECK(waitpid(child, &status, 0) == child && status == 0, "the child: %d", status);
}

/* And a message that is none. */
static void babble(void)
{
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    int box = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    memcpy(name.sun_path, all[nvsi.me].name, all[nvsi.me].length);
    CHECK(sendto(box, "hello", 5, 0, (struct sockaddr *)&name,
                 (socklen_t)(sizeof name.sun_family + all[nvsi.me].length)) == 5,
          "cannot send");
    close(box);
}

int main(void)
{
    int provided;
    if (nvsi_init(0, &provided))
        return 1;
    all = calloc((size_t)nvsi.npes, sizeof *all);
    if (!all)
        return 1;
    for (int life = 0; life < 2; life++) {
        open_boxes();
        if (nvsi.npes > 1) {
            forge();
            babble();
        }
        nvsi_sync("test", nvsi.teams[0]);
        send_all();
        receive_all();
        nvsi_sync("test", nvsi.teams[0]);
        nvsi_fdpass_close();
    }
    free(all);
    int status = nvsi_finalize("test");
    return status || check_result();
}
