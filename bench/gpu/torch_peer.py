#!/usr/bin/env python3
"""torch_peer.py - all-reduce, all-to-all and broadcast through NCCL, and all-reduce through PyTorch's
symmetric memory, one process for each GPU, calls replayed as a CUDA graph.

usage: torch_peer.py nccl|torch PART...     (reduce exchange)

Prints RESULT metric bytes median_us best_us. Every result is compared before the clock starts.
"""
import os
import socket
import statistics
import sys

import torch
import torch.distributed as dist
import torch.multiprocessing as multiprocessing

KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30
SIZES = [8, KIB, 16 * KIB, 64 * KIB, 256 * KIB, MIB, 4 * MIB, 16 * MIB, 64 * MIB, 256 * MIB, GIB]
REPETITIONS = 7


def say(*words):
    if dist.get_rank() == 0:
        print(*words, flush=True)


def calls_of(nbytes):
    return 5 if nbytes >= 64 * MIB else 20 if nbytes >= MIB else 100


def graph_of(call, calls):
    """The calls as a graph. What a first call sets up must not be captured."""
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(3):
            call()
    torch.cuda.current_stream().wait_stream(stream)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(calls):
            call()
    return graph


def replay_us(graph):
    """Of one replay: the slowest GPU counts."""
    begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    torch.cuda.synchronize()
    dist.barrier()
    torch.cuda.synchronize()
    begin.record()
    graph.replay()
    end.record()
    torch.cuda.synchronize()
    took = torch.tensor([begin.elapsed_time(end) * 1e3], device="cuda")
    dist.all_reduce(took, op=dist.ReduceOp.MAX)
    return took.item()


def timed(call, nbytes):
    calls = calls_of(nbytes)
    graph = graph_of(call, calls)
    replay_us(graph)
    us = [replay_us(graph) / calls for _ in range(REPETITIONS)]
    return statistics.median(us), min(us)


def result(metric, nbytes, timing):
    say(f"RESULT {metric} {nbytes} {timing[0]:.5f} {timing[1]:.5f}")


def must_be(tensor, value, what):
    torch.cuda.synchronize()
    if not bool((tensor == value).all()):
        raise SystemExit(f"{what}: wrong elements on rank {dist.get_rank()}")


def sum_of_ranks():
    world = dist.get_world_size()
    return world * (world + 1) / 2


def nccl_reduce():
    for nbytes in SIZES:
        tensor = torch.full((nbytes // 4,), dist.get_rank() + 1.0, device="cuda")
        dist.all_reduce(tensor)
        must_be(tensor, sum_of_ranks(), f"NCCL all-reduce of {nbytes} bytes")
        tensor.zero_()
        result("all_reduce", nbytes, timed(lambda t=tensor: dist.all_reduce(t), nbytes))


def nccl_exchange():
    rank, world = dist.get_rank(), dist.get_world_size()
    for nbytes in (64 * KIB, MIB, 16 * MIB, 256 * MIB):
        tensor = torch.full((nbytes // 4,), float(rank), device="cuda")
        out = torch.empty_like(tensor)
        dist.all_to_all_single(out, tensor)
        for pe, block in enumerate(out.chunk(world)):
            must_be(block, float(pe), f"NCCL all-to-all of {nbytes} bytes")
        result("all_to_all", nbytes,
               timed(lambda o=out, t=tensor: dist.all_to_all_single(o, t), nbytes))
        result("broadcast", nbytes, timed(lambda t=tensor: dist.broadcast(t, 0), nbytes))
        must_be(tensor, 0.0, f"NCCL broadcast of {nbytes} bytes")


def torch_reduce():
    """The faster of the one-shot and the two-shot kernel."""
    import torch.distributed._symmetric_memory as symmetric  # pylint: disable=C0415
    group = dist.group.WORLD
    for nbytes in SIZES[:-1]:
        tensor = symmetric.empty(max(nbytes // 4, 16), device="cuda", dtype=torch.float32)
        symmetric.rendezvous(tensor, group)
        found = []
        for name in ("one_shot_all_reduce", "two_shot_all_reduce_"):
            if name.startswith("one") and nbytes > 16 * MIB:
                continue
            operation = getattr(torch.ops.symm_mem, name)
            try:
                tensor.fill_(dist.get_rank() + 1.0)
                torch.cuda.synchronize()
                dist.barrier()
                out = operation(tensor, "sum", group.group_name)
                must_be(out, sum_of_ranks(), f"{name} of {nbytes} bytes")
                tensor.zero_()
                found.append(timed(lambda t=tensor, op=operation: op(t, "sum", group.group_name),
                                   nbytes))
            except RuntimeError as error:
                say(f"# {name} of {nbytes} bytes: {str(error).splitlines()[0]}")
        if found:
            result("all_reduce", nbytes, min(found))


PARTS = {("nccl", "reduce"): nccl_reduce, ("nccl", "exchange"): nccl_exchange,
         ("torch", "reduce"): torch_reduce}


def main(rank, world, port, system, parts):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port), RANK=str(rank),
                      WORLD_SIZE=str(world))
    torch.cuda.set_device(rank)
    dist.init_process_group("nccl", device_id=torch.device("cuda", rank))
    say("# NCCL", ".".join(str(part) for part in torch.cuda.nccl.version()), "PyTorch",
        torch.__version__)
    for part in parts:
        if (system, part) in PARTS:
            PARTS[system, part]()
    dist.destroy_process_group()


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


if __name__ == "__main__":
    # Multicast over NVLink stays off on machines that are shared.
    os.environ.update(NCCL_NVLS_ENABLE="0", TORCH_SYMM_MEM_DISABLE_MULTICAST="1")
    if torch.cuda.device_count() < 2:
        raise SystemExit("needs two GPUs")
    multiprocessing.spawn(main, args=(2, free_port(), sys.argv[1], sys.argv[2:]), nprocs=2)
