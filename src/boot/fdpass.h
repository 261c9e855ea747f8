/*
 * fdpass.h - passing open descriptors between the PEs of a host.
 *
 * Each PE has one datagram socket under a name that the kernel has chosen, and tells it to the
 * others by an exchange of its own (struct nvsi_fdpass_address). A message carries one descriptor,
 * and a tag by which the receiver knows what it is for. What did not come from the process of the
 * PE that it names is thrown away.
 *
 * Nobody has to receive for a sender to go on for ever: a full queue makes the sender take what has
 * come for itself into memory, then wait, and that wait ends if a PE is lost. Any thread may call
 * these, several at once with different tags.
 */
#ifndef NVSI_FDPASS_H
#define NVSI_FDPASS_H

#include "nvs_internal.h"

struct nvsi_fdpass_address {
    char name[12]; /* abstract: the leading 0 is part of it */
    uint32_t length;
};

/* Opens this PE's socket. */
int nvsi_fdpass_open(const char *fn, struct nvsi_fdpass_address *address);
/* Where the others are, npes of them; copied. */
int nvsi_fdpass_connect(const char *fn, const struct nvsi_fdpass_address *all);
/* Also half open. Descriptors that nobody has asked for are closed. */
void nvsi_fdpass_close(void);

/* The receiver gets a descriptor of its own; the caller keeps fd. */
int nvsi_fdpass_send(const char *fn, int pe, uint64_t tag, int fd);
/* Waits for the descriptor that PE pe sends with this tag; *fd is the caller's. */
int nvsi_fdpass_receive(const char *fn, int pe, uint64_t tag, int *fd);

#endif
