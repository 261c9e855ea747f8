"""Type-generic names of OpenSHMEM: _Generic in C11, overloads in C++. Both choose among the distinct
types of C, because int32_t and the like are other names of these."""

import re

from gen_c import NOTE, comment, layout_statement, wrap
from gen_table import *

C11_ABOUT = """shmem/generics.h - type-generic names of OpenSHMEM for C11.

The type is that of the object that the first pointer argument points to. Asking for the type of
*pointer instead of pointer drops const and volatile; the typed function then judges whether it may
be called so. A context, where there is one, comes first: NVS_C11_OBJECT skips it. An argument of no
supported type selects shmem_ctx_c11_generic_selection_failed, which takes no arguments: the
compiler's message names it."""

C11_HELPERS = """\
#define NVS_C11_FIRST(...) NVS_C11_FIRST_(__VA_ARGS__, 0)
#define NVS_C11_FIRST_(first, ...) first
#define NVS_C11_SECOND(...) NVS_C11_SECOND_(__VA_ARGS__, 0, 0)
#define NVS_C11_SECOND_(first, second, ...) second

#define NVS_C11_OBJECT(...)                                         \\
    *_Generic((NVS_C11_FIRST(__VA_ARGS__)),                         \\
              shmem_ctx_t: (NVS_C11_SECOND(__VA_ARGS__)),           \\
              default: (NVS_C11_FIRST(__VA_ARGS__)))
"""

C11_CALLS = """\
/* shmem_x(pointer, ...), shmem_x(team, pointer, ...) and shmem_x([ctx,] pointer, ...) */
#define NVS_C11_CALL(TABLE, suffix, ...) \\
    TABLE(shmem_, suffix, *(NVS_C11_FIRST(__VA_ARGS__)))(__VA_ARGS__)
#define NVS_C11_TEAM_CALL(TABLE, suffix, ...) \\
    TABLE(shmem_, suffix, *(NVS_C11_SECOND(__VA_ARGS__)))(__VA_ARGS__)
#define NVS_C11_CTX_CALL(TABLE, suffix, ...)                                     \\
    _Generic((NVS_C11_FIRST(__VA_ARGS__)),                                       \\
             shmem_ctx_t: TABLE(shmem_ctx_, suffix, NVS_C11_OBJECT(__VA_ARGS__)), \\
             default: TABLE(shmem_, suffix, NVS_C11_OBJECT(__VA_ARGS__)))(__VA_ARGS__)
"""

C11_SYNC = """\
/* shmem_sync(team), or the deprecated shmem_sync(PE_start, logPE_stride, PE_size, pSync) */
#define NVS_C11_FIFTH(first, second, third, fourth, fifth, ...) fifth
#define shmem_sync(...) \\
    NVS_C11_FIFTH(__VA_ARGS__, shmem_sync, shmem_sync, shmem_sync, shmem_team_sync, 0)(__VA_ARGS__)
"""

# Bitwise names exist for int32_t and int64_t but not for int and long, which are the same.
BITWISE_C = words("int32 int64 uint ulong ulonglong")
STANDARD_C = words("int long longlong uint ulong ulonglong")
TABLES = {
    "RMA": C_TYPES,
    "AMO": STANDARD_C,
    "AMO_EXTENDED": words("float double") + STANDARD_C,
    "AMO_BITWISE": BITWISE_C,
    "WAIT": words("short ushort") + STANDARD_C,
    "WAIT_OLD": words("short int long longlong"),
    "BITWISE": words("uchar short ushort int uint long ulong longlong ulonglong int8"),
    "SUM": C_TYPES + words("complexf complexd"),
}


def amo_tables():
    from gen_ops import ATOMICS

    table_of = {len(EXTENDED_AMO): "AMO_EXTENDED", len(STANDARD_AMO): "AMO"}
    for op, (_, has_result, _, _, types) in ATOMICS.items():
        table = table_of.get(len(types), "AMO_BITWISE")
        yield f"atomic_{op}", table
        if has_result:
            yield f"atomic_{op}_nbi", table


def waits():
    for verb in ("wait_until", "test"):
        yield verb
        for which in ("all", "any", "some"):
            yield f"{verb}_{which}"
            yield f"{verb}_{which}_vector"


