/*
 * help.c - what --help says. man/nvs-info.1 and completion/ have the same options; a test compares.
 */
#include "info.h"

#include <stdio.h>

static const char usage[] =
    "Usage: nvs-info [options]\n"
    "\n"
    "Prints what this nvs is, what it finds on this machine and what it would use of it, and "
    "every\n"
    "variable of the environment that it reads. Under nvsrun, PE 0 prints, with the place of "
    "every\n"
    "PE. Without options that choose a part, everything is printed.\n"
    "\n"
    "Options\n"
    "  --library       version, build, kernels for this CPU, transports, ways to be launched\n"
    "  --system        CPUs, memory, limits, calls of the kernel\n"
    "  --start         start the library like a program: does it, the heap, the places of PEs\n"
    "  --variables     variables of the environment: value, who set it, default, meaning\n"
    "  -j, --json      print JSON instead of text\n"
    "  --sysroot DIR   read /proc and /sys below DIR, where they were copied from another machine\n"
    "  -h, --help      print this\n"
    "  --version       print the version of nvs-info\n";

static const char rest[] =
    "\n"
    "Examples\n"
    "  nvs-info                                is this machine ready, and how is it set up?\n"
    "  nvs-info --variables                    what can be set, and what is set?\n"
    "  nvsrun -n 4 nvs-info --start            where do PEs run?\n"
    "  nvs-info --json | jq .memory.available\n"
    "\n"
    "Exit status\n"
    "  0 if all is well, 1 if nvs would not start like this (the last lines say why),\n"
    "  2 if the command line is wrong\n";

void help_print(void)
{
    fputs(usage, stdout);
    fputs(rest, stdout);
}
