"""NVSHMEM's operations on streams: the _on_stream names, and what follows --default-stream."""

import re

from gen_c import Function, comment, header, layout_statement, source, wrap
from gen_ops import HALVES, NVSHMEM, quote, word
from gen_table import *

STREAM = "cudaStream_t stream"

ABOUT = """nvshmem/stream.h - operations of NVSHMEM on a stream, for host code; part of nvshmemx.h.

The operation happens when the stream has come to it. Arguments are read by the call, the memory
behind them when the operation runs. Nothing here blocks the caller, but for g. Collectives of a team
match in the order in which they are called, whatever streams they are on. Stream 0 is the default
stream that --default-stream chooses. docs/streams.md has the details, also on streams without a
GPU."""

TYPES_OF_CUDA = """\
/* As in CUDA's headers, which may come before or after this one. */
typedef struct CUstream_st *cudaStream_t;

"""

PER_THREAD = """\
/* nvcc --default-stream per-thread: stream 0 is that of the calling thread. */
#if defined(CUDA_API_PER_THREAD_DEFAULT_STREAM) || defined(__CUDA_API_PER_THREAD_DEFAULT_STREAM)
#include "nvshmem/stream_per_thread.h"
#endif
"""

PER_THREAD_ABOUT = """nvshmem/stream_per_thread.h - the names of stream.h for translation units that
are compiled with --default-stream per-thread, or with CUDA_API_PER_THREAD_DEFAULT_STREAM: there the
name means a function that passes stream 0 on as cudaStreamPerThread, as CUDA's own headers do it."""

PER_THREAD_STREAM = """\
static inline cudaStream_t nvs_default_stream(cudaStream_t stream)
{
    return stream ? stream : (cudaStream_t)2;
}

"""

HALF_WRAPPERS = """\
/* Half types by value: the library passes their bits as uint16_t (nvshmem/rma.h says why). */
static inline void nvshmemx_{t}_p_on_stream({c} *dst, {c} value, int pe, cudaStream_t stream)
{{
    uint16_t bits;
    memcpy(&bits, &value, sizeof bits);
    nvshmemx_{t}_p_on_stream_bits(dst, bits, pe, stream);
}}

static inline {c}
nvshmemx_{t}_g_on_stream(const {c} *src, int pe, cudaStream_t stream)
{{
    uint16_t bits = nvshmemx_{t}_g_on_stream_bits(src, pe, stream);
    {c} value;
    memcpy((void *)&value, &bits, sizeof bits);
    return value;
}}
"""


def on_stream(stem, ret, params, skin, args, before=(), after=()):
    """A function whose last parameter is the stream."""
    name = f"nvshmemx_{stem}_on_stream"
    head = f"return nvsi_skin_{skin}_on" if ret == "int" and not before else f"nvsi_skin_{skin}_on"
    call = (head, [quote(name)] + args + ["stream"])
    return Function(name, ret, params + [STREAM], list(before) + [call] + list(after))


