#!/usr/bin/env python3
"""Writes the typed part of the public API: gen_table.py says which types and names there are,
gen_ops.py and gen_stream.py what each function does, gen_generic.py the type-generic names. The
results are committed.

    gen.py           write the files
    gen.py --check   exit 1 and name the files that differ from what would be written
    gen.py --names   print every public function, one per line
"""

import os
import re
import sys

import gen_generic
import gen_ops as ops
import gen_stream
from gen_c import Function, comment, header, source, wrap
from gen_table import *

ROOT = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))

# family: (functions, what the header says)
SHMEM_FAMILIES = {
    "rma": (
        list(ops.rma(ops.SHMEM)),
        """shmem/rma.h - put, get, p, g, iput, iget of OpenSHMEM. put and p return when src may be
        changed, get and g when the value is there; the _nbi forms complete at the next
        shmem_quiet(). Strides and counts are in elements. Any thread.""",
    ),
    "signal": (
        list(ops.put_signal(ops.SHMEM)),
        """shmem/signal.h - put_signal of OpenSHMEM: stores the data at PE pe, then sets sig_addr
        there to signal (SHMEM_SIGNAL_SET) or adds it (SHMEM_SIGNAL_ADD). Who sees the signal sees
        the data.""",
    ),
    "amo": (
        list(ops.amo(ops.SHMEM)),
        """shmem/amo.h - atomics of OpenSHMEM on a word of PE pe. Those with a result return the
        value before the operation.""",
    ),
    "wait": (
        list(ops.wait(ops.SHMEM)),
        """shmem/wait.h - waiting for words of this PE that others change. cmp is SHMEM_CMP_*; an
        element whose status[i] is not 0 does not count; status may be NULL. _any returns an index
        (SIZE_MAX: none), _some the number of indices that it stored. The standard's parameters are
        not volatile; these are, so that both kinds of variables can be passed.""",
    ),
    "coll": (
        list(ops.coll(ops.SHMEM)) + list(ops.reductions(ops.SHMEM)),
        """shmem/coll.h - collectives of OpenSHMEM on teams. All PEs of the team call them in one
        order. They return 0, or a negative value that nvs_strerror() of nvs.h can name.""",
    ),
    "deprecated": (
        list(ops.old_atomics())
        + list(ops.old_waits())
        + list(ops.old_collectives())
        + list(ops.to_all()),
        """shmem/deprecated.h - typed names that OpenSHMEM 1.5 deprecates, and still has: atomics
        without the word atomic, and collectives over an active set, the PEs PE_start +
        i * 2^logPE_stride for i < PE_size. pSync must not be NULL; neither pSync nor pWrk is
        used.""",
    ),
}

NVSHMEM_FAMILIES = {
    "rma": (
        list(ops.rma(ops.NVSHMEM)) + list(ops.put_signal(ops.NVSHMEM)),
        """nvshmem/rma.h - put, get, p, g, iput, iget, put_signal of NVSHMEM for host code. The _nbi
        forms complete at the next nvshmem_quiet(). Strides and counts are in elements.""",
    ),
    "amo": (
        list(ops.amo(ops.NVSHMEM)),
        """nvshmem/amo.h - atomics of NVSHMEM on a word of PE pe, for host code. Those with a result
        return the value before the operation.""",
    ),
    "wait": (
        list(ops.wait(ops.NVSHMEM)),
        """nvshmem/wait.h - waiting for words of this PE that others change, for host code. cmp is
        NVSHMEM_CMP_*; an element whose status[i] is not 0 does not count; status may be NULL. _any
        returns an index (SIZE_MAX: none), _some the number of indices that it stored.""",
    ),
    "coll": (
        list(ops.coll(ops.NVSHMEM)) + list(ops.reductions(ops.NVSHMEM)),
        """nvshmem/coll.h - collectives of NVSHMEM on teams, for host code. All PEs of the team call
        them in one order. They return 0, or a negative value that nvs_strerror() of nvs.h can
        name.""",
    ),
}

EXTENSIONS = list(ops.blocks()) + list(ops.scans())
EXTENSIONS_ABOUT = """shmem/extensions.h - the typed functions of shmemx.h. ibput and ibget copy nblocks
    blocks of block_elems elements; a stride is the distance between the beginnings of two blocks, in
    elements. The scans are collectives: dst of a member gets the sum over src of all members before
    it, in their order; inscan adds its own, exscan gives 0 to the first. dst may be src."""


