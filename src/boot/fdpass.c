/*
 * fdpass.c - descriptors between PEs by SCM_RIGHTS; see fdpass.h.
 *
 * The sockets have abstract names, which need no folder and vanish with their process. Anybody in
 * the same network namespace can write to such a name; the kernel says who did (SO_PASSCRED), and
 * only the process that holds the PE's place in the arena is believed.
 *
 * The queue of a datagram socket holds few messages, so a send may find it full. Its receiver may
 * be sending, too, so waiting alone could be a circle. Therefore whoever waits, for room or for a
 * message, first moves all that has come from its own queue into a list.
 */
#include "boot/fdpass.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "boot/crash.h"
#include "wait.h"

struct message {
    uint64_t tag;
    int32_t pe;
    uint32_t magic;
};
#define MAGIC UINT32_C(0x6e767366)

struct parcel {
    struct parcel *next;
    struct message message;
    int fd;
};

static struct {
    pthread_mutex_t lock; /* of the list; never held while waiting */
    int socket;           /* -1: closed */
    struct nvsi_fdpass_address *others;
    struct parcel *inbox;
} box = {.lock = PTHREAD_MUTEX_INITIALIZER, .socket = -1};

union control { /* room for what comes with a message, aligned as the kernel wants it */
    struct cmsghdr header;
    char bytes[CMSG_SPACE(sizeof(int)) + CMSG_SPACE(sizeof(struct ucred))];
};

/* ---- opening -------------------------------------------------------------------------------- */

static int refuse(const char *fn, const char *what)
{
    int error = errno;
    return nvsi_error(NVS_ERR_SYSTEM,
                      "%s: PE %d cannot %s a local socket, through which PEs share device memory: "
                      "%s%s",
                      fn, nvsi.me, what, strerror(error),
                      error == EMFILE ? " (see 'ulimit -n')" : "");
}

int nvsi_fdpass_open(const char *fn, struct nvsi_fdpass_address *address)
{
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    socklen_t length = sizeof name;
    int yes = 1;
    nvsi_fdpass_close();
    box.socket = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (box.socket < 0)
        return refuse(fn, "open");
    /* Without a name the kernel chooses an abstract one that is free. */
    if (bind(box.socket, (struct sockaddr *)&name, sizeof name.sun_family) ||
        setsockopt(box.socket, SOL_SOCKET, SO_PASSCRED, &yes, sizeof yes) ||
        getsockname(box.socket, (struct sockaddr *)&name, &length))
        return refuse(fn, "bind");
    size_t used = length - offsetof(struct sockaddr_un, sun_path);
    if (used > sizeof address->name) {
        errno = ENAMETOOLONG;
        return refuse(fn, "name");
    }
    address->length = (uint32_t)used;
    memcpy(address->name, name.sun_path, used);
    return 0;
}

int nvsi_fdpass_connect(const char *fn, const struct nvsi_fdpass_address *all)
{
    box.others = calloc((size_t)nvsi.npes, sizeof *box.others);
    if (!box.others)
        return nvsi_error(NVS_ERR_MEMORY, "%s: no memory for the addresses of %d PEs", fn,
                          nvsi.npes);
    memcpy(box.others, all, (size_t)nvsi.npes * sizeof *box.others);
    return 0;
}

void nvsi_fdpass_close(void)
{
    if (box.socket >= 0)
        close(box.socket);
    box.socket = -1;
    free(box.others);
    box.others = NULL;
    while (box.inbox) {
        struct parcel *parcel = box.inbox;
        box.inbox = parcel->next;
        close(parcel->fd);
        free(parcel);
    }
}

/* ---- receiving ------------------------------------------------------------------------------ */

/* What the kernel has put beside a message: the descriptor (-1: none), and who sent it. */
static void unpack(struct msghdr *header, int *fd, pid_t *pid)
{
    *fd = -1;
    *pid = 0;
    for (struct cmsghdr *c = CMSG_FIRSTHDR(header); c; c = CMSG_NXTHDR(header, c)) {
        struct ucred sender;
        if (c->cmsg_level != SOL_SOCKET)
            continue;
        if (c->cmsg_type == SCM_RIGHTS && c->cmsg_len == CMSG_LEN(sizeof *fd)) {
            memcpy(fd, CMSG_DATA(c), sizeof *fd);
        } else if (c->cmsg_type == SCM_CREDENTIALS) {
            memcpy(&sender, CMSG_DATA(c), sizeof sender);
            *pid = sender.pid;
        }
    }
}

static bool is_genuine(const struct message *message, pid_t pid)
{
    return message->pe >= 0 && message->pe < nvsi.npes && message->magic == MAGIC && pid > 0 &&
           pid == atomic_load(&nvsi.job->pes[message->pe].pid);
}

