#!/usr/bin/env bash
# same_loss.sh NVSRUN GPT SCRATCH - the same global batch gives the same loss (1e-3) with 1, 2, 3 and
# 4 PEs, and the loss has fallen.
set -euo pipefail
nvsrun=$1 gpt=$2 scratch=$3
options=(--device cpu --steps 25 --layers 2 --width 64 --context 48 --sample 0
    --svg "$scratch/loss.svg")
first=

for npes in 1 2 3 4; do
    loss=$("$nvsrun" --bind none -n $npes "$gpt" "${options[@]}" | sed -n 's/^final loss //p')
    echo "$npes PEs: final loss $loss"
    first=${first:-$loss}
    awk -v a="$first" -v b="$loss" 'BEGIN {
        d = a > b ? a - b : b - a
        exit !(b > 0 && b < 5 && d < 0.0011)  # three digits are printed
    }' || {
        echo "expected a loss below 5 and within 0.001 of that of one PE ($first)" >&2
        exit 1
    }
done