def extension_files():
    body = "".join(f.prototype() for f in EXTENSIONS)
    includes = ['"shmem/types.h"']
    yield "include/shmem/extensions.h", header("NVS_SHMEM_EXTENSIONS_H", EXTENSIONS_ABOUT, includes, body)
    overloads = gen_generic.cxx_extensions(EXTENSIONS)
    yield "include/shmem/extensions_overloads.h", overloads
    body = "\n".join(f.definition() for f in EXTENSIONS)
    about = "The typed functions of shmem/extensions.h."
    includes = ['"shmemx.h"\n', '"api/skin_extra.h"']
    yield "src/api/shmemx.gen.c", source(about, includes, body)


# p and g of half types, over the functions that pass bits.
HALF_WRAPPERS = """\
/* Half types by value: the library passes their bits as uint16_t, because compilers do not agree on
 * how to pass __half. */
static inline void nvshmem_{t}_p({c} *dst, {c} value, int pe)
{{
    uint16_t bits;
    memcpy(&bits, &value, sizeof bits);
    nvshmem_{t}_p_bits(dst, bits, pe);
}}

static inline {c} nvshmem_{t}_g(const {c} *src, int pe)
{{
    uint16_t bits = nvshmem_{t}_g_bits(src, pe);
    {c} value;
    memcpy((void *)&value, &bits, sizeof bits);
    return value;
}}
"""


def half_wrappers():
    first, second = (HALF_WRAPPERS.format(t=t, c=TYPES[t][0]) for t in ops.HALVES)
    return "\n" + first + "\n" + second.split("*/\n", 1)[1]


# The header with the helpers that a family's bodies call.
SKINS = {"wait": ["skin_wait"], "coll": ["skin_coll"], "deprecated": ["skin_coll", "skin_wait"]}


def skins(family):
    return [f'"api/{skin}.h"' for skin in SKINS.get(family, ["skin"])]


def shmem_files():
    for family, (functions, about) in SHMEM_FAMILIES.items():
        guard = f"NVS_SHMEM_{family.upper()}_H"
        body = "".join(f.prototype() for f in functions)
        yield f"include/shmem/{family}.h", header(guard, about, ['"shmem/types.h"'], body)
        body = "\n".join(f.definition("p") + f"NVSI_PROFILED({f.name});\n" for f in functions)
        about = f"The typed functions of shmem/{family}.h, under their profiling names."
        yield f"src/api/shmem_{family}.gen.c", source(about, skins(family) + ['"pshmem.h"'], body)


def nvshmem_files():
    for family, (functions, about) in NVSHMEM_FAMILIES.items():
        guard = f"NVS_NVSHMEM_{family.upper()}_H"
        body = "".join(f.prototype() for f in functions)
        includes = ['"nvshmem/types.h"']
        if family == "rma":
            includes = ["<string.h>\n"] + includes
            body += half_wrappers()
        yield f"include/nvshmem/{family}.h", header(guard, about, includes, body)
        body = "\n".join(f.definition() for f in functions)
        about = f"The typed functions of nvshmem/{family}.h."
        includes = skins(family) + [f'"nvshmem/{family}.h"']
        yield f"src/api/nvshmem_{family}.gen.c", source(about, includes, body)


# ---- hand-written functions: their prototypes are read from the headers --------------------------

PROTOTYPE = re.compile(r"NVS_API\s+(?:NVS_NORETURN\s+)?([\w\s]*?[\s*]+)(\w+)\(([^()]*)\);", re.S)


def prototypes_in(path):
    """name -> Function, of every NVS_API prototype in a hand-written header."""
    with open(os.path.join(ROOT, path)) as f:
        text = re.sub(r"/\*.*?\*/", "", f.read(), flags=re.S)
    found = {}
    for ret, name, params in PROTOTYPE.findall(text):
        ret = " ".join(ret.split())
        found[name] = Function(name, ret, [" ".join(p.split()) for p in params.split(",")])
    return found


def by_hand(path_list, names):
    """The prototypes of exactly these names; an error for each one missing or not in the table."""
    found = {}
    for path in path_list:
        found.update(prototypes_in(path))
    for name in names:
        if name not in found:
            sys.exit(f"gen.py: {name} is in the table but not in {', '.join(path_list)}")
    for name in found:
        if name not in names:
            sys.exit(f"gen.py: {name} is in {', '.join(path_list)} but not in the table")
    return [found[n] for n in names]


def shmem_by_hand():
    functions = by_hand(["include/shmem.h"], SHMEM_BY_HAND + SHMEM_BY_HAND_OLD)
    return functions[: len(SHMEM_BY_HAND)]


def generated(families):
    return [f for functions, _ in families.values() for f in functions]


def shmem_names():
    return [f.name for f in generated(SHMEM_FAMILIES)] + SHMEM_BY_HAND


