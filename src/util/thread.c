/*
 * thread.c - see thread.h.
 */
#include "util/thread.h"

#include <signal.h>

int nvsi_thread_start(pthread_t *thread, void *(*run)(void *arg), void *arg)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int error = pthread_create(thread, NULL, run, arg);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return error;
}
