/*
 * clock.h - time that goes on evenly, for how long something takes.
 */
#ifndef NVSI_UTIL_CLOCK_H
#define NVSI_UTIL_CLOCK_H

#include <stdint.h>
#include <time.h>

static inline int64_t nvsi_now_ms(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (int64_t)time.tv_sec * 1000 + time.tv_nsec / 1000000;
}

#endif
