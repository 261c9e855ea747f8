/*
 * check.h - the whole test harness of the unit tests: one macro and one number.
 *
 * CHECK(condition, format, ...) reports a condition that does not hold, with the values that the
 * caller wants to see, and goes on, so that one run shows all that is wrong. main returns
 * check_result().
 */
#ifndef TESTS_UNIT_CHECK_H
#define TESTS_UNIT_CHECK_H

#include <stdio.h>

static unsigned long check_count, check_failures;

#define CHECK(condition, ...)                                                                      \
    do {                                                                                           \
        check_count++;                                                                             \
        if (!(condition) && ++check_failures <= 20) {                                              \
            fprintf(stderr, "%s:%d: %s: ", __FILE__, __LINE__, #condition);                        \
            fprintf(stderr, __VA_ARGS__);                                                          \
            fputc('\n', stderr);                                                                   \
        }                                                                                          \
    } while (0)

static inline int check_result(void)
{
    printf("%lu checks, %lu failed\n", check_count, check_failures);
    return check_failures || !check_count;
}

#endif