def generic_names():
    """(name without shmem_, kind of call, table)"""
    for op in words("put get p g iput iget put_nbi get_nbi put_signal put_signal_nbi"):
        yield op, "CTX_CALL", "RMA"
    for op, table in amo_tables():
        yield op, "CTX_CALL", table
    for op in waits():
        yield op, "CALL", "WAIT"
    for op in words("broadcast collect fcollect alltoall alltoalls max_reduce min_reduce"):
        yield op, "TEAM_CALL", "RMA"
    for op in words("sum_reduce prod_reduce"):
        yield op, "TEAM_CALL", "SUM"
    for op in words("and_reduce or_reduce xor_reduce"):
        yield op, "TEAM_CALL", "BITWISE"
    for op in words("fetch set swap"):
        yield op, "CALL", "AMO_EXTENDED"
    for op in words("cswap finc inc fadd add"):
        yield op, "CALL", "AMO"
    yield "wait", "CALL", "WAIT_OLD"


def c11_table(name, types):
    spelling = {"complexf": "float _Complex", "complexd": "double _Complex"}
    lines = [f"#define NVS_C11_{name}(prefix, suffix, object)", "    _Generic((object),"]
    for t in types:
        lines.append(f"             {spelling.get(t, TYPES[t][0])}: prefix##{t}##suffix,")
    lines.append("             default: shmem_ctx_c11_generic_selection_failed)")
    column = max(len(l) for l in lines) + 1
    return "".join(f"{l:<{column}}\\\n" for l in lines[:-1]) + lines[-1] + "\n"


def c11_header():
    text = comment(C11_ABOUT + "\n\n" + NOTE)
    text += "#ifndef NVS_SHMEM_GENERICS_H\n#define NVS_SHMEM_GENERICS_H\n\n"
    text += '#include "shmem/types.h"\n\n/* clang-format off */\n\n'
    text += C11_HELPERS + "\n" + "\n".join(c11_table(n, t) for n, t in TABLES.items())
    text += "\n" + C11_CALLS + "\n"
    for op, call, table in generic_names():
        text += f"#define shmem_{op}(...) NVS_C11_{call}(NVS_C11_{table}, _{op}, __VA_ARGS__)\n"
    return text + "\n" + C11_SYNC + "\n/* clang-format on */\n\n#endif\n"


# ---- C++ -----------------------------------------------------------------------------------------

CXX_ABOUT = """shmem/overloads.h - type-generic names of OpenSHMEM for C++, as overloads. The standard
asks for them in C only."""

CXX_SYNC = """
inline int shmem_sync(shmem_team_t team)
{
    return shmem_team_sync(team);
}
"""


def overload(function, name):
    names = [re.search(r"\w+$", p).group() for p in function.params]
    head = ("" if function.ret == "void" else "return ") + function.name
    text = wrap(f"inline {function.ret} {name}", function.params, "")
    return text + "{\n" + layout_statement((head, names)) + "}\n"


def cxx_header(functions):
    distinct = {op: TABLES[table] for op, _, table in generic_names()}
    body = []
    for f in functions:
        match = re.fullmatch(r"shmem_(?:ctx_)?([a-z0-9]+)_(\w+)", f.name)
        if not match or match[1] not in distinct.get(match[2], []):
            continue
        if f.name in ("shmem_long_wait", "shmem_long_wait_until"):
            continue  # these are C functions already
        body.append(overload(f, "shmem_" + match[2]))
    text = comment(CXX_ABOUT + "\n\n" + NOTE)
    text += "#ifndef NVS_SHMEM_OVERLOADS_H\n#define NVS_SHMEM_OVERLOADS_H\n\n"
    text += '#include "shmem.h"\n\n' + "\n".join(body) + CXX_SYNC + "\n#endif\n"
    return text


def cxx_extensions(functions):
    """Overloads of shmemx_ibput and its kin."""
    body = []
    for f in functions:
        match = re.fullmatch(r"shmemx_(?:ctx_)?([a-z0-9]+)_(ib(?:put|get)|sum_(?:in|ex)scan)", f.name)
        if match and match[1] in TABLES["SUM" if "scan" in match[2] else "RMA"]:
            body.append(overload(f, "shmemx_" + match[2]))
    about = "shmem/extensions_overloads.h - type-generic names of shmemx.h for C++, as overloads."
    text = comment(about + "\n\n" + NOTE)
    text += "#ifndef NVS_SHMEM_EXTENSIONS_OVERLOADS_H\n#define NVS_SHMEM_EXTENSIONS_OVERLOADS_H\n\n"
    return text + '#include "shmem/extensions.h"\n\n' + "\n".join(body) + "\n#endif\n"
