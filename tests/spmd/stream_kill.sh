#!/bin/sh
# stream_kill.sh NVSRUN PROGRAM - a PE dies while the streams of others wait for it.
nvsrun=$1 program=$2
failed=0
for what in collective signal graph blocking; do
    out=$("$nvsrun" --bind none -n 4 --timeout 50 --on-loss continue "$program" "$what" 2>&1)
    status=$?
    noticed=$(printf '%s\n' "$out" | grep -c 'noticed$')
    if [ "$status" -ne 137 ] || [ "$noticed" -ne 3 ]; then
        printf '%s: status %s, not 137; %s PEs noticed, not 3:\n%s\n' "$what" "$status" "$noticed" "$out"
        failed=1
    fi
done
# As programs run by default: the job ends, the streams with it.
out=$(NVS_ON_ERROR=end "$nvsrun" --bind none -n 4 --timeout 50 "$program" signal 2>&1)
status=$?
if [ "$status" -ne 137 ] || ! printf '%s\n' "$out" | grep -q 'PE 1 .*killed by signal 9'; then
    printf 'default: status %s, not 137:\n%s\n' "$status" "$out"
    failed=1
fi
exit $failed
