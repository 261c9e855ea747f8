#!/bin/sh
# corners.sh NVSRUN PROGRAM - runs the corners of corners.c, each with a limit: most of them would
# hang where they are wrong.
nvsrun=$1 program=$2 failures=0
export NVS_ON_ERROR=return

fail() {
    echo "FAILED: $*"
    failures=$((failures + 1))
}

# corner STATUS COMMAND...: ends with this status
corner() {
    wanted=$1
    shift
    out=$("$@" 2>&1)
    status=$?
    [ $status = "$wanted" ] || fail "$*: status $status, not $wanted: $out"
}

launch="$nvsrun --bind none --timeout 20 -n 3"
for name in bss again gone lock compare; do
    corner 0 $launch "$program" $name
done
corner 3 $launch "$program" exec
corner 0 timeout 20 "$program" closed

# Two programs, one after the other, in the place of one PE; and one that is missing the second time.
corner 0 $launch sh -c "'$program' compare && '$program' again && '$program' lock"
corner 1 $launch sh -c "'$program' compare; if [ \$NVS_JOB_PE = 0 ]; then exec '$program' compare; fi"

# What was printed before the end is there.
corner 3 sh -c "sleep 2 | $launch '$program' reader"
case $out in
*"printed by 0"*) ;;
*) fail "shmem_global_exit has lost the output: $out" ;;
esac
corner 3 sh -c "sleep 3 | timeout 2 '$program' reader"

[ $failures = 0 ] && echo "all corners are safe"
exit $failures
