/*
 * main.c - the life of nvs-perf.
 *
 * The command line is read before the start, because the level of threads depends on it, and judged
 * after it, because who may speak is known only then: mistakes are said once, by PE 0.
 */
#include "perf.h"

#include <errno.h>
#include <libgen.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { STATUS_OK, STATUS_WRONG, STATUS_FAILED };

static bool start(const struct options *options)
{
    int provided;
    if (options->threads > 1)
        return shmem_init_thread(SHMEM_THREAD_MULTIPLE, &provided) == 0;
    return nvs_init() == 0;
}

/* 0 if a file can be written, made or not; or the errno that fopen would give. */
static int writable(const char *path)
{
    char folder[4096];
    struct stat about;
    if (stat(path, &about) == 0)
        return S_ISDIR(about.st_mode) ? EISDIR : access(path, W_OK) ? errno : 0;
    if (errno != ENOENT)
        return errno;
    snprintf(folder, sizeof(folder), "%s", path);
    return access(dirname(folder), W_OK) ? errno : 0;
}

/* Said before hours of measuring. */
static void judge_file(struct options *options, const char *option, const char *path)
{
    int error = path && !options->error[0] ? writable(path) : 0;
    if (error)
        snprintf(options->error, sizeof(options->error), "%s %s: cannot be written: %s", option,
                 path, strerror(error));
}

static bool write_file(const char *option, const char *path, bool (*write)(const struct run *),
                       const struct run *run)
{
    if (!path || write(run))
        return true;
    fprintf(stderr, "nvs-perf: %s %s: %s\n", option, path, strerror(errno));
    return false;
}

static int report_all(const struct run *run)
{
    const struct options *options = run->options;
    table_end(run);
    bool written = write_file("--json", options->json, json_write, run);
    written = write_file("--plot", options->plot, plot_write, run) && written;
    if (fflush(stdout) || ferror(stdout)) {
        fprintf(stderr, "nvs-perf: the table cannot be written: %s\n", strerror(errno));
        written = false;
    }
    if (lines_wrong(&run->lines))
        return STATUS_WRONG;
    return written ? STATUS_OK : STATUS_FAILED;
}

static int measure_all(struct run *run)
{
    int status = STATUS_OK;
    if (!pool_open(run))
        return STATUS_FAILED;
    if (mode_is_kernel(run->options->mode) && !gpu_load_kernels(run->options))
        return STATUS_FAILED;
    run->pes = pes_gather();
    if (run->me == 0)
        table_start(run);
    run_all(run);
    if (run->me == 0)
        status = report_all(run);
    pool_close(run);
    free(run->pes);
    free(run->lines.line);
    return status;
}

/* Each PE opens its own GPU. The first one that cannot says why; all end. */
static bool open_gpus(struct run *run)
{
    struct options *options = run->options;
    bool opened = !options->device || gpu_open(options);
    double first = -max_of_all(opened ? -1e9 : -run->me);
    if (!opened && first == run->me && run->me != 0)
        fprintf(stderr, "nvs-perf: PE %d: %s\n", run->me, options->error);
    return first == 1e9;
}

/* Mistakes that only PE 0 can see count for all. */
static int judge_and_measure(struct run *run)
{
    struct options *options = run->options;
    int status = STATUS_FAILED;
    options_judge_pes(options, run->npes);
    if (run->me == 0) {
        judge_file(options, "--json", options->json);
        judge_file(options, "--plot", options->plot);
    }
    if (sum_of_all(options->error[0] != 0) == 0 && open_gpus(run))
        status = measure_all(run);
    if (run->me == 0 && options->error[0])
        fprintf(stderr, "nvs-perf: %s\n", options->error);
    return status;
}

int main(int argc, char **argv)
{
    struct options options;
    int status = STATUS_OK;
    setvbuf(stdout, NULL, _IOLBF, 0);
    options_parse(&options, argc, argv);
    if (!start(&options)) {
        fprintf(stderr, "nvs-perf: %s\n", nvs_last_error());
        return STATUS_FAILED;
    }
    struct run run = {
        .options = &options, .me = nvs_my_pe(), .npes = nvs_n_pes(), .argc = argc, .argv = argv};
    if (!options.help && !options.version)
        status = judge_and_measure(&run);
    else if (run.me == 0 && options.help)
        help_print();
    else if (run.me == 0)
        printf("nvs-perf %s\n", NVS_VERSION_STRING);
    /* The status of PE 0 becomes that of the job, without a word of the launcher about it. */
    if (run.me == 0 && status != STATUS_OK)
        shmem_global_exit(status);
    nvs_finalize();
    return STATUS_OK;
}
