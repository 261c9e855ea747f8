/*
 * place.h - what wants to know of the job, in device memory: see state.c.
 */
#ifndef NVSI_GPU_PLACE_H
#define NVSI_GPU_PLACE_H

#include "gpu/gpu.h"

enum nvsi_place_kind { NVSI_PLACE_UNIT, NVSI_PLACE_MODULE, NVSI_PLACE_LIBRARY };

struct nvsi_place {
    enum nvsi_place_kind kind;
    void *key; /* the unit, module or library */
    CUdeviceptr address;
    CUcontext context; /* in which it has that address; NULL: not asked yet */
    uint64_t tried;    /* the edition of the state that was last written, or could not be */
    bool busy;         /* somebody is writing it */
    int late;          /* so often it may still be unknown to its runtime */
    bool useless;      /* it has been said that it cannot be used on this GPU */
    struct nvsi_place *next;
};

/* ---- place.c: one of them. It is busy, or nobody else knows it yet. The context is current ----
 */

/* Asks for its address, once for each context. */
int nvsi_place_find(const char *fn, struct nvsi_place *place);
int nvsi_place_write(const char *fn, struct nvsi_place *place, const struct nvsi_dev_state *state,
                     CUstream stream);

/* ---- state.c: all of them ---------------------------------------------------------------------
 */

/* NULL: no memory. */
struct nvsi_place *nvsi_place_new(enum nvsi_place_kind kind, void *key);
void nvsi_places_add(struct nvsi_place *place);
/* Frees it. False: there is no such place. */
bool nvsi_places_take_back(enum nvsi_place_kind kind, const void *key);
/* Writes the state into those that have not got the latest one. The context is current. */
int nvsi_places_update(const char *fn);

#endif
