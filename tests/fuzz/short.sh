#!/bin/sh
# short.sh PROGRAM CORPUS - a bounded run of a fuzzer: the same inputs every time, about a second of
# work. An input that breaks something is kept beside the program, and its name is printed.
program=$1
corpus=$2
new=$(mktemp -d) || exit 1
trap 'rm -rf "$new"' EXIT
ASAN_OPTIONS=detect_leaks=1:allocator_may_return_null=1 "$program" -seed=1 -runs=5000 -max_total_time=5 -timeout=20 \
    -verbosity=0 -close_fd_mask=1 -artifact_prefix="$program-" "$new" "$corpus"
