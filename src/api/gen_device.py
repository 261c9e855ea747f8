#!/usr/bin/env python3
"""Writes the functions of NVSHMEM that kernels call: typed skins over the untyped core of
include/nvshmem/device. gen.py writes the host's; what both have is taken from it, so that a name has
the same parameters on both sides.

    gen_device.py           write the files
    gen_device.py --check   exit 1 and name the files that differ from what would be written
    gen_device.py --names   print every function of kernels, one per line
"""

import os
import re
import sys

import gen
import gen_ops as ops
from gen_c import Function, comment, layout_statement, wrap
from gen_table import *

ROOT = gen.ROOT
SCOPES = {"": "NVSD_THREAD", "_warp": "NVSD_WARP", "_block": "NVSD_BLOCK"}
GROUPS = {k: v for k, v in SCOPES.items() if k}
ALL_GROUPS = dict(GROUPS, _warpgroup="NVSD_WARPGROUP")
QP = "nvshmemx_qp_handle_t qp"
HOST = {f.name: f for f in gen.generated(gen.NVSHMEM_FAMILIES)}


def quote(name):
    return f'"{name}"'


def names_of(params):
    """'const int *src' -> 'src', for each parameter."""
    return [re.search(r"(\w+)$", p).group(1) for p in params if p != "void"]


class Device:
    """A function of kernels. call: (head, arguments) of the core. host: what host code gets for the
    same name, a Function of libnvs; None where NVSHMEM has the name in kernels only."""

    def __init__(self, name, ret, params, call, host=None, host_call=None):
        self.name, self.ret, self.params, self.call = name, ret, params, call
        self.host, self.host_call = host, host_call
        self.lazy = False

    def alias(self):
        """The host's function under a name of its own."""
        return re.sub("^nvshmem", "nvsh", self.host.name)

    def declaration(self):
        """libnvs's function, under another name here."""
        head = self.host.head(self.alias(), "NVS_API ")
        return wrap(head, self.host.params, f' __asm__("{self.host.name}");')

    def text(self):
        prefix = "NVSD_BOTH " if self.host else "NVSD_FN "
        head = Function(self.name, self.ret, self.params).head(self.name, prefix)
        # A template, so that a compiler does not look behind it where it is not called.
        template = "template <int = 0>\n" if self.lazy else ""
        return template + wrap(head, self.params, "") + "{\n" + self.body() + "}\n"

    def body(self):
        head, args = self.call
        result = "" if self.ret == "void" else "return "
        if not self.host:
            return layout_statement((result + head, args) if args is not None else result + head + ";")
        device = head if args is None else f"{head}({', '.join(args)})"
        if self.ret == "void" and self.call[0] in VALUES:
            device = f"(void){device}"
        host = self.host_call or f"{self.alias()}({', '.join(names_of(self.params))})"
        return layout_statement((f"{result}NVSD_EITHER", [host] + split_call(device)))


# Functions of the core that return what a void function does not want.
VALUES = {"nvsd_wait_until", "nvsd_sync_team<NVSD_THREAD>"}


def split_call(text):
    """A call as the pieces that wrap() may put on lines of their own."""
    pieces = text.split(", ")
    return pieces


def sized(kind):
    """Stem, C type, and how many bytes nelems are, of put, put32 and putmem: `kind` is a type, a
    number of bits, or mem."""
    if kind in TYPES:
        return f"{kind}_", "", TYPES[kind][0], "nelems * sizeof *dst"
    if kind == "mem":
        return "", "mem", "void", "nelems"
    return "", kind, "void", f"nelems * {int(kind) // 8}" if kind != "8" else "nelems"


KINDS = NVSHMEM_RMA + SIZES + ["mem"]


def base(scope):
    return "nvshmemx_" if scope else "nvshmem_"


# ---- put, get, p, g, strided, put_signal ---------------------------------------------------------


def pass_host(name):
    return HOST.get(name)


