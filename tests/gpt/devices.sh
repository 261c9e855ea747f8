#!/usr/bin/env bash
# devices.sh NVSRUN GPT SCRATCH - a gpt without a back end for GPUs: it trains on CPUs by itself, and
# says why it can't do what only GPUs can.
set -euo pipefail
nvsrun=$1 gpt=$2 scratch=$3
options=(--steps 1 --layers 1 --width 16 --heads 2 --context 8 --sample 0 --svg "$scratch/devices.svg")

# refused SENTENCE OPTION... - ends with 1 and says that.
refused() {
    local sentence=$1 status=0 output
    shift
    output=$("$nvsrun" --bind none -n 2 "$gpt" "${options[@]}" "$@" 2>&1) || status=$?
    [ $status -eq 1 ] && grep -qF -e "$sentence" <<<"$output" && return
    printf '%s: status %d, said:\n%s\nexpected: %s\n' "$*" $status "$output" "$sentence" >&2
    exit 1
}

output=$("$nvsrun" --bind none -n 2 "$gpt" "${options[@]}")
grep -q '^device   CPUs, float32$' <<<"$output" || { echo "$output" >&2 && exit 1; }
refused "gpt: PE 0: --device gpu: this program was built without nvcc, for CPUs only" --device gpu
refused "gpt: PE 0: --precision bfloat16 needs a GPU: this program was built" --precision bfloat16
refused "--precision 'bfloat16': CPUs compute in float32" --precision bfloat16 --device cpu
refused "--device 'tpu': one of auto|cpu|gpu is allowed" --device tpu
refused "--graph 'maybe': one of yes|no is allowed" --graph=maybe
