"""The operations: from a type and a name to the C function that calls the untyped core. The helpers
that the bodies call are in skin.h and skin_coll.c."""

from gen_c import Function
from gen_table import *

HALVES = ("half", "bfloat16")


def quote(name):
    return f'"{name}"'


class Api:
    """One of the two standards: how its names begin, its types, and whether it has contexts."""

    def __init__(self, prefix, rma, reduce, contexts):
        self.prefix, self.rma, self.reduce, self.contexts = prefix, rma, reduce, contexts
        self.team = prefix + "team_t"

    def each_context(self):
        """(prefix of the name, first parameter, first argument of the core) of each variant."""
        yield self.prefix, [], "NULL"
        if self.contexts:
            yield self.prefix + "ctx_", ["shmem_ctx_t ctx"], "ctx"


SHMEM = Api("shmem_", SHMEM_RMA, SHMEM_REDUCE, True)
NVSHMEM = Api("nvshmem_", NVSHMEM_RMA, NVSHMEM_REDUCE, False)


# ---- put, get, p, g, iput, iget ------------------------------------------------------------------


def block(prefix, ctx_params, ctx, stem, op, ctype, elem, nbi):
    """put and get of nelems elements; `stem` is "int_", "" (for put32) and so on."""
    name = prefix + stem + ("_nbi" if nbi else "")
    params = ctx_params + [f"{ctype} *dst", f"const {ctype} *src", "size_t nelems", "int pe"]
    nbi_arg = "true" if nbi else "false"
    call = (f"nvsi_skin_{op}", [ctx, quote(name), "dst", "src", "nelems", elem, "pe", nbi_arg])
    return Function(name, "void", params, [call])


def strided(prefix, ctx_params, ctx, stem, op, ctype, elem):
    name = prefix + stem
    params = ctx_params + [f"{ctype} *dst", f"const {ctype} *src", "ptrdiff_t dst_stride"]
    params += ["ptrdiff_t src_stride", "size_t nelems", "int pe"]
    args = [ctx, quote(name), "dst", "src", "dst_stride", "src_stride", "nelems", elem, "pe"]
    return Function(name, "void", params, [(f"nvsi_skin_{op}", args)])


def single(prefix, ctx_params, ctx, t):
    """p and g. Half types go by value as their bits, under another name: see the header."""
    ctype = TYPES[t][0]
    bits = "_bits" if t in HALVES else ""
    value_type = "uint16_t" if t in HALVES else ctype
    name = f"{prefix}{t}_p"
    args = [ctx, quote(name), "dst", "&value", "sizeof value", "pe"]
    params = ctx_params + [f"{ctype} *dst", f"{value_type} value", "int pe"]
    yield Function(name + bits, "void", params, [("nvsi_skin_p", args)])
    name = f"{prefix}{t}_g"
    args = [ctx, quote(name), "&value", "src", "1", "sizeof value", "pe", "false"]
    body = [f"{value_type} value = 0;", ("nvsi_skin_get", args), "return value;"]
    yield Function(name + bits, value_type, ctx_params + [f"const {ctype} *src", "int pe"], body)


