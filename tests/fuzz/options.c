/*
 * options.c - any command line of nvsrun: refused with a sentence, or understood with every value
 * in range. The words come from the input's lines.
 */
#include <getopt.h>
#include <setjmp.h>
#include <stdarg.h>

#include "run.h"

#include "fuzz.h"

enum { MOST_WORDS = 24 };

static jmp_buf stopped;
static bool parsing;

/* In the place of report.c's: nvsrun would exit. */
void die(const char *format, ...)
{
    char text[4096];
    va_list args;
    va_start(args, format);
    int length = vsnprintf(text, sizeof text, format, args);
    va_end(args);
    PROMISE(length > 10, "'%s' is no sentence", text);
    longjmp(stopped, 1);
}

/* --help and --version end the program; the linker sends exit() here, also that of others. */
_Noreturn void __real_exit(int status);
_Noreturn void __wrap_exit(int status);
void __wrap_exit(int status)
{
    if (!parsing)
        __real_exit(status);
    PROMISE(status == 0, "exit(%d)", status);
    longjmp(stopped, 1);
}

static void check_options(const struct options *options, char *const *words, int nwords)
{
    PROMISE(options->npes >= 1 && options->npes <= NVSI_MAX_PES, "%d PEs", options->npes);
    PROMISE(options->argv > words && options->argv < words + nwords && *options->argv,
            "no program");
    PROMISE(options->bind <= BIND_NONE, "bind %d", (int)options->bind);
    PROMISE(options->on_loss <= NVSI_LOSS_CONTINUE, "on_loss %d", (int)options->on_loss);
    PROMISE(options->timeout_ns <= UINT64_C(1000000001) * 1000000000, "a timeout of %llu ns",
            (unsigned long long)options->timeout_ns);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static char name[] = "nvsrun";
    static char *words[MOST_WORDS + 2], *copies[MOST_WORDS];
    static int nwords;
    struct reader reader = {data, size};
    nwords = 0;
    words[nwords++] = name;
    while (reader.left && nwords <= MOST_WORDS) {
        copies[nwords - 1] = read_text(&reader); /* getopt moves words, not copies */
        words[nwords] = copies[nwords - 1];
        nwords++;
    }
    words[nwords] = NULL;
    optind = 0; /* glibc: begin anew */
    struct options options = {0};
    parsing = true;
    if (!setjmp(stopped)) {
        options_parse(&options, nwords, words);
        check_options(&options, words, nwords);
    }
    parsing = false;
    for (int i = 0; i < nwords - 1; i++)
        free(copies[i]);
    return 0;
}
