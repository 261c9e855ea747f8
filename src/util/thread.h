/*
 * thread.h - threads of the library: they take no signals, which are the program's.
 */
#ifndef NVSI_UTIL_THREAD_H
#define NVSI_UTIL_THREAD_H

#include <pthread.h>

/* As pthread_create with default attributes; the new thread has all signals blocked. Returns 0 or
 * an errno value. */
int nvsi_thread_start(pthread_t *thread, void *(*run)(void *arg), void *arg);

#endif
