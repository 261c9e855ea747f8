/*
 * run.h - the words, the structures and the functions of nvsrun, listed by file.
 *
 * Glossary
 *   child     the process that nvsrun forked for a PE; leader of the process group with its number.
 *   proxy     the process that has claimed the PE's slot in the arena, where that is not the child:
 *             `nvsrun sh -c './a.out; true'` has a shell as child and a.out as proxy.
 *   over      said of a PE: its child and its proxy have ended.
 *   loss      an end of a PE that its team mates would wait for in vain.
 *   ending    the time between the decision to end the job and the end of its last process.
 *   guardian  the process that ends the job if nvsrun is killed.
 *
 * The life of a job, see main.c: options, guardian, arena, spawn, watch, sweep. Everything after
 * the spawn happens in one thread in one loop around poll (watch.c); nothing in it may block.
 *
 * Children that have ended stay zombies until the sweep (waitid with WNOWAIT): as long as they do,
 * the kernel gives their number to nobody else, so that a signal to a group never hits a stranger.
 */
#ifndef RUN_H
#define RUN_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* every file includes this one first */
#endif

#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "boot/job.h"

/* Exit statuses of nvsrun itself; those of timeout(1), env(1) and their kin. */
enum {
    STATUS_TIMEOUT = 124,
    STATUS_NVSRUN = 125, /* nvsrun could not do its work */
    STATUS_CANNOT_EXECUTE = 126,
    STATUS_NOT_FOUND = 127,
    STATUS_SIGNAL = 128 /* plus the signal */
};

enum bind_policy { BIND_AUTO, BIND_CORE, BIND_NONE };

struct options {
    int npes;
    enum bind_policy bind;
    enum nvsi_on_loss on_loss;
    bool tag_output;
    bool verbose;
    uint64_t timeout_ns; /* 0: none */
    char **argv;         /* the program and its arguments */
    const char *path;    /* the program's file */
};

struct pe {
    pid_t child;
    bool exited; /* the child has ended; how: */
    int code;    /* CLD_EXITED, CLD_KILLED or CLD_DUMPED */
    int status;  /* exit status or signal */
    bool lost;   /* reported and counted */
    bool over;
    pid_t proxy;  /* 0: none, or not known yet */
    int proxy_fd; /* pidfd; -1: the kernel has none, or the proxy has ended */
    bool proxy_ended;
    bool proxy_foreign; /* no descendant of nvsrun: hands off */
};

/* Lines of one output of one PE on their way through nvsrun. */
struct tag_stream {
    int fd; /* -1: at its end */
    char *line;
    size_t length, capacity;
};

/* What nvsrun was given and its children get back unchanged. */
struct inherited {
    sigset_t mask;
    bool sigpipe_ignored;
    struct rlimit nofile, fsize;
};

struct run {
    struct options options;
    struct inherited inherited;
    struct nvsi_job *job;
    int arena_fd;
    pid_t self;
    pid_t guardian;
    int guardian_fd; /* -1: it is gone */
    int signal_fd;
    int exec_fd;       /* struct exec_failure from children that could not start the program */
    int exec_write_fd; /* their end; open during the spawn only */
    bool exec_settled; /* all children run their program, or one has said why not */
    bool interrupted;  /* the user insists: do not even wait for readers of the output */

    struct pe *pes;
    int nstarted; /* children forked */
    int nover;
    int nlosses;

    bool status_known; /* the first failure decides */
    int status;

    bool ending;
    int ending_signal;  /* the signal that nvsrun passes on to end the job, or 0 */
    uint64_t kill_at;   /* when SIGKILL follows; UINT64_MAX: not at all */
    uint64_t deadline;  /* of --timeout; UINT64_MAX: none */
    uint64_t look_at;   /* when to look at the PEs again; 0: at once */
    uint64_t orphan_at; /* when to look for ended orphans again */

    struct tag_stream *streams; /* 2 * npes with --tag-output, otherwise NULL */
};

/* ---- options.c, help.c ---------------------------------------------------------------------- */
/* Reads the command line; returns, or exits after --help, --version or a mistake. */
void options_parse(struct options *options, int argc, char **argv);
void help_print(void);

/* ---- program.c ------------------------------------------------------------------------------ */
/* Finds the program's file; if it is none that can be executed, says why and exits. */
void program_find(struct options *options);
/* Becomes the program; returns errno if that is impossible. */
int program_execute(const struct options *options);
/* Why it was impossible, as words behind the text of errno: "; it is a binary for aarch64 ...". */
void program_explain(const char *path, int error, char *text, size_t size);

/* ---- limits.c: what the system allows, and the arena ----------------------------------------- */
void limits_raise(struct run *run);
void arena_create(struct run *run);

