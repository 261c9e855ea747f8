#!/bin/sh
# coll_end.sh NVSRUN PROGRAM - a void function that PEs call differently ends the job: with a failure
# status, soon, and with one sentence on stderr that names both sides. (nvs_spmd_test cannot say so:
# there a failing job is a failing test.)
out=$("$1" --bind none -n 3 --timeout 20 "$2" end 2>&1)
status=$?
printf '%s\n' "$out"
if [ $status -eq 0 ] || [ $status -eq 124 ]; then
    echo "status $status: the job should have failed at once" >&2
    exit 1
fi
case $out in *"came back"*) echo "a PE came back" >&2; exit 1 ;; esac
for words in "shmem_fcollect64" "NVS_ERR_MISMATCH" "of 1 element " "of 2 elements"; do
    case $out in
    *"$words"*) ;;
    *) echo "stderr lacks '$words'" >&2; exit 1 ;;
    esac
done
