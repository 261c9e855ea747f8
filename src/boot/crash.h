/*
 * crash.h - points at which a test can make a process die: between two writes to memory that others
 * read, where a death would do the most harm.
 *
 * They exist only in the objects that tests/failures compiles for itself, with NVSI_CRASH_POINTS;
 * there nvsi_crash_point() kills the process if it is the one that the test has chosen. Everywhere
 * else a point is nothing. The test takes the list of points from the sources: a point that no PE
 * comes to fails it.
 */
#ifndef NVSI_CRASH_H
#define NVSI_CRASH_H

#ifdef NVSI_CRASH_POINTS
void nvsi_crash_point(const char *name);
#define NVSI_CRASH_POINT(name) nvsi_crash_point(#name)
#else
#define NVSI_CRASH_POINT(name) ((void)0)
#endif

#endif
