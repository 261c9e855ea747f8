/*
 * team.h - what the files that make teams share.
 */
#ifndef NVSI_TEAM_H
#define NVSI_TEAM_H

#include "nvs_internal.h"

/* A team object without a handle; pes are world numbers and get copied. NULL: no memory. */
struct nvsi_team *nvsi_team_new(int slot, const int *pes, int npes);
/* NULL is allowed. */
void nvsi_team_release(struct nvsi_team *team);
/* Where the sequence numbers of a place go on. */
uint64_t nvsi_team_place_seq(int slot);
/* Where its channels are (-1: it needs none, or does not know yet), and its first sequence number.
 */
void nvsi_team_set_place(struct nvsi_team *team, int slot, uint64_t seq);
/* Writes into its place who its members are. */
void nvsi_team_show_members(const struct nvsi_team *team);
/* Gives the team a handle. -1: no handle is free. */
int nvsi_team_add_handle(struct nvsi_team *team);
/* Once there is device memory, the members give a team its part of it; all or none of them have the
 * team then, and *handle is NVSI_TEAM_INVALID. */
int nvsi_team_on_device(const char *fn, struct nvsi_team *team, int32_t *handle);
/* Leaves its place; the last member's leaving makes the place free. */
void nvsi_team_leave_place(const struct nvsi_team *team);
/* The error of a handle that is no team. */
NVSI_COLD int nvsi_team_bad(const char *fn, int32_t handle);
/* Every PE of the team contributes one number and gets all of them. team_split.c */
int nvsi_team_gather(const char *fn, struct nvsi_team *team, int64_t mine, int64_t *all);

#endif
