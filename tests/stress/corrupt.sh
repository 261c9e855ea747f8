#!/bin/sh
# corrupt.sh NVSRUN MODEL - the stress must notice a single wrong byte: the job fails, the report
# names the seed, the byte, and the operations that touched it.
output=$(NVS_TEST_CORRUPT=1 NVS_STRESS_SECONDS=30 "$1" --bind none -n 2 --timeout 50 "$2" 4711 2>&1)
status=$?
fail() {
    printf '%s\ncorrupt.sh: %s\n' "$output" "$1" >&2
    exit 1
}
[ $status -eq 1 ] || fail "the job ended with status $status, expected 1"
for words in 'PE 0 of 2: first difference after epoch 20: byte' 'seed 4711' \
    'the latest operations on that byte' 'memory and model differ'; do
    case $output in
    *"$words"*) ;;
    *) fail "the report lacks: $words" ;;
    esac
done
