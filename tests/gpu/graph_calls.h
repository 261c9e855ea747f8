/*
 * graph_calls.h - capturing and replaying by the driver's functions, for tests that use internal
 * ones: driver.def has only what nvs itself calls.
 */
#ifndef GRAPH_CALLS_H
#define GRAPH_CALLS_H

#include "coll_case.h"

static struct {
    CUresult (*begin)(CUstream stream, int mode);
    CUresult (*end)(CUstream stream, void **graph);
    CUresult (*instantiate)(void **exec, void *graph, unsigned long long flags);
    CUresult (*launch)(void *exec, CUstream stream);
    CUresult (*destroy)(void *graph);
    CUresult (*destroy_exec)(void *exec);
} graphs;

static inline void graphs_find(void)
{
    void *library = dlopen(nvsi.config.cuda_library, RTLD_NOW);
    NEED(library);
    *(void **)&graphs.begin = dlsym(library, "cuStreamBeginCapture_v2");
    *(void **)&graphs.end = dlsym(library, "cuStreamEndCapture");
    *(void **)&graphs.instantiate = dlsym(library, "cuGraphInstantiateWithFlags");
    *(void **)&graphs.launch = dlsym(library, "cuGraphLaunch");
    *(void **)&graphs.destroy = dlsym(library, "cuGraphDestroy");
    *(void **)&graphs.destroy_exec = dlsym(library, "cuGraphExecDestroy");
    NEED(graphs.begin && graphs.end && graphs.instantiate && graphs.launch && graphs.destroy &&
         graphs.destroy_exec);
}

static inline void graph_begin(CUstream stream)
{
    graphs_find();
    NEED(!graphs.begin(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
}

/* What was captured, ready to be launched by graphs.launch(). */
static inline void *graph_end(CUstream stream)
{
    void *graph, *exec;
    NEED(!graphs.end(stream, &graph) && !graphs.instantiate(&exec, graph, 0));
    NEED(!graphs.destroy(graph));
    return exec;
}

#endif
