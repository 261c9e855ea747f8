/*
 * options.c - reads the command line.
 */
#include "info.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

enum { OPT_LIBRARY = 256, OPT_SYSTEM, OPT_START, OPT_VARIABLES, OPT_SYSROOT, OPT_VERSION };

static const struct option long_options[] = {
    {"library", no_argument, NULL, OPT_LIBRARY},
    {"system", no_argument, NULL, OPT_SYSTEM},
    {"start", no_argument, NULL, OPT_START},
    {"variables", no_argument, NULL, OPT_VARIABLES},
    {"json", no_argument, NULL, 'j'},
    {"sysroot", required_argument, NULL, OPT_SYSROOT},
    {"help", no_argument, NULL, 'h'},
    {"version", no_argument, NULL, OPT_VERSION},
    {NULL, 0, NULL, 0},
};

static const char *sysroot_check(const char *directory)
{
    struct stat found;
    if (stat(directory, &found) || !S_ISDIR(found.st_mode))
        die(STATUS_USAGE, "--sysroot %s: no such folder; give one that holds proc/ and sys/",
            directory);
    return directory;
}

static void option_take(struct options *options, int option)
{
    switch (option) {
    case OPT_LIBRARY:
        options->groups |= GROUP_LIBRARY;
        break;
    case OPT_SYSTEM:
        options->groups |= GROUP_SYSTEM;
        break;
    case OPT_START:
        options->groups |= GROUP_START;
        break;
    case OPT_VARIABLES:
        options->groups |= GROUP_VARIABLES;
        break;
    case 'j':
        options->json = true;
        break;
    case OPT_SYSROOT:
        options->sysroot = sysroot_check(optarg);
        break;
    case 'h':
        help_print();
        exit(0);
    case OPT_VERSION:
        puts("nvs-info " NVS_VERSION);
        exit(0);
    }
}

void options_parse(struct options *options, int argc, char **argv)
{
    opterr = 0;
    *options = (struct options){.sysroot = ""};
    for (;;) {
        const char *word = argv[optind];
        int option = getopt_long(argc, argv, "+:jh", long_options, NULL);
        if (option == -1)
            break;
        if (option == ':')
            die(STATUS_USAGE, "%s: its argument is missing; see nvs-info --help", word);
        if (option == '?')
            die(STATUS_USAGE, "%s: no option of nvs-info; see nvs-info --help", word);
        option_take(options, option);
    }
    if (argv[optind])
        die(STATUS_USAGE, "%s: nvs-info takes options only; see nvs-info --help", argv[optind]);
    if (!options->groups)
        options->groups = GROUP_ALL;
}