def rma(api):
    for prefix, ctx_params, ctx in api.each_context():
        variant = (prefix, ctx_params, ctx)
        for t in api.rma:
            ctype = TYPES[t][0]
            for op in ("put", "get"):
                for nbi in (False, True):
                    yield block(*variant, f"{t}_{op}", op, ctype, "sizeof *dst", nbi)
                yield strided(*variant, f"{t}_i{op}", f"i{op}", ctype, "sizeof *dst")
            yield from single(*variant, t)
        for op in ("put", "get"):
            for bits in SIZES:
                for nbi in (False, True):
                    yield block(*variant, f"{op}{bits}", op, "void", str(int(bits) // 8), nbi)
                yield strided(*variant, f"i{op}{bits}", f"i{op}", "void", str(int(bits) // 8))
            for nbi in (False, True):
                yield block(*variant, f"{op}mem", op, "void", "1", nbi)


# ---- put_signal ----------------------------------------------------------------------------------


def put_signal(api):
    kinds = [(f"{t}_put", TYPES[t][0], "sizeof *dst") for t in api.rma]
    kinds += [(f"put{bits}", "void", str(int(bits) // 8)) for bits in SIZES]
    kinds += [("putmem", "void", "1")]
    for prefix, ctx_params, ctx in api.each_context():
        for stem, ctype, elem in kinds:
            for nbi in ("", "_nbi"):
                name = f"{prefix}{stem}_signal{nbi}"
                params = ctx_params + [f"{ctype} *dst", f"const {ctype} *src", "size_t nelems"]
                params += ["uint64_t *sig_addr", "uint64_t signal", "int sig_op", "int pe"]
                args = [ctx, quote(name), "dst", "src", "nelems", elem, "sig_addr", "signal"]
                args += ["sig_op", "pe"]
                yield Function(name, "void", params, [("nvsi_skin_put_signal", args)])


# ---- atomics -------------------------------------------------------------------------------------


def width(t):
    return 32 if t in ("float", "int", "uint", "int32", "uint32") else 64


def to_bits(t, value):
    if t in ("float", "double"):
        return f"nvsi_bits{width(t)}({value})"
    return f"(uint{width(t)}_t){value}"


def from_bits(t, bits):
    return f"nvsi_{t}({bits})" if t in ("float", "double") else f"({TYPES[t][0]}){bits}"


# operation: (core's code, has a result, has a value, has a condition); types
ATOMICS = {
    "fetch": ("FETCH", True, False, False, EXTENDED_AMO),
    "set": ("SET", False, True, False, EXTENDED_AMO),
    "swap": ("SWAP", True, True, False, EXTENDED_AMO),
    "compare_swap": ("CSWAP", True, True, True, STANDARD_AMO),
    "fetch_inc": ("ADD", True, False, False, STANDARD_AMO),
    "inc": ("ADD", False, False, False, STANDARD_AMO),
    "fetch_add": ("ADD", True, True, False, STANDARD_AMO),
    "add": ("ADD", False, True, False, STANDARD_AMO),
    "fetch_and": ("AND", True, True, False, BITWISE_AMO),
    "and": ("AND", False, True, False, BITWISE_AMO),
    "fetch_or": ("OR", True, True, False, BITWISE_AMO),
    "or": ("OR", False, True, False, BITWISE_AMO),
    "fetch_xor": ("XOR", True, True, False, BITWISE_AMO),
    "xor": ("XOR", False, True, False, BITWISE_AMO),
}


def atomic(prefix, ctx_params, ctx, t, op, name, nbi=False):
    code, has_result, has_value, has_condition, _ = ATOMICS[op]
    ctype = TYPES[t][0]
    target = "src" if op == "fetch" else "dst"
    params = ctx_params + ([f"{ctype} *fetch"] if nbi else [])
    params += [f"const {ctype} *src" if op == "fetch" else f"{ctype} *dst"]
    params += ([f"{ctype} cond"] if has_condition else [])
    params += ([f"{ctype} value"] if has_value else []) + ["int pe"]
    operand = to_bits(t, "value") if has_value else ("0" if op == "fetch" else "1")
    compare = to_bits(t, "cond") if has_condition else "0"
    args = [ctx, quote(name), f"NVSI_AMO_{code}", target, operand, compare, "pe"]
    if not has_result:
        return Function(name, "void", params, [(f"nvsi_skin_amo{width(t)}", args)])
    body = [(f"uint{width(t)}_t old = nvsi_skin_fetch{width(t)}", args)]
    if nbi:
        room = [f'if (!nvsi_skin_out({quote(name)}, "fetch", fetch))', "    return;"]
        return Function(name, "void", params, room + body + [f"*fetch = {from_bits(t, 'old')};"])
    return Function(name, ctype, params, body + [f"return {from_bits(t, 'old')};"])


def amo(api):
    for prefix, ctx_params, ctx in api.each_context():
        for op, (_, has_result, _, _, types) in ATOMICS.items():
            for t in types:
                name = f"{prefix}{t}_atomic_{op}"
                yield atomic(prefix, ctx_params, ctx, t, op, name)
                if has_result and api.contexts:
                    yield atomic(prefix, ctx_params, ctx, t, op, name + "_nbi", nbi=True)


# ---- wait_until and test -------------------------------------------------------------------------


def word(t):
    signed = t in ("short", "int", "long", "longlong", "int32", "int64", "ptrdiff")
    bits = 16 if "short" in t else width(t)
    return f"NVSI_W{'' if signed else 'U'}{bits}"


def vectors(api, t, verb, which, vector):
    """wait_until_any_vector and its relatives: verb x which x (one value or one per element)."""
    ctype = TYPES[t][0]
    op = f"{verb}_{which}"
    name = f"{api.prefix}{t}_{op}" + ("_vector" if vector else "")
    params = [f"volatile {ctype} *ivars", "size_t nelems"]
    params += ["size_t *indices"] if which == "some" else []
    params += ["const int *status", "int cmp"]
    params += [f"{ctype} *cmp_values" if vector else f"{ctype} cmp_value"]
    ret = "size_t" if which != "all" else ("void" if verb == "wait_until" else "int")
    args = [quote(name)]
    args += ["ivars", "nelems"] + (["indices"] if which == "some" else [])
    args += ["status", word(t), "cmp", "cmp_values" if vector else "&cmp_value"]
    args += ["true" if vector else "false"]
    head = ("" if ret == "void" else "return ") + f"nvsi_skin_{op}"
    return Function(name, ret, params, [(head, args)])


def wait(api):
    for t in WAITED:
        ctype = TYPES[t][0]
        params = [f"volatile {ctype} *ivar", "int cmp", f"{ctype} cmp_value"]
        name = f"{api.prefix}{t}_wait_until"
        args = [quote(name), "ivar", word(t), "cmp", "(uint64_t)cmp_value"]
        yield Function(name, "void", params, [("nvsi_skin_wait_until", args)])
        name = f"{api.prefix}{t}_test"
        args = [quote(name), "ivar", word(t), "cmp", "(uint64_t)cmp_value"]
        yield Function(name, "int", params, [("return nvsi_skin_test", args)])
        for verb in ("wait_until", "test"):
            for which in ("all", "any", "some"):
                for vector in (False, True):
                    yield vectors(api, t, verb, which, vector)


# ---- collectives on teams ------------------------------------------------------------------------


def collective(api, stem, op, ctype, elem, count="nelems"):
    name = api.prefix + stem
    params = [f"{api.team} team", f"{ctype} *dst", f"const {ctype} *src"]
    args = [quote(name), "team", "dst", "src"]
    if op == "alltoalls":
        params += ["ptrdiff_t dst_stride", "ptrdiff_t src_stride"]
        args += ["dst_stride", "src_stride"]
    params += [f"size_t {count}"] + (["int PE_root"] if op == "broadcast" else [])
    args += [count] + elem + (["PE_root"] if op == "broadcast" else [])
    return Function(name, "int", params, [(f"return nvsi_skin_{op}", args)])


def coll(api):
    ops = ["broadcast", "fcollect", "alltoall"] + (["collect", "alltoalls"] if api.contexts else [])
    for op in ops:
        for t in api.rma:
            yield collective(api, f"{t}_{op}", op, TYPES[t][0], ["sizeof *dst"])
        yield collective(api, f"{op}mem", op, "void", ["1"])


def reductions(api):
    ops = ["reduce"] + ([] if api.contexts else ["reducescatter"])
    for kind in ops:
        for op, types in api.reduce.items():
            for t in types:
                ctype, dtype = TYPES[t]
                elem = [dtype, f"NVSI_{op.upper()}"]
                yield collective(api, f"{t}_{op}_{kind}", kind, ctype, elem, "nreduce")


# ---- deprecated names of OpenSHMEM ---------------------------------------------------------------

ACTIVE_SET = ["int PE_start", "int logPE_stride", "int PE_size"]
ACTIVE_SET_ARGS = ["PE_start", "logPE_stride", "PE_size", "pSync"]
OLD_ATOMICS = {
    "fetch": "fetch",
    "set": "set",
    "swap": "swap",
    "cswap": "compare_swap",
    "finc": "fetch_inc",
    "inc": "inc",
    "fadd": "fetch_add",
    "add": "add",
}


def old_atomics():
    for old, op in OLD_ATOMICS.items():
        for t in ATOMICS[op][4]:
            yield atomic("shmem_", [], "NULL", t, op, f"shmem_{t}_{old}")


def old_waits():
    for t in OLD_INTEGERS:
        ctype = TYPES[t][0]
        name = f"shmem_{t}_wait"
        args = [quote(name), "ivar", word(t), "SHMEM_CMP_NE", "(uint64_t)cmp_value"]
        params = [f"volatile {ctype} *ivar", f"{ctype} cmp_value"]
        yield Function(name, "void", params, [("nvsi_skin_wait_until", args)])


def old_collectives():
    for op in ("broadcast", "collect", "fcollect", "alltoall", "alltoalls"):
        for bits in ("32", "64"):
            name = f"shmem_{op}{bits}"
            strides = op == "alltoalls"
            params = ["void *dst", "const void *src"]
            params += ["ptrdiff_t dst_stride", "ptrdiff_t src_stride"] if strides else []
            params += ["size_t nelems"] + (["int PE_root"] if op == "broadcast" else [])
            args = [quote(name), "dst", "src"] + (["dst_stride", "src_stride"] if strides else [])
            args += ["nelems", str(int(bits) // 8)] + (["PE_root"] if op == "broadcast" else [])
            call = (f"nvsi_skin_old_{op}", args + ACTIVE_SET_ARGS)
            yield Function(name, "void", params + ACTIVE_SET + ["long *pSync"], [call])


def to_all():
    for op, types in SHMEM_TO_ALL.items():
        for t in types:
            ctype, dtype = TYPES[t]
            name = f"shmem_{t}_{op}_to_all"
            params = [f"{ctype} *dst", f"const {ctype} *src", "int nreduce"] + ACTIVE_SET
            params += [f"{ctype} *pWrk", "long *pSync"]
            args = [quote(name), "dst", "src", "nreduce", dtype, f"NVSI_{op.upper()}"]
            call = ("nvsi_skin_to_all", args + ACTIVE_SET_ARGS)
            yield Function(name, "void", params, ["(void)pWrk;", call])


# ---- extensions: shmemx.h ------------------------------------------------------------------------


def blocks():
    """ibput and ibget: blocks of elements with a stride between their beginnings."""
    kinds = [(f"{t}_", "", TYPES[t][0], "sizeof *dst") for t in SHMEM_RMA]
    kinds += [("", bits, "void", str(int(bits) // 8)) for bits in SIZES]
    for prefix, ctx_params, ctx in (("shmemx_", [], "NULL"), ("shmemx_ctx_", ["shmem_ctx_t ctx"], "ctx")):
        for op in ("ibput", "ibget"):
            for stem, bits, ctype, elem in kinds:
                name = f"{prefix}{stem}{op}{bits}"
                params = ctx_params + [f"{ctype} *dst", f"const {ctype} *src"]
                params += ["ptrdiff_t dst_stride", "ptrdiff_t src_stride", "size_t block_elems"]
                params += ["size_t nblocks", "int pe"]
                shape = "struct nvsi_blocks shape = {"
                shape += f"dst_stride, src_stride, block_elems, nblocks, {elem}}};"
                call = (f"nvsi_skin_{op}", [ctx, quote(name), "dst", "src", "shape", "pe"])
                yield Function(name, "void", params, [shape, call])


def scans():
    for op in ("inscan", "exscan"):
        for t in SHMEM_REDUCE["sum"]:
            ctype, dtype = TYPES[t]
            name = f"shmemx_{t}_sum_{op}"
            params = ["shmem_team_t team", f"{ctype} *dst", f"const {ctype} *src", "size_t nelems"]
            args = [quote(name), "team", "dst", "src", "nelems", dtype]
            args += ["true" if op == "inscan" else "false"]
            yield Function(name, "int", params, [("return nvsi_skin_scan", args)])