/* ---- bind.c --------------------------------------------------------------------------------- */
/* Binds the calling process, which is to become PE pe. */
void bind_apply(const struct options *options, int pe);
/* What bind_apply will do, for --verbose. */
void bind_describe(const struct options *options, int pe, char *text, size_t size);

/* ---- guardian.c ----------------------------------------------------------------------------- */
void guardian_start(struct run *run);
/* Tells the guardian of a process group. Called in the child, before it runs foreign code. */
void guardian_tell(const struct run *run, pid_t group);
/* The job has ended, there is nothing left to guard: ends the guardian and waits for it. */
void guardian_dismiss(struct run *run);

/* ---- spawn.c -------------------------------------------------------------------------------- */
struct exec_failure {
    int pe;
    int error; /* errno */
};
/* Starts all PEs. On failure says why and begins the ending; the caller goes on to watch. */
void spawn_all(struct run *run);
/* Reads what children had to say that could not start the program. */
void spawn_failures_read(struct run *run);

/* ---- watch.c -------------------------------------------------------------------------------- */
void watch(struct run *run);
uint64_t now_ns(void);

/* ---- signals.c ------------------------------------------------------------------------------ */
void signals_open(struct run *run);
void signals_reset(const struct run *run); /* in a child */
void signals_read(struct run *run);
/* Sends sig to all processes of all PEs. */
void signals_send(struct run *run, int sig);

/* ---- proxy.c -------------------------------------------------------------------------------- */
/* Looks who has claimed the slot of PE pe. True while that is another process than the child, and
 * lives. */
bool proxy_lives(struct run *run, int pe);
void proxy_signal(struct pe *pe, int sig);
/* How the proxy ended, like si_code and si_status of waitid; false if the kernel does not say. */
bool proxy_status(struct pe *pe, int *code, int *status);

/* ---- loss.c: what the end of a process means for the job ------------------------------------- */
void loss_check(struct run *run);

/* ---- ending.c ------------------------------------------------------------------------------- */
/* The first status that is not 0 becomes the job's. */
void status_set(struct run *run, int status);
/* Asks all PEs to end by sig and has them killed after grace_ns. Later calls change nothing. */
void ending_begin(struct run *run, int sig, uint64_t grace_ns);
/* Kills all PEs now. */
void ending_kill(struct run *run);
/* Does what time demands: SIGKILL, --timeout, shmem_global_exit. */
void ending_check(struct run *run);
#define MS_NS UINT64_C(1000000)
#define GRACE_NS (250 * MS_NS)         /* between SIGTERM and SIGKILL */
#define SIGNAL_GRACE_NS (2000 * MS_NS) /* the same, if the user asked for the end by a signal */

/* ---- sweep.c: orphans ----------------------------------------------------------------------- */
/* Kills and reaps whatever is left of the job. */
void sweep(struct run *run);
/* Reaps orphans that have ended, while the job goes on. */
void sweep_orphans(struct run *run);

/* ---- report.c ------------------------------------------------------------------------------- */
/* Prints "nvsrun: " and a line to stderr. */
void say(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* The same, then exits. For failures before the first PE is started. */
_Noreturn void die(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* The same with another status. */
_Noreturn void refuse(int status, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* What every PE is doing. */
void report_table(struct run *run);
const char *signal_name(int sig);

/* ---- sink.c: where tagged output goes -------------------------------------------------------- */
void sinks_open(void);
bool sinks_active(void);
/* Queues whole lines for descriptor fd (1 or 2). */
void sink_add(int fd, const char *data, size_t nbytes);
bool sink_full(int fd);   /* no more, please: the reader is slow */
bool sink_closed(int fd); /* the reader is gone */
int sinks_poll(struct pollfd *polled);
void sinks_write(const struct pollfd *polled, int npolled);
/* Waits until everything is written. False: gave up, because the user wants nvsrun to end, or the
 * job was ended by force and nobody reads. */
bool sinks_flush(struct run *run);

/* ---- tag.c ---------------------------------------------------------------------------------- */
void tag_open(struct run *run);
/* Makes pipes for PE pe; gives the ends that the child writes to. 0, or -1 with errno. */
int tag_pipes(struct run *run, int pe, int write_fds[2]);
int tag_poll(const struct run *run, struct pollfd *polled, int *which);
/* False: there was nothing to read. */
bool tag_read(struct run *run, int stream);
/* Moves everything that is still in the pipes, after the last writer has ended. */
void tag_drain(struct run *run);

/* ---- feed.c: a terminal as the input of PE 0 --------------------------------------------------
 */
/* Gives the descriptor that is to be the input of PE 0; -1 with errno. */
int feed_open(void);
/* The input belongs to PE 0 now: nvsrun lets go of it, unless it feeds it. */
void feed_started(int fd);
int feed_poll(struct pollfd *polled);
void feed_move(const struct pollfd *polled, int npolled);

#endif
