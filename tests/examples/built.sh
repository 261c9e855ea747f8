#!/usr/bin/env bash
# built.sh FOLDER NAME... - the programs are there, and behave on a command line: --help says what they do
# and names each option, an unknown option and a value that is no number are refused, and without a GPU
# they exit 77 and say so.
set -uo pipefail
cd "$1" || exit 1
shift
failed=0

# status_is WANTED NAME ARG...
status_is() {
    local wanted=$1 program=$2 status
    shift 2
    "./$program" "$@" >output.txt 2>&1 </dev/null
    status=$?
    [ $status -eq "$wanted" ] && return
    echo "built: $program $*: exit status $status, expected $wanted" >&2
    cat output.txt >&2
    failed=1
}

for name; do
    status_is 0 "$name" --help
    grep -q -- '^  --help' output.txt || { echo "built: $name --help does not list --help" >&2; failed=1; }
    numbers=$(sed -n 's/^  \(--[a-z]*\) N .*/\1/p' output.txt)
    status_is 2 "$name" --no-such-option
    for option in $numbers; do
        status_is 2 "$name" "$option" 0
        status_is 2 "$name" "$option" many
        status_is 2 "$name" "$option" 7up
    done
    # No device is visible, also where there is one.
    CUDA_VISIBLE_DEVICES='' status_is 77 "$name"
    grep -q 'there is no' output.txt || { echo "built: $name without a GPU does not say so" >&2; failed=1; }
done
rm -f output.txt
exit $failed