/* One message into the list. 1, 0: the queue is empty, or an error. */
static int take_one(const char *fn)
{
    struct message message;
    union control control;
    struct iovec data = {.iov_base = &message, .iov_len = sizeof message};
    struct msghdr header = {.msg_iov = &data,
                            .msg_iovlen = 1,
                            .msg_control = control.bytes,
                            .msg_controllen = sizeof control.bytes};
    int fd;
    pid_t pid;
    ssize_t got = recvmsg(box.socket, &header, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
    if (got < 0)
        return errno == EAGAIN ? 0 : errno == EINTR ? 1 : refuse(fn, "read");
    unpack(&header, &fd, &pid);
    if (header.msg_flags & MSG_CTRUNC) {
        errno =
            EMFILE; /* the one reason there is: the message was ours to open, but for the limit */
        return refuse(fn, "take a descriptor from");
    }
    if (got != sizeof message || fd < 0 || !is_genuine(&message, pid)) {
        if (fd >= 0)
            close(fd);
        return 1;
    }
    struct parcel *parcel = malloc(sizeof *parcel);
    if (!parcel) {
        close(fd);
        return nvsi_error(NVS_ERR_MEMORY, "%s: no memory for a message of PE %d", fn, message.pe);
    }
    *parcel = (struct parcel){.next = box.inbox, .message = message, .fd = fd};
    box.inbox = parcel;
    return 1;
}

static int take_all(const char *fn)
{
    int status;
    pthread_mutex_lock(&box.lock);
    while ((status = take_one(fn)) > 0)
        ;
    pthread_mutex_unlock(&box.lock);
    return status;
}

/* Takes a parcel from the list; false if it has not come. */
static bool find(int pe, uint64_t tag, int *fd)
{
    bool found = false;
    pthread_mutex_lock(&box.lock);
    for (struct parcel **link = &box.inbox; *link && !found; link = &(*link)->next) {
        struct parcel *parcel = *link;
        if (parcel->message.pe != pe || parcel->message.tag != tag)
            continue;
        *fd = parcel->fd;
        *link = parcel->next;
        free(parcel);
        found = true;
        break;
    }
    pthread_mutex_unlock(&box.lock);
    return found;
}

int nvsi_fdpass_receive(const char *fn, int pe, uint64_t tag, int *fd)
{
    struct nvsi_wait wait = {0};
    int status = take_all(fn);
    while (!status && !find(pe, tag, fd)) {
        status = nvsi_wait_round(&wait, pe);
        if (!status)
            status = take_all(fn);
    }
    nvsi_wait_end(&wait);
    return status;
}

/* ---- sending -------------------------------------------------------------------------------- */

static int try_send(int pe, const struct message *message, int fd)
{
    const struct nvsi_fdpass_address *to = &box.others[pe];
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    memcpy(name.sun_path, to->name, to->length);
    union control control;
    memset(&control, 0, sizeof control);
    struct iovec data = {.iov_base = (void *)message, .iov_len = sizeof *message};
    struct msghdr header = {.msg_name = &name,
                            .msg_namelen =
                                (socklen_t)(offsetof(struct sockaddr_un, sun_path) + to->length),
                            .msg_iov = &data,
                            .msg_iovlen = 1,
                            .msg_control = control.bytes,
                            .msg_controllen = CMSG_SPACE(sizeof fd)};
    struct cmsghdr *c = CMSG_FIRSTHDR(&header);
    c->cmsg_level = SOL_SOCKET;
    c->cmsg_type = SCM_RIGHTS;
    c->cmsg_len = CMSG_LEN(sizeof fd);
    memcpy(CMSG_DATA(c), &fd, sizeof fd);
    return sendmsg(box.socket, &header, MSG_DONTWAIT | MSG_NOSIGNAL) < 0 ? errno : 0;
}

/* Full queues, here or there, and the kernel's limit of descriptors under way (ETOOMANYREFS): they
 * pass as soon as others receive. A socket that is gone means that its PE is lost, or about to be
 * reported; the wait ends with that. */
static bool passes(int error)
{
    return error == EAGAIN || error == EINTR || error == ENOBUFS || error == ETOOMANYREFS ||
           error == ECONNREFUSED;
}

int nvsi_fdpass_send(const char *fn, int pe, uint64_t tag, int fd)
{
    struct message message = {.tag = tag, .pe = nvsi.me, .magic = MAGIC};
    struct nvsi_wait wait = {0};
    int status = 0, error = try_send(pe, &message, fd);
    while (!status && error && passes(error)) {
        status = take_all(fn);
        if (!status)
            status = nvsi_wait_round(&wait, pe);
        if (!status)
            error = try_send(pe, &message, fd);
    }
    nvsi_wait_end(&wait);
    NVSI_CRASH_POINT(fdpass_sent);
    if (status || !error)
        return status;
    return nvsi_error(NVS_ERR_SYSTEM, "%s: PE %d cannot send a descriptor to PE %d: %s", fn,
                      nvsi.me, pe, strerror(error));
}
