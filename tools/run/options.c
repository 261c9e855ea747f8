/*
 * options.c - reads the command line. Options end at the program's name: what follows is the
 * program's business. Every mistake gets a sentence that says what would be right.
 */
#include "run.h"

#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { OPT_BIND = 256, OPT_TAG, OPT_TIMEOUT, OPT_ON_LOSS, OPT_VERSION };

/* With getopt_long_only, so that -np is an option of its own and not -n with argument "p". */
static const struct option long_options[] = {
    {"np", required_argument, NULL, 'n'},
    {"bind", required_argument, NULL, OPT_BIND},
    {"tag-output", no_argument, NULL, OPT_TAG},
    {"timeout", required_argument, NULL, OPT_TIMEOUT},
    {"on-loss", required_argument, NULL, OPT_ON_LOSS},
    {"verbose", no_argument, NULL, 'v'},
    {"help", no_argument, NULL, 'h'},
    {"version", no_argument, NULL, OPT_VERSION},
    {NULL, 0, NULL, 0},
};

static int npes_parse(const char *text)
{
    char *end;
    errno = 0;
    long value = strtol(text, &end, 10);
    if (errno || end == text || *end || value < 1 || value > NVSI_MAX_PES)
        die("-n %s: the number of PEs is not one of those allowed: 1..%d", text, NVSI_MAX_PES);
    return (int)value;
}

static uint64_t timeout_parse(const char *text)
{
    char *end;
    double seconds = strtod(text, &end);
    if (end == text || *end || !isfinite(seconds) || seconds <= 0 || seconds > 1e9)
        die("--timeout %s: give a number of seconds above 0, such as 30 or 0.5", text);
    uint64_t ns = (uint64_t)(seconds * 1e9);
    return ns ? ns : 1;
}

static enum bind_policy bind_parse(const char *text)
{
    if (!strcmp(text, "core"))
        return BIND_CORE;
    if (!strcmp(text, "none"))
        return BIND_NONE;
    die("--bind %s: allowed are core and none", text);
}

static enum nvsi_on_loss on_loss_parse(const char *text)
{
    if (!strcmp(text, "end"))
        return NVSI_LOSS_END;
    if (!strcmp(text, "continue"))
        return NVSI_LOSS_CONTINUE;
    die("--on-loss %s: allowed are end and continue", text);
}

static void option_take(struct options *options, int option)
{
    switch (option) {
    case 'n':
        options->npes = npes_parse(optarg);
        break;
    case OPT_BIND:
        options->bind = bind_parse(optarg);
        break;
    case OPT_TAG:
        options->tag_output = true;
        break;
    case OPT_TIMEOUT:
        options->timeout_ns = timeout_parse(optarg);
        break;
    case OPT_ON_LOSS:
        options->on_loss = on_loss_parse(optarg);
        break;
    case 'v':
        options->verbose = true;
        break;
    case 'h':
        help_print();
        exit(0);
    case OPT_VERSION:
        puts("nvsrun " NVS_VERSION);
        exit(0);
    }
}

void options_parse(struct options *options, int argc, char **argv)
{
    opterr = 0;
    for (;;) {
        const char *word = argv[optind];
        int option = getopt_long_only(argc, argv, "+:n:vh", long_options, NULL);
        if (option == -1)
            break;
        if (option == ':')
            die("%s: its argument is missing; see nvsrun --help", word);
        if (option == '?')
            die("%s: no option of nvsrun; see nvsrun --help", word);
        option_take(options, option);
    }
    options->argv = argv + optind;
    if (!options->npes)
        die("how many PEs? Say so by -n: nvsrun -n 4 ./program");
    if (!*options->argv)
        die("which program? Usage: nvsrun -n %d [options] program [arguments]", options->npes);
}