def kinds(api):
    """(stem before the operation, after it, C type, size of an element)"""
    for t in api.rma:
        yield f"{t}_", "", TYPES[t][0], "sizeof *dst"
    for bits in SIZES:
        yield "", bits, "void", str(int(bits) // 8)
    yield "", "mem", "void", "1"


def blocks(api):
    for before, after, ctype, elem in kinds(api):
        block = [f"{ctype} *dst", f"const {ctype} *src", "size_t nelems"]
        for op in ("put", "get"):
            for suffix, nbi in (("", "false"), ("_nbi", "true")):
                args = ["dst", "src", "nelems", elem, "pe", nbi]
                yield on_stream(f"{before}{op}{after}{suffix}", "void", block + ["int pe"], op, args)
        for suffix, nbi in (("", "false"), ("_nbi", "true")):
            params = block + ["uint64_t *sig_addr", "uint64_t signal", "int sig_op", "int pe"]
            args = ["dst", "src", "nelems", elem, "sig_addr", "signal", "sig_op", "pe", nbi]
            yield on_stream(f"{before}put{after}_signal{suffix}", "void", params, "put_signal", args)
        if after == "mem":
            continue
        for op in ("iput", "iget"):
            params = block[:2] + ["ptrdiff_t dst_stride", "ptrdiff_t src_stride", block[2], "int pe"]
            args = ["dst", "src", "dst_stride", "src_stride", "nelems", elem, "pe"]
            yield on_stream(f"{before}{op}{after}", "void", params, op, args)


def single(t):
    ctype = TYPES[t][0]
    value_type = "uint16_t" if t in HALVES else ctype
    params = [f"{ctype} *dst", f"{value_type} value", "int pe"]
    p = on_stream(f"{t}_p", "void", params, "p", ["dst", "&value", "sizeof value", "pe"])
    params = [f"const {ctype} *src", "int pe"]
    args = ["&value", "src", "sizeof value", "pe"]
    g = on_stream(f"{t}_g", value_type, params, "g", args, [f"{value_type} value = 0;"], ["return value;"])
    for f in (p, g):
        f.name += "_bits" if t in HALVES else ""
        yield f


def waits():
    for t in WAITED:
        ctype = TYPES[t][0]
        value = "(uint64_t)cmp_value"
        params = [f"volatile {ctype} *ivar", "int cmp", f"{ctype} cmp_value"]
        args = ["ivar", word(t), "cmp", value]
        yield on_stream(f"{t}_wait_until", "void", params, "wait_until", args)
        array = [f"volatile {ctype} *ivars", "size_t nelems", "const int *status", "int cmp"]
        args = ["ivars", "nelems", "status", word(t), "cmp"]
        yield on_stream(f"{t}_wait_until_all", "void", array + [f"{ctype} cmp_value"], "wait_until_all", args + [value])
        stem, skin = f"{t}_wait_until_all_vector", "wait_until_all_vector"
        yield on_stream(stem, "void", array + [f"{ctype} *cmp_values"], skin, args + ["cmp_values"])
    params = ["uint64_t *sig_addr", "uint64_t signal", "int sig_op", "int pe"]
    yield on_stream("signal_op", "void", params, "signal", ["sig_addr", "signal", "sig_op", "pe"])
    params = ["uint64_t *sig_addr", "int cmp", "uint64_t cmp_value"]
    args = ["sig_addr", "NVSI_WU64", "cmp", "cmp_value"]
    yield on_stream("signal_wait_until", "void", params, "wait_until", args)


def synchronisation():
    team = ["nvshmem_team_t team"]
    yield on_stream("quiet", "void", [], "quiet", [])
    yield on_stream("barrier", "int", team, "barrier", ["team"])
    yield on_stream("barrier_all", "void", [], "barrier_all", [])
    yield on_stream("team_sync", "int", team, "sync", ["team"])
    yield on_stream("sync_all", "void", [], "sync_all", [])


def collective(stem, op, ctype, elem, count="nelems"):
    params = ["nvshmem_team_t team", f"{ctype} *dst", f"const {ctype} *src", f"size_t {count}"]
    root = ["PE_root"] if op == "broadcast" else []
    args = ["team", "dst", "src", count] + elem + root
    return on_stream(stem, "int", params + [f"int {r}" for r in root], op, args)


def collectives(api):
    for op in ("broadcast", "fcollect", "alltoall"):
        for t in api.rma:
            yield collective(f"{t}_{op}", op, TYPES[t][0], ["sizeof *dst"])
        yield collective(f"{op}mem", op, "void", ["1"])
    for kind in ("reduce", "reducescatter"):
        for op, types in api.reduce.items():
            for t in types:
                ctype, dtype = TYPES[t]
                yield collective(f"{t}_{op}_{kind}", kind, ctype, [dtype, f"NVSI_{op.upper()}"], "nreduce")


def functions():
    api = NVSHMEM
    return (
        list(blocks(api))
        + [f for t in api.rma for f in single(t)]
        + list(waits())
        + list(synchronisation())
        + list(collectives(api))
    )


def half_wrappers():
    first, second = (HALF_WRAPPERS.format(t=t, c=TYPES[t][0]) for t in HALVES)
    return "\n" + first + "\n" + second.split("*/\n", 1)[1]


def parameter_name(parameter):
    return re.search(r"\w+$", parameter).group()


def public(f):
    """A function as programs see it: half types by value."""
    if not f.name.endswith("_bits"):
        return f
    t = f.name.split("_")[1]
    ctype = TYPES[t][0]
    params = [p.replace("uint16_t value", f"{ctype} value") for p in f.params]
    ret = ctype if f.ret == "uint16_t" else f.ret
    return Function(f.name.removesuffix("_bits"), ret, params)


def per_thread(f):
    names = [parameter_name(p) for p in f.params]
    names[-1] = "nvs_default_stream(stream)"
    head = ("" if f.ret == "void" else "return ") + f.name
    name = f.name.replace("nvshmemx_", "nvs_per_thread_")
    text = wrap(f"static inline {f.ret} {name}", f.params, "")
    return text + "{\n" + layout_statement((head, names)) + "}\n"


def files():
    made = functions()
    body = TYPES_OF_CUDA + "".join(f.prototype() for f in made) + half_wrappers()
    text = header("NVS_NVSHMEM_STREAM_H", ABOUT, ["<string.h>\n", '"nvshmem/types.h"'], body)
    end = "\n#endif\n"
    yield "include/nvshmem/stream.h", text.removesuffix(end) + "\n" + PER_THREAD + end
    visible = [public(f) for f in made]
    body = PER_THREAD_STREAM + "\n".join(per_thread(f) for f in visible)
    body += "\n/* clang-format off */\n"
    body += "".join(f"#define {f.name} {f.name.replace('nvshmemx_', 'nvs_per_thread_')}\n" for f in visible)
    body += "/* clang-format on */\n"
    text = header("NVS_NVSHMEM_STREAM_PER_THREAD_H", PER_THREAD_ABOUT, ['"nvshmem/stream.h"'], body)
    yield "include/nvshmem/stream_per_thread.h", text
    about = "The functions of nvshmem/stream.h."
    includes = ['"api/skin_stream.h"', '"nvshmem/stream.h"']
    yield "src/api/nvshmemx_stream.gen.c", source(about, includes, "\n".join(f.definition() for f in made))


def names():
    return [public(f).name for f in functions()]