def blocks():
    for kind in KINDS:
        stem, size, ctype, nbytes = sized(kind)
        for op in ("put", "get"):
            for nbi in ("", "_nbi"):
                for scope, value in SCOPES.items():
                    name = f"{base(scope)}{stem}{op}{size}{nbi}{scope}"
                    params = [f"{ctype} *dst", f"const {ctype} *src", "size_t nelems", "int pe"]
                    args = ["nvsi_device", value, quote(name), "dst", "src", nbytes, "pe"]
                    yield Device(name, "void", params, (f"nvsd_{op}", args), pass_host(name))


def strided():
    for kind in NVSHMEM_RMA + SIZES:
        stem, size, ctype, _ = sized(kind)
        elem = "sizeof *dst" if kind in TYPES else str(int(kind) // 8)
        for op in ("iput", "iget"):
            for scope, value in SCOPES.items():
                name = f"{base(scope)}{stem}{op}{size}{scope}"
                params = [f"{ctype} *dst", f"const {ctype} *src", "ptrdiff_t dst_stride"]
                params += ["ptrdiff_t src_stride", "size_t nelems", "int pe"]
                args = ["nvsi_device", value, quote(name), "dst", "src", "dst_stride", "src_stride"]
                args += ["nelems", elem, "pe"]
                yield Device(name, "void", params, (f"nvsd_{op}", args), pass_host(name))


def singles():
    for t in NVSHMEM_RMA:
        ctype = TYPES[t][0]
        name = f"nvshmem_{t}_p"
        call = ("nvsd_p", ["nvsi_device", quote(name), "dst", "value", "pe"])
        params = [f"{ctype} *dst", f"{ctype} value", "int pe"]
        host, host_call = HOST.get(name), None
        if t in ops.HALVES:
            host = HOST[name + "_bits"]
            host_call = f"nvsh_{t}_p_bits(dst, nvsx_bits(value), pe)"
        yield Device(name, "void", params, call, host, host_call)
        name = f"nvshmem_{t}_g"
        call = ("nvsd_g", ["nvsi_device", quote(name), "src", "pe"])
        host, host_call = HOST.get(name), None
        if t in ops.HALVES:
            host = HOST[name + "_bits"]
            host_call = f"nvsx_from_bits<{ctype}>(nvsh_{t}_g_bits(src, pe))"
        yield Device(name, ctype, [f"const {ctype} *src", "int pe"], call, host, host_call)


def put_signals():
    for kind in KINDS:
        stem, size, ctype, nbytes = sized(kind)
        for nbi in ("", "_nbi"):
            for scope, value in SCOPES.items():
                name = f"{base(scope)}{stem}put{size}_signal{nbi}{scope}"
                params = [f"{ctype} *dst", f"const {ctype} *src", "size_t nelems"]
                params += ["uint64_t *sig_addr", "uint64_t signal", "int sig_op", "int pe"]
                args = ["nvsi_device", value, quote(name), "dst", "src", nbytes, "sig_addr"]
                args += ["signal", "sig_op", "pe"]
                yield Device(name, "void", params, ("nvsd_put_signal", args), pass_host(name))


def rma():
    yield from blocks()
    yield from strided()
    yield from singles()
    yield from put_signals()


# ---- the same on queue pairs ---------------------------------------------------------------------


def on_queue_pair(name, f):
    """f with a queue pair as the last parameter, which is not used: there is one way to a peer."""
    head, args = f.call
    args = [quote(name) if a == quote(f.name) else a for a in args]
    return Device(name, f.ret, f.params + ["nvshmemx_qp_handle_t"], (head, args))


def queue_pairs():
    wanted = "|".join(NVSHMEM_RMA)
    pattern = re.compile(rf"nvshmemx?_(({wanted})_(g|p|get|put|put_signal)(_nbi)?(_warp|_block)?)$")
    for f in rma():
        found = pattern.match(f.name)
        if found:
            yield on_queue_pair(f"nvshmemx_qp_{found.group(1)}", f)
    args = ["nvsi_device", quote("nvshmemx_qp_signal_op"), "sig_addr", "signal", "sig_op", "pe"]
    params = ["uint64_t *sig_addr", "uint64_t signal", "int sig_op", "int pe", "nvshmemx_qp_handle_t"]
    yield Device("nvshmemx_qp_signal_op", "void", params, ("nvsd_signal", args))
    for op in ("fence", "quiet"):
        for scope, value in SCOPES.items():
            params = ["int", "const nvshmemx_qp_handle_t *", "int"]
            yield Device(f"nvshmemx_qp_{op}{scope}", "void", params, (f"nvsd_{op}", [value]))


# ---- atomics -------------------------------------------------------------------------------------


def atomic_call(t, op, name):
    ctype = TYPES[t][0]
    if op == "fetch":
        return ("nvsd_g", ["nvsi_device", quote(name), "src", "pe"])
    if op == "set":
        return ("nvsd_p", ["nvsi_device", quote(name), "dst", "value", "pe"])
    if op == "compare_swap":
        args = ["nvsi_device", quote(name), "dst", "cond", "value", "pe"]
        return ("nvsd_amo_cswap", args)
    code = ops.ATOMICS[op][0]
    operand = "value" if ops.ATOMICS[op][2] else f"({ctype})1"
    args = ["nvsi_device", f"NVSD_AMO_{code}", quote(name), "dst", operand, "pe"]
    return ("nvsd_amo_op" if ops.ATOMICS[op][1] else "nvsd_amo_red", args)


def amo():
    for op, (_, _, _, _, types) in ops.ATOMICS.items():
        for t in types:
            host = HOST[f"nvshmem_{t}_atomic_{op}"]
            yield Device(host.name, host.ret, host.params, atomic_call(t, op, host.name), host)


# ---- waiting -------------------------------------------------------------------------------------


def waits_of(t):
    ctype = TYPES[t][0]
    for verb in ("wait_until", "test"):
        host = HOST[f"nvshmem_{t}_{verb}"]
        args = ["nvsi_device", quote(host.name), "ivar", "cmp", "cmp_value"]
        yield Device(host.name, host.ret, host.params, (f"nvsd_{verb}", args), host)
        for which in ("all", "any", "some"):
            for vector in ("", "_vector"):
                host = HOST[f"nvshmem_{t}_{verb}_{which}{vector}"]
                values = "cmp_values, true" if vector else "&cmp_value, false"
                words = f"nvsd_words<{ctype}>{{ivars, nelems, status, cmp, {values}}}"
                args = ["nvsi_device", quote(host.name), words]
                args += ["indices"] if which == "some" else []
                short = "wait" if verb == "wait_until" else "test"
                yield Device(host.name, host.ret, host.params, (f"nvsd_{short}_{which}", args), host)


def wait():
    for t in WAITED:
        yield from waits_of(t)


# ---- collectives ---------------------------------------------------------------------------------


def moves():
    calls = {
        "broadcast": ("nvsd_broadcast", ["PE_root"], ["int PE_root"]),
        "fcollect": ("nvsd_collect", ["false"], []),
        "alltoall": ("nvsd_collect", ["true"], []),
    }
    for op, (head, more, more_params) in calls.items():
        for kind in NVSHMEM_RMA + ["mem"]:
            stem, size, ctype, nbytes = sized(kind)
            for scope, value in SCOPES.items():
                name = f"{base(scope)}{stem}{op}{size}{scope}"
                params = ["nvshmem_team_t team", f"{ctype} *dst", f"const {ctype} *src"]
                params += ["size_t nelems"] + more_params
                args = ["nvsi_device", quote(name), "team", "dst", "src", nbytes] + more
                yield Device(name, "int", params, (f"{head}<{value}>", args), pass_host(name))


def reductions():
    for kind, head in (("reduce", "nvsd_reduce"), ("reducescatter", "nvsd_reduce_scatter")):
        for op, types in NVSHMEM_REDUCE.items():
            for t in types:
                ctype, dtype = TYPES[t]
                code = f"NVSD_FOLD({dtype.replace('NVSI_', 'NVSD_')}, NVSD_{op.upper()})"
                for scope, value in SCOPES.items():
                    name = f"{base(scope)}{t}_{op}_{kind}{scope}"
                    params = ["nvshmem_team_t team", f"{ctype} *dst", f"const {ctype} *src"]
                    params += ["size_t nreduce"]
                    args = ["nvsi_device", quote(name), "team", "dst", "src", "nreduce"]
                    call = (f"{head}<{value}, {code}>", args)
                    yield Device(name, "int", params, call, pass_host(name))


def coll():
    yield from moves()
    yield from reductions()
    name = "nvshmemx_double2_maxloc_reduce_block"
    params = ["nvshmem_team_t team", "double2 *dst", "const double2 *src", "size_t nreduce"]
    args = ["nvsi_device", quote(name), "team", "dst", "src", "nreduce"]
    yield Device(name, "int", params, ("nvsd_reduce<NVSD_BLOCK, NVSD_FOLD_MAXLOC>", args))


# ---- queries, order, synchronisation: nvshmem/both.h ---------------------------------------------

D = "nvsi_device"
BOTH = {
    "nvshmem_global_exit": ("nvsd_exit", [D, "status"]),
    "nvshmem_my_pe": ("nvsi_device.me", None),
    "nvshmem_n_pes": ("nvsi_device.npes", None),
    "nvshmem_ptr": ("nvsd_ptr", [D, "dest", "pe"]),
    "nvshmemx_mc_ptr": ("nvsd_mc_ptr", ["team", "ptr"]),
    "nvshmem_team_my_pe": ("nvsd_team_my_pe", [D, "team"]),
    "nvshmem_team_n_pes": ("nvsd_team_n_pes", [D, "team"]),
    "nvshmem_team_translate_pe": ("nvsd_team_translate", [D, "src_team", "src_pe", "dest_team"]),
    "nvshmem_fence": ("nvsd_fence", ["NVSD_THREAD"]),
    "nvshmem_quiet": ("nvsd_quiet", ["NVSD_THREAD"]),
    "nvshmem_signal_fetch": ("nvsd_signal_fetch", ["sig_addr"]),
    "nvshmem_signal_wait_until": (
        "nvsd_wait_until",
        [D, quote("nvshmem_signal_wait_until"), "sig_addr", "cmp", "cmp_value"],
    ),
    "nvshmemx_signal_op": (
        "nvsd_signal",
        [D, quote("nvshmemx_signal_op"), "sig_addr", "signal", "sig_op", "pe"],
    ),
}
# name of the thread's function -> (that of a group's, the team); None: the parameter
SYNCS = {
    "nvshmem_barrier": ("nvshmemx_barrier", None),
    "nvshmem_barrier_all": ("nvshmemx_barrier_all", "NVSHMEM_TEAM_WORLD"),
    "nvshmem_team_sync": ("nvshmemx_team_sync", None),
    "nvshmem_sync": ("nvshmemx_sync", None),
    "nvshmem_sync_all": ("nvshmemx_sync_all", "NVSHMEM_TEAM_WORLD"),
}


def both():
    prototypes = gen.prototypes_in("include/nvshmem/both.h")
    for name in prototypes:
        if name not in BOTH and name not in SYNCS:
            sys.exit(f"gen_device.py: {name} of nvshmem/both.h: what is it in kernels?")
    for name, call in BOTH.items():
        f = prototypes[name]
        yield Device(name, f.ret, f.params, call, f)
    for name, (group, team) in SYNCS.items():
        f = prototypes[name]
        for scope, value in dict({"": "NVSD_THREAD"}, **ALL_GROUPS).items():
            own = group + scope if scope else name
            args = [D, quote(own), team or "team"]
            call = (f"nvsd_sync_team<{value}>", args)
            yield Device(own, f.ret, f.params, call, None if scope else f)


# ---- files ---------------------------------------------------------------------------------------

FAMILIES = {
    "both": (both, "queries, order and synchronisation"),
    "rma": (rma, "put, get, p, g, iput, iget, put_signal"),
    "amo": (amo, "atomics"),
    "wait": (wait, "wait_until and test"),
    "coll": (coll, "broadcast, fcollect, alltoall, reduce, reducescatter"),
    "qp": (queue_pairs, "the forms with a queue pair, which is not used: there is one way to a peer"),
}


def header(family, what, functions):
    guard = f"NVS_NVSHMEM_DEVICE_API_{family.upper()}_H"
    about = f"""nvshmem/device/api_{family}.h - {what}: NVSHMEM's names in kernels and, where the host
        has them too, in host code that nvcc compiles. Part of nvshmem/device/api.h.

        Generated by src/api/gen_device.py. Do not edit."""
    text = comment(about) + f"#ifndef {guard}\n#define {guard}\n\n"
    hosts = [f for f in functions if f.host]
    if hosts:
        text += "#if !defined(__CUDACC_RTC__)\n" + 'extern "C" {\n'
        text += "".join(f.declaration() for f in hosts)
        text += "} /* extern \"C\" */\n#endif\n\n"
    return text + "\n".join(f.text() for f in functions) + "\n#endif\n"


# Those whose bodies stand on templates of their own: 700 reductions would take seconds to compile.
LAZY = {"coll", "wait"}


def all_functions():
    for family, (make, _) in FAMILIES.items():
        functions = list(make())
        for f in functions:
            f.lazy = family in LAZY
        yield family, functions


# ---- tests ---------------------------------------------------------------------------------------

NAMES_BEGIN = """\
#include "device_job.h"

/* An expression of a type, which is never evaluated. */
static void *volatile nothing;
template <typename T> T a()
{
    return *(T *)nothing;
}
template <typename A, typename B> struct same {
    enum { yes = 0 };
};
template <typename A> struct same<A, A> {
    enum { yes = 1 };
};

/* That the name is there, takes these arguments and gives this. */
#define NAME(ret, call) static_assert(same<ret, decltype(call)>::yes, #call);
"""

NAMES_CALLS = """
/* With NVS_NAMES_CALLED the bodies are compiled as well, all of them: for the emulated build, since
 * that takes nvcc minutes. */
#if defined(NVS_NAMES_CALLED)
#define NAME(ret, call) (void)(call);
/* clang-format off */
"""

NAMES_END = """/* clang-format on */
#endif

int main(void)
{{
    printf("{count} names\\n");
    return 0;
}}
"""


def types_of(params):
    """'const int *src' -> 'const int *', for each parameter; some have no name."""
    for p in params:
        if p == "void":
            continue
        named = re.match(r"(.*?[ *])(\w+)$", p)
        known = p in ("int", "nvshmemx_qp_handle_t") or p.endswith("*")
        yield p if known or not named else named.group(1).strip()


def name_line(f):
    return f"NAME({f.ret}, {f.name}({', '.join(f'a<{t}>()' for t in types_of(f.params))}))\n"


def names_test():
    families = dict(all_functions())
    about = """device_names_test.cu - every name that NVSHMEM has in kernels is there, with its
        parameters and its result.

        Generated by src/api/gen_device.py. Do not edit."""
    lines = [name_line(f) for functions in families.values() for f in functions]
    text = comment(about) + NAMES_BEGIN + "/* clang-format off */\n" + "".join(lines)
    text += "/* clang-format on */\n#undef NAME\n" + NAMES_CALLS
    for family, functions in families.items():
        for i in range(0, len(functions), 50):
            text += f"static void call_{family}_{i}()\n{{\n"
            text += "".join(name_line(f) for f in functions[i : i + 50]) + "}\n"
            text += f"void (*volatile called_{family}_{i})() = call_{family}_{i};\n"
    return "tests/gpu/device_names_test.cu", text + NAMES_END.format(count=len(lines))


def all_files():
    for family, functions in all_functions():
        what = FAMILIES[family][1]
        yield f"include/nvshmem/device/api_{family}.h", header(family, what, functions)
    yield names_test()


def main():
    mode = sys.argv[1] if len(sys.argv) > 1 else ""
    if mode not in ("", "--check", "--names"):
        sys.exit(__doc__)
    if mode == "--names":
        print("\n".join(f.name for _, functions in all_functions() for f in functions))
        return
    stale = []
    for path, text in all_files():
        full = os.path.join(ROOT, path)
        old = open(full).read() if os.path.exists(full) else None
        if old == text:
            continue
        stale.append(path)
        if mode != "--check":
            with open(full, "w") as f:
                f.write(text)
    if mode == "--check" and stale:
        sys.exit("not up to date (run src/api/gen_device.py): " + " ".join(stale))


if __name__ == "__main__":
    main()
