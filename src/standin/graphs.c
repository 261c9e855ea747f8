/*
 * graphs.c - graphs of the stand-in, which are captured and launched by libnvs. Graphs are counted,
 * so that one may be destroyed before what was made of it.
 */
#include "standin/standin.h"

static struct nvsi_graph *graph_in(cudaGraph_t graph)
{
    return (struct nvsi_graph *)(void *)graph;
}

static struct nvsi_runner *runner_in(cudaGraphExec_t exec)
{
    return (struct nvsi_runner *)(void *)exec;
}

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, enum cudaStreamCaptureMode mode)
{
    if ((unsigned)mode > cudaStreamCaptureModeRelaxed)
        return si_error(cudaErrorInvalidValue);
    int status = nvsx_capture_begin(stream);
    if (status == NVSX_QUEUE_NO_CAPTURE) /* the default stream */
        return si_error(cudaErrorStreamCaptureUnsupported);
    if (status == NVSX_QUEUE_CAPTURED)
        return si_error(cudaErrorIllegalState);
    return si_status(status);
}

cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *graph)
{
    struct nvsi_graph *captured = NULL;
    uint64_t capture;
    if (!graph)
        return si_error(cudaErrorInvalidValue);
    *graph = NULL;
    int status = nvsx_capture_look(stream, &capture);
    if (!status && !capture)
        return si_error(cudaErrorIllegalState);
    if (!status)
        status = nvsx_capture_end(stream, &captured);
    if (!status)
        *graph = (cudaGraph_t)(void *)captured;
    return si_status(status);
}

cudaError_t cudaStreamIsCapturing(cudaStream_t stream, enum cudaStreamCaptureStatus *status)
{
    uint64_t capture = 0;
    if (!status)
        return si_error(cudaErrorInvalidValue);
    int looked = nvsx_capture_look(stream, &capture);
    *status = capture ? cudaStreamCaptureStatusActive : cudaStreamCaptureStatusNone;
    return si_status(looked);
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t *exec, cudaGraph_t graph, unsigned long long flags)
{
    struct nvsi_runner *runner;
    if (!exec || !graph)
        return si_error(cudaErrorInvalidValue);
    if (flags) /* launch from kernels, upload: nothing of it is here */
        return si_error(cudaErrorNotSupported);
    int status = nvsx_runner_create(graph_in(graph), &runner);
    if (!status)
        *exec = (cudaGraphExec_t)(void *)runner;
    return si_status(status);
}

cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t *exec, cudaGraph_t graph,
                                          unsigned long long flags)
{
    return cudaGraphInstantiate(exec, graph, flags);
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream)
{
    if (!exec)
        return si_error(cudaErrorInvalidValue);
    return si_status(nvsx_runner_launch(runner_in(exec), stream));
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec)
{
    if (!exec)
        return si_error(cudaErrorInvalidValue);
    nvsx_runner_release(runner_in(exec));
    return cudaSuccess;
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph)
{
    if (!graph)
        return si_error(cudaErrorInvalidValue);
    nvsx_graph_release(graph_in(graph));
    return cudaSuccess;
}

cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t *nodes, size_t *count)
{
    if (!graph || !count)
        return si_error(cudaErrorInvalidValue);
    if (nodes)
        return si_error(cudaErrorNotSupported);
    *count = nvsx_graph_nodes(graph_in(graph));
    return cudaSuccess;
}
