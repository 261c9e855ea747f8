/*
 * fork.c - a child of a PE is an ordinary process: it has its own copy of the static variables, and
 * whatever it does or however it ends, nobody in the job notices.
 */
#include "spmd.h"

#include <fcntl.h>
#include <nvshmem.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>

static int global = 10;
static int unstarted = 77; /* for the fork before init */
static char big[1 << 20];
static int *heap;

static void quiet_stderr(void)
{
    int null = open("/dev/null", O_WRONLY);
    if (null >= 0)
        dup2(null, STDERR_FILENO);
}

/* Runs what in a child; returns what waitpid says. */
static int in_child(void (*what)(void))
{
    int status = -1;
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        what();
        _exit(0);
    }
    CHECK(pid > 0, "fork failed");
    CHECK(waitpid(pid, &status, 0) == pid, "waitpid failed");
    return status;
}

/* The child must find the values of the moment of fork, though the parent goes on and changes them
 * at once, and its own writes must not be seen by anybody. */
static void test_values(void)
{
    int from_child[2], status;
    int found[4] = {0};
    global = 20 + spmd_me;
    heap[0] = 30 + spmd_me;
    memset(big, 5, sizeof big);
    shmem_barrier_all();
    CHECK(pipe(from_child) == 0, "pipe");
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        spmd_sleep_ms(5);
        found[0] = global;
        found[1] = big[0] + big[sizeof big / 2] + big[sizeof big - 1];
        global = 999;
        heap[0] = 999;
        memset(big, 9, sizeof big);
        found[2] = global;
        found[3] = heap[0];
        ssize_t n = write(from_child[1], found, sizeof found);
        _exit(n == sizeof found ? 0 : 3);
    }
    global = 40 + spmd_me;
    memset(big, 6, sizeof big);
    CHECK(read(from_child[0], found, sizeof found) == sizeof found, "the child says nothing");
    CHECK(waitpid(pid, &status, 0) == pid && status == 0, "status %x", status);
    CHECK(found[0] == 20 + spmd_me, "the child found %d", found[0]);
    CHECK(found[1] == 15, "the child found %d", found[1]);
    CHECK(found[2] == 999 && found[3] == 999, "the child cannot write: %d %d", found[2], found[3]);
    shmem_barrier_all();
    int right = (spmd_me + 1) % spmd_npes;
    CHECK(global == 40 + spmd_me, "%d", global);
    CHECK(heap[0] == 30 + spmd_me, "%d", heap[0]);
    CHECK(big[12345] == 6, "%d", big[12345]);
    CHECK(shmem_int_g(&global, right) == 40 + right, "%d", shmem_int_g(&global, right));
    CHECK(shmem_int_g(heap, right) == 30 + right, "%d", shmem_int_g(heap, right));
    shmem_barrier_all();
    /* The parent's variables are still shared. */
    shmem_int_p(&global, 50 + spmd_me, right);
    shmem_barrier_all();
    CHECK(global == 50 + (spmd_me + spmd_npes - 1) % spmd_npes, "%d", global);
    close(from_child[0]);
    close(from_child[1]);
}

static void exit_3(void)
{
    exit(3);
}

static void abort_now(void)
{
    signal(SIGABRT, SIG_DFL);
    abort();
}

static void kill_itself(void)
{
    kill(getpid(), SIGKILL);
}

static void put_in_child(void)
{
    quiet_stderr();
    shmem_int_p(&global, 1, 0);
    _exit(0); /* only with NVS_ON_ERROR=return */
}

/* It must not take its parent's turn. */
static void sync_in_child(void)
{
    quiet_stderr();
    shmem_sync_all();
    _exit(0);
}

static void init_in_child(void)
{
    quiet_stderr();
    shmem_init();
    _exit(0);
}

static void global_exit_in_child(void)
{
    shmem_global_exit(9);
}

static void grandchild(void)
{
    int status = in_child(exit_3);
    _exit(WIFEXITED(status) && WEXITSTATUS(status) == 3 && global >= 50 ? 0 : 1);
}

static void test_ends(void)
{
    int status = in_child(exit_3);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 3, "status %x", status);
    status = in_child(abort_now);
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT, "status %x", status);
    status = in_child(kill_itself);
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL, "status %x", status);
    status = in_child(grandchild);
    CHECK(status == 0, "status %x", status);
    /* The library refuses to work there, and ends the child only. */
    status = in_child(put_in_child);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) != 0, "put: status %x", status);
    status = in_child(sync_in_child);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) != 0, "sync: status %x", status);
    status = in_child(init_in_child);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) != 0, "init: status %x", status);
    status = in_child(global_exit_in_child);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 9, "global_exit: status %x", status);
    shmem_barrier_all();
}

static void test_helpers(void)
{
    extern char **environ;
    for (int i = 0; i < 10; i++) {
        char line[64] = "";
        FILE *pipe = popen("echo from a shell", "r");
        CHECK(pipe && fgets(line, sizeof line, pipe), "popen");
        CHECK(strcmp(line, "from a shell\n") == 0, "'%s'", line);
        CHECK(pipe && pclose(pipe) == 0, "pclose");
        CHECK(system("exit 5") >> 8 == 5, "system");
        pid_t pid;
        char *const args[] = {"true", NULL};
        int status = -1;
        CHECK(posix_spawnp(&pid, "true", NULL, NULL, args, environ) == 0, "posix_spawnp");
        CHECK(waitpid(pid, &status, 0) == pid && status == 0, "status %x", status);
    }
    shmem_barrier_all();
}

int main(int argc, char **argv)
{
    int status = in_child(exit_3); /* before init */
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 3, "before init: status %x", status);
    CHECK(unstarted == 77, "%d", unstarted);
    spmd_begin(argc, argv);
    heap = shmem_malloc(sizeof *heap);
    for (int i = 0; i < 5; i++)
        test_values();
    test_ends();
    test_helpers();
    shmem_free(heap);
    shmem_finalize();
    status = in_child(exit_3);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 3, "after finalize: status %x", status);
    return spmd_result();
}
