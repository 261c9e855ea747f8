#!/bin/sh
# environment.sh NVSRUN PROGRAM - variables of the environment that are wrong, and those that are
# right. A wrong value ends the program before it does anything, with a sentence that names the
# variable and the value; PROGRAM is any test that succeeds.
nvsrun=$1 program=$2 failures=0

fail() {
    echo "FAILED: $*"
    failures=$((failures + 1))
}

# refused NAME VALUE: with and without the launcher
refused() {
    for launch in "" "$nvsrun -n 2"; do
        out=$(env "$1=$2" $launch "$program" 2>&1) && fail "$1=$2 is accepted ($launch)"
        case $out in
        *"$1"*"$2"*) ;;
        *) fail "$1=$2 ($launch): the sentence does not name them: $out" ;;
        esac
    done
}

# accepted NAME VALUE
accepted() {
    for launch in "" "$nvsrun -n 2"; do
        out=$(env "$1=$2" $launch "$program" 2>&1) || fail "$1=$2 ($launch) is refused: $out"
    done
}

refused NVS_HEAP_SIZE banana
refused NVS_HEAP_SIZE -5m
refused NVS_HEAP_SIZE 10x
refused NVS_HEAP_SIZE 99999999t
refused NVS_TRANSPORT pigeon
refused NVS_ON_ERROR maybe
refused NVS_CHAOS_SEED one
refused NVS_SPIN -7
refused NVS_STATIC perhaps
refused SHMEM_SYMMETRIC_SIZE 1z

accepted NVS_HEAP_SIZE 16m
accepted NVS_HEAP_SIZE 0.5G
accepted NVSHMEM_SYMMETRIC_SIZE 33554432
accepted SHMEM_SYMMETRIC_SIZE 64M
accepted NVS_SPIN 0
accepted NVS_CHAOS_SEED random

# A name that does not exist is a warning with the nearest one, not an error.
out=$(NVS_HEAPSIZE=8m "$program" 2>&1) || fail "NVS_HEAPSIZE ends the program: $out"
case $out in
*NVS_HEAPSIZE*NVS_HEAP_SIZE*) ;;
*) fail "NVS_HEAPSIZE: no warning that names NVS_HEAP_SIZE: $out" ;;
esac

# So are misspelt names of the standards; what only other implementations know is none of our business.
out=$(NVSHMEM_SYMETRIC_SIZE=8m "$program" 2>&1) || fail "NVSHMEM_SYMETRIC_SIZE ends the program: $out"
case $out in
*NVSHMEM_SYMETRIC_SIZE*NVSHMEM_SYMMETRIC_SIZE*) ;;
*) fail "NVSHMEM_SYMETRIC_SIZE: no warning that names NVSHMEM_SYMMETRIC_SIZE: $out" ;;
esac
out=$(NVSHMEM_BOOTSTRAP=MPI "$program" 2>&1) || fail "NVSHMEM_BOOTSTRAP ends the program: $out"
case $out in
*BOOTSTRAP*) fail "NVSHMEM_BOOTSTRAP: $out" ;;
esac
out=$(NVSHMEM_BOOTSTRAP=MPI NVS_LOG=info "$program" 2>&1)
case $out in
*"NVSHMEM_BOOTSTRAP is set, but has no effect"*) ;;
*) fail "NVSHMEM_BOOTSTRAP: nothing is said at NVS_LOG=info: $out" ;;
esac

# Sizes that differ between PEs.
out=$("$nvsrun" -n 2 sh -c 'NVS_HEAP_SIZE=$((16 + NVS_JOB_PE))m exec "$0"' "$program" 2>&1) &&
    fail "heaps of different sizes are accepted"
case $out in
*heap*PE*) ;;
*) fail "heaps of different sizes: $out" ;;
esac

[ "$failures" -eq 0 ]