def nvshmem_names():
    by_hand(["include/nvshmem.h", "include/nvshmem/both.h", "include/nvshmemx.h"], NVSHMEM_BY_HAND)
    typed = [f.name.removesuffix("_bits") for f in generated(NVSHMEM_FAMILIES)]
    return typed + gen_stream.names() + NVSHMEM_BY_HAND


def pshmem_file():
    about = """pshmem.h - profiling names of OpenSHMEM: every shmem_x is a weak alias of pshmem_x, so
        that a tool may define shmem_x itself and call pshmem_x."""
    functions = shmem_by_hand() + generated(SHMEM_FAMILIES)
    body = "".join(f.prototype("p") for f in functions)
    return "include/pshmem.h", header("NVS_PSHMEM_H", about, ["<shmem.h>"], body)


def version_file():
    with open(os.path.join(ROOT, "VERSION")) as f:
        version = f.read().strip()
    major, minor, patch = version.split(".")
    about = "nvshmem/version.h - the version of nvs, from the file VERSION."
    body = f"#define NVS_VERSION_MAJOR {major}\n#define NVS_VERSION_MINOR {minor}\n"
    body += f'#define NVS_VERSION_PATCH {patch}\n#define NVS_VERSION_STRING "{version}"\n'
    text = comment(about + "\n\nGenerated by src/api/gen.py. Do not edit.")
    guard = "NVS_VERSION_H"
    return "include/nvshmem/version.h", f"{text}#ifndef {guard}\n#define {guard}\n\n{body}\n#endif\n"


# ---- tests ---------------------------------------------------------------------------------------

LINK_MAIN = """
int main(void)
{
    size_t nnames = sizeof names / sizeof *names;
    for (size_t i = 0; i < nnames; i++) {
        if (!names[i].address%s) {
            fprintf(stderr, "%%s: %s\\n", names[i].name);
            return 1;
        }
    }
    printf("%%zu names\\n", nnames);
    return 0;
}
"""


def link_test(path, about, include, names, profiled):
    text = source(about, ["<stdio.h>\n", f"<{include}>"], "")
    text += "typedef void (*any_function)(void);\n\n"
    text += "/* volatile: the addresses are those that the dynamic linker found. */\n"
    text += "static const volatile struct {\n    const char *name;\n    any_function address;\n"
    if profiled:
        text += "    any_function profiled;\n} names[] = {\n/* clang-format off */\n"
        text += "#define NAME(f) {#f, (any_function)f, (any_function)p##f}\n"
        text += "#define OLD_NAME(f) {#f, (any_function)f, NULL}\n"
    else:
        text += "} names[] = {\n/* clang-format off */\n#define NAME(f) {#f, (any_function)f}\n"
    text += "    /* clang-format on */\n"
    for name in names:
        text += f"    {'OLD_' if name in SHMEM_BY_HAND_OLD else ''}NAME({name}),\n"
    text += "};\n"
    if profiled:
        condition = " || (names[i].profiled && names[i].address != names[i].profiled)"
        text += LINK_MAIN % (condition, "absent, or not the same as its profiling name")
    else:
        text += LINK_MAIN % ("", "absent")
    return path, text


def all_files():
    yield from shmem_files()
    yield from nvshmem_files()
    yield from extension_files()
    yield from gen_stream.files()
    yield pshmem_file()
    yield version_file()
    yield "include/shmem/generics.h", gen_generic.c11_header()
    yield "include/shmem/overloads.h", gen_generic.cxx_header(generated(SHMEM_FAMILIES))
    about = "link_names_shmem.c - every function of OpenSHMEM links, and is its profiling name."
    names = shmem_names() + SHMEM_BY_HAND_OLD
    yield link_test("tests/spmd/link_names_shmem.c", about, "pshmem.h", names, True)
    about = "link_names_nvshmem.c - every function of NVSHMEM's host side links."
    yield link_test("tests/spmd/link_names_nvshmem.c", about, "nvshmemx.h", nvshmem_names(), False)


def main():
    mode = sys.argv[1] if len(sys.argv) > 1 else ""
    if mode not in ("", "--check", "--names"):
        sys.exit(__doc__)
    if mode == "--names":
        print("\n".join(shmem_names() + SHMEM_BY_HAND_OLD + nvshmem_names()))
        return
    stale = []
    for path, text in all_files():
        full = os.path.join(ROOT, path)
        old = None
        if os.path.exists(full):
            with open(full) as f:
                old = f.read()
        if old == text:
            continue
        stale.append(path)
        if mode != "--check":
            with open(full, "w") as f:
                f.write(text)
    if mode == "--check" and stale:
        sys.exit("not up to date (run src/api/gen.py): " + " ".join(stale))


if __name__ == "__main__":
    main()
