/*
 * help.c - what --help says. It is the documentation of nvsrun: change it with the behaviour.
 */
#include "run.h"

#include <stdio.h>

static const char usage[] =
    "Usage: nvsrun -n N [options] program [arguments]\n"
    "\n"
    "Runs N copies of a program on this machine as the PEs of one job. They share symmetric "
    "memory\n"
    "if they are linked with nvs (OpenSHMEM, NVSHMEM or nvs.h); other programs are run as well.\n"
    "\n"
    "Options (they end at the program's name)\n"
    "  -n N, -np N, --np N     number of PEs, 1..4096\n"
    "  --bind core|none        core: the CPUs that nvsrun may use are shared out evenly, in "
    "order;\n"
    "                          with more PEs than CPUs, PE i gets CPU i modulo their number.\n"
    "                          none: PEs run anywhere. Default: core, unless there are more PEs\n"
    "                          than CPUs\n"
    "  --tag-output            put [PE i] before every line of output. Lines stay whole (up to\n"
    "                          1 MiB); a last line without an end gets one\n"
    "  --timeout S             end the job after S seconds (decimals allowed), with status 124\n"
    "  --on-loss end|continue  what to do when a PE is lost: end the job (default), or let the\n"
    "                          others go on; for now their next wait fails, too\n"
    "  -v, --verbose           say what is started where\n"
    "  -h, --help              print this\n"
    "  --version               print the version\n";

static const char behaviour[] =
    "\n"
    "A PE is lost if it is killed by a signal, exits with a status other than 0, or exits between\n"
    "init and finalize, or before init while another PE waits for it there. One line then says\n"
    "which, how, and in which operation; the others get SIGTERM and, 250 ms later, SIGKILL. After\n"
    "finalize, a PE may exit with any status: one that is not 0 is told, and the job goes on.\n"
    "\n"
    "Input and output\n"
    "  PE 0 reads the standard input of nvsrun, the others read nothing. Output and errors go "
    "where\n"
    "  those of nvsrun go.\n"
    "\n"
    "Signals to nvsrun\n"
    "  INT TERM HUP QUIT       passed on to all PEs, which have 2 seconds to end; then, or at a\n"
    "                          second INT or TERM, they are killed\n"
    "  TSTP CONT               stop and continue all PEs and nvsrun\n"
    "  USR1                    print what every PE is doing\n"
    "  USR2                    passed on\n"
    "  KILL                    the PEs are killed with it: nothing stays behind\n"
    "\n"
    "Exit status\n"
    "  0 if all PEs exit with 0, otherwise the status of the first that did not: its exit status,\n"
    "  or 128 + the number of the signal that killed it (1 if it exited with 0 without finalize,\n"
    "  or in a way that cannot be known). After shmem_global_exit, the status given to it.\n"
    "  124 after --timeout; 128 + the signal if one ended the job; 125 if nvsrun itself failed;\n"
    "  126 if the program cannot be executed; 127 if there is none\n";

static const char environment[] =
    "\n"
    "Environment\n"
    "  nvsrun passes its own on to the PEs and adds NVS_JOB_FD, NVS_JOB_LAUNCHER, NVS_JOB_PE (the\n"
    "  number of the PE) and NVS_JOB_NPES. It looks at PATH, to find the program, and at "
    "NO_COLOR:\n"
    "  if that is set, its messages on a terminal are not set in bold.\n"
    "\n"
    "Limits\n"
    "  nvsrun raises its own limits of open files and of file size to what is allowed; the PEs "
    "have\n"
    "  those it was started with.\n"
    "\n"
    "Examples\n"
    "  nvsrun -n 4 ./program\n"
    "  nvsrun -n 2 --tag-output --timeout 60 ./program argument\n"
    "  NVS_INFO=1 nvsrun -n 2 ./program    with what variables are set to\n"
    "  nvsrun -n 4 nvs-info --start        where do PEs run?\n";

void help_print(void)
{
    fputs(usage, stdout);
    fputs(behaviour, stdout);
    fputs(environment, stdout);
}
