#!/bin/sh
# Every public header compiles alone: with gcc and clang as C11 and C++17, and with nvcc where there
# is one, without a warning. Prints what it did; exits 1 if a header fails, 77 if no compiler is here.
#
# usage: check.sh INCLUDE_DIR      (or a build or installed tree that has include/)

dir=${1:?usage: check.sh INCLUDE_DIR}
[ -d "$dir/include" ] && dir=$dir/include
[ -f "$dir/nvs.h" ] || { echo "check.sh: no nvs.h in $dir" >&2; exit 1; }
dir=$(cd "$dir" && pwd)
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
flags="-Wall -Wextra -Wpedantic -Werror -I$dir"
failed=0
compilations=0

# compile NAME HEADER EXTENSION COMMAND...: one source file that is only this include.
compile() {
    name=$1 header=$2 source=$tmp/header.$3
    shift 3
    printf '#include <%s>\nint nvs_header_check;\n' "$header" >"$source"
    compilations=$((compilations + 1))
    if ! "$@" -c "$source" -o "$tmp/header.o" 2>"$tmp/log"; then
        echo "FAILED $name: $header"
        cat "$tmp/log"
        failed=$((failed + 1))
    fi
}

# Some are parts of nvshmem.h where kernels are compiled.
parts='^nvshmem/device/(amo|api|coll|core|fold|rma|sync|wait|api_.*)\.h$'
headers=$(cd "$dir" && find -L . -name '*.h' -o -name '*.hpp' | sed 's|^\./||' | grep -Ev "$parts" | sort)
used=
for cc in gcc clang; do
    command -v $cc >/dev/null || { echo "skipped $cc: not here"; continue; }
    used="$used $cc"
    for header in $headers; do
        case $header in
        *.hpp | shmem/overloads.h | shmem/extensions_overloads.h) ;; # C++ only
        *) compile "$cc -std=c11" "$header" c $cc -std=c11 $flags ;;
        esac
        compile "$cc -std=c++17" "$header" cpp $cc -std=c++17 $flags
    done
done

nvcc=$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)
if [ -x "$nvcc" ]; then
    used="$used nvcc"
    for header in nvshmem.h nvshmemx.h nvs.h nvs.hpp shmem.h pshmem.h; do
        compile nvcc "$header" cu "$nvcc" -x cu -std=c++17 -Werror all-warnings \
            -Xcompiler -Wall,-Wextra "-I$dir"
    done
else
    echo "skipped nvcc: not here"
fi

[ $compilations -gt 0 ] || exit 77
echo "$(echo $headers | wc -w) headers, $compilations compilations with$used: $failed failed"
[ $failed -eq 0 ]
