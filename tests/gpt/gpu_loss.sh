#!/usr/bin/env bash
# gpu_loss.sh NVSRUN GPT SCRATCH emulated|cuda - training on GPUs ends where training on CPUs does.
#
# float32 agrees with the CPU to 0.001, as CPUs do that share a batch differently: only the order of
# sums differs. In bfloat16 every product reads weights and activations of 8 bits, a relative error of
# 2^-9 that has no direction and is averaged over all sums; what is left in the loss is about 0.001
# where the loss is 5, and 0.01 is allowed. With a fixed precision, the number of PEs changes the loss
# by 0.001 at most in float32, and by what rounding does in bfloat16. Exits 77 without a GPU.
set -euo pipefail
nvsrun=$1 gpt=$2 scratch=$3 where=$4
here=$(dirname "$(readlink -f "$0")")
options=(--text "$here/../../docs/memory-model.md" --text "$here/../../LICENSE" --sample 0
    --svg "$scratch/gpu_loss_$where.svg")
if [ "$where" = emulated ]; then
    options+=(--steps 15 --layers 2 --width 32 --heads 2 --context 16 --batch 5 --lr 0.01)
else
    options+=(--steps 60 --layers 2 --width 64 --context 48)
fi

# run NPES [OPTION...] - everything that is said.
run() {
    local npes=$1
    shift
    "$nvsrun" --bind none -n "$npes" "$gpt" "${options[@]}" "$@" 2>&1
}

# loss_of NPES [OPTION...] - and the line that tells the device, to stderr.
loss_of() {
    local output
    output=$(run "$@") || { echo "$output" >&2 && return 1; }
    sed -n '/^device/p; /exposed/h; ${x;p;}' <<<"$output" >&2
    sed -n 's/^final loss //p' <<<"$output"
}

# check TOLERANCE EXPECTED NPES [OPTION...]
check() {
    local tolerance=$1 expected=$2 loss
    shift 2
    loss=$(loss_of "$@")
    echo "$*: final loss $loss, $expected is expected"
    awk -v a="$expected" -v b="$loss" -v t="$tolerance" 'BEGIN {
        d = a > b ? a - b : b - a
        exit !(b > 0 && b < 5.45 && d < t + 0.0001)  # three digits are printed
    }' || {
        echo "expected a loss below 5.45 and within $tolerance of $expected" >&2
        exit 1
    }
}

if ! output=$(run 1 --device gpu --steps 1); then
    echo "$output"
    grep -q 'could not find a GPU' <<<"$output" && exit 77
    exit 1
fi

expected=$(loss_of 1 --device cpu)
check 0.001 "$expected" 1 --device gpu --precision float32
check 0.001 "$expected" 2 --device gpu --precision float32
check 0.001 "$expected" 4 --device gpu --precision float32 --graph no
check 0.01 "$expected" 1 # auto: a GPU, in bfloat16
check 0.01 "$expected" 2 --device gpu --precision bfloat16
check 0.01 "$expected" 3 --device gpu --grads bfloat16

# A PE without a share of the batch.
expected=$(loss_of 1 --device cpu --batch 2)
check 0.001 "$expected" 3 --device gpu --batch 2 --precision float32
