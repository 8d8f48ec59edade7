#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC1091,SC2154 # common.sh is read when this runs, and says what program, mpi, space and here are
# Four ranks share a sweep evenly and spend their CPU time on its points, servings of which there are few per rank
# too: sharing.sh LEADLINE
set -eu
. "$(dirname "$0")/common.sh"
trap 'rm -rf "$here"' EXIT

# number KEY: of the JSON of the last run.
number() { sed -n "s/.*\"$1\": \([0-9.e+-]*\),*/\1/p" "$here/told"; }

# holds EXPRESSION WHAT
holds() { awk "BEGIN { exit !($1) }" || { echo "$2: $1" && cat "$here/told" && exit 1; }; }

# shared FILE RANKS MEAN: no rank has more than 5 % above the mean of points, or one or two points.
shared() {
    mpirun --oversubscribe -np "$2" "$mpi" sweep "$1" -o "$here/R.db" -j 1 --fresh --json >"$here/told"
    echo "$2 ranks: $(number evaluated) points, evaluating $(number evaluating_share), imbalance $(number load_imbalance)"
    holds "$(number ranks) == $2" "ranks"
    holds "$(number load_imbalance) <= $3" "imbalance"
}

# Long enough that starting a rank is little, and of designs of which each is worked out anew: a training step on arrays.
sed 's/mode: infer, batch: 1/mode: train/; s/alexnet/resnet/; s/by: 16/by: 4/; s/\[100GB.*\]/[100GB\/s]/' "$space" >"$here/long.yaml"
shared "$here/long.yaml" 4 0.05
holds "$(number evaluating_share) >= 0.95" "evaluating"

cat >"$here/serving.yaml" <<'END'
base: h100_sxm+vllm
serve: {model: llama3.1-8b, rate: 10, input_tokens: 1000, output_tokens: 20, num_prompts: 20}
vary:
  serve.max_num_seqs: {from: 16, to: 128, by: 16}
  memory.hbm3.bandwidth: [3.35TB/s, 6.7TB/s, 13.4TB/s]
objectives: [min tpot_s]
END
shared "$here/serving.yaml" 4 0.34
shared "$here/serving.yaml" 3 0.26
