#!/usr/bin/env bash
# consumer.sh WAY BUILD SCRATCH - uses an installed nvs in one way, as a user's project does.
#
# `consumer.sh install` installs BUILD into a folder and then moves the tree, with a blank in its new
# name; every other way builds a program against the moved tree and compares what two PEs print.
set -euo pipefail
way=$1 build=$2 scratch=$3
source=$(dirname "$(readlink -f "$0")")/src
repository=$(cd "$source/../../.." && pwd)
tree="$scratch/a moved tree"
out="$scratch/$way"
expected="2 PEs, sum 3"
warnings=(-Wall -Wextra -Werror)
export PKG_CONFIG_PATH="$tree/lib/pkgconfig"
unset LD_LIBRARY_PATH

# check PROGRAM - by nvsrun, or by the command before it: check oshrun -n 2 ./a.out.
check() {
    local got
    [ $# -gt 1 ] || set -- "$tree/bin/nvsrun" --bind none -n 2 "$1"
    got=$("$@")
    if [ "$got" != "$expected" ]; then
        echo "$*: expected '$expected', got '$got'" >&2
        exit 1
    fi
    echo "$*: $got"
}

if [ "$way" = install ]; then
    rm -rf "$scratch"
    mkdir -p "$scratch"
    cmake --install "$build" --prefix "$scratch/prefix" >/dev/null
    # Nothing may remember where it was built or first installed.
    if grep -rlF -e "$scratch" -e "$build" -e "$repository" "$scratch/prefix"; then
        echo "these files contain absolute paths" >&2
        exit 1
    fi
    mv "$scratch/prefix" "$tree"
    exit
fi

rm -rf "$out"
mkdir -p "$out"
cd "$out"
case "$way" in
cmake)
    cmake -S "$source" -B . -DCMAKE_PREFIX_PATH="$tree" -DCMAKE_BUILD_TYPE=Release >log 2>&1 &&
        cmake --build . >>log 2>&1 || {
        cat log
        exit 1
    }
    for program in by_*; do
        check "./$program"
    done
    ;;
pkg-config)
    eval "flags=($(pkg-config --cflags --libs nvs))"
    gcc "${warnings[@]}" "$source/nvs.c" -o program "${flags[@]}"
    check ./program
    [ "$(pkg-config --modversion nvs)" = "$(cat "$repository/VERSION")" ]
    ;;
gcc)
    gcc -std=c11 "${warnings[@]}" -I"$tree/include" "$source/nvs.c" -o program \
        -L"$tree/lib" -lnvs -Wl,-rpath,"$tree/lib"
    check ./program
    ;;
nvshmem-names)
    gcc -std=c11 "${warnings[@]}" -I"$tree/include" "$source/nvshmem.c" -o program \
        -L"$tree/lib" -lnvshmem_host -lnvshmem_device -Wl,-rpath,"$tree/lib"
    check ./program
    # All names in one command are one library.
    gcc -std=c11 "${warnings[@]}" -I"$tree/include" "$source/nvshmem.c" -o both \
        -L"$tree/lib" -lnvshmem_device -lnvshmem_host -lnvs -Wl,-rpath,"$tree/lib"
    [ "$(readelf -d both | grep -c 'NEEDED.*\(nvs\|nvshmem\)')" -eq 1 ]
    check ./both
    ;;
standin)
    # A program for GPUs without kernels, with the stand-in for the CUDA runtime.
    flags=(-I"$tree/include" -I"$tree/include/nvs_cudart" -L"$tree/lib" -lnvs_cudart -lnvshmem_host
        -Wl,-rpath,"$tree/lib")
    gcc -std=c11 "${warnings[@]}" "$source/training.c" -o program "${flags[@]}"
    check ./program
    gcc -std=c11 "${warnings[@]}" -DCUDA_API_PER_THREAD_DEFAULT_STREAM "$source/training.c" \
        -o per_thread "${flags[@]}"
    check ./per_thread
    # A kernel is refused by the compiler, in words.
    echo '#include <cuda_runtime.h>
        __global__ void kernel(void);' >kernel.c
    ! gcc -c kernel.c "${flags[@]}" 2>log && grep "kernels need CUDA" log
    ;;
shmemcc)
    "$tree/bin/shmemcc" -std=c11 "${warnings[@]}" "$source/shmem.c" -o program
    check "$tree/bin/shmemrun" -n 2 ./program
    ;;
oshcc)
    PATH="$tree/libexec/nvs/oshmem/bin:$PATH"
    oshcc -std=c11 "${warnings[@]}" -c "$source/shmem.c" -o program.o
    oshcc program.o -o program
    check oshrun -np 2 ./program
    ;;
c++)
    g++ -std=c++17 "${warnings[@]}" -I"$tree/include" "$source/first.cpp" -o program \
        -L"$tree/lib" -lnvs -Wl,-rpath,"$tree/lib"
    check ./program
    ;;
nvcc)
    PATH="$PATH:/usr/local/cuda/bin"
    command -v nvcc >/dev/null || exit 77
    for options in -rdc=false -rdc=true; do
        nvcc $options -Werror all-warnings -x cu -I"$tree/include" "$source/nvshmem.c" -o program \
            -L"$tree/lib" -lnvshmem_host -lnvshmem_device
        # No rpath: nvcc breaks linker options at blanks.
        LD_LIBRARY_PATH="$tree/lib" check ./program
    done
    ;;
tools)
    # The tools run in a moved tree, and what man, bash and zsh look up for them is in its place.
    "$tree/bin/nvs-info" --library | grep "version  *$(cat "$repository/VERSION")$"
    for name in nvsrun nvs-info nvs-perf shmemcc shmemc++ shmemrun; do
        "$tree/bin/$name" --help | grep "^Usage: .*$name "
        grep "^\.Nm $name" "$tree/share/man/man1/$name.1"
        grep "^complete .* $name" "$tree/share/bash-completion/completions/$name"
        grep -rw "^#compdef.* $name" "$tree/share/zsh/site-functions"
    done
    for name in oshcc oshc++ oshcxx oshrun; do
        grep "^\.Nm $name" "$tree/libexec/nvs/oshmem/share/man/man1/$name.1"
    done
    grep '^\.It Ev NVS_HEAP_SIZE' "$tree/share/man/man7/nvs-environment.7"
    grep '^\.Nm nvs$' "$tree/share/man/man7/nvs.7"
    ;;
*)
    echo "consumer.sh: no such way: $way" >&2
    exit 2
    ;;
esac
