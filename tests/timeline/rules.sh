#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# rules.sh LEADLINE few|many: timelines of recorded and simulated traces keep the rules of both formats, and both
# formats say the same (rules.py). 77 without Python.
set -eu
leadline=$1 how=$2
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
command -v python3 >/dev/null || { echo "python3 is not installed" && exit 77; }
tree=$(mktemp -d) && trap 'rm -rf "$tree"' EXIT
cd "$tree"

# judge NAME: both formats together.
judge() {
    said=$(python3 "$here/rules.py" t.pftrace t.json) || { echo "$1: $said" && exit 1; }
    echo "$1: $said"
}

# check NAME ARGUMENTS...: exports in both formats and judges them.
check() {
    name=$1 && shift
    for format in pftrace json; do
        "$leadline" export timeline "$@" -o "t.$format" || { echo "$name: no $format" && exit 1; }
    done
    judge "$name"
}

# serve ARGUMENTS...: each request and each batch is a slice, the last of which ends when the last token comes.
serve() {
    for format in pftrace json; do
        "$leadline" serve -m qwen3-8b --rate 20 --num-prompts 40 --input-tokens 100-3000 --output-tokens 1-40 "$@" \
            --timeline "t.$format" --json >serve.json 2>/dev/null || { echo "serve $*: no $format" && exit 1; }
    done
    judge "serve $*"
    steps=$(sed -n 's/^ *"steps": \([0-9]*\),$/\1/p' serve.json)
    case $said in
        *" $((40 + steps)) slices, "*) ;;
        *) echo "serve $*: not 40 requests and $steps batches" && exit 1 ;;
    esac
}

traces=$root/traces
"$leadline" import onednn "$root/tests/peers/resnet18_forward.onednn.csv" -o recorded.llt >/dev/null
check "recorded" recorded.llt
check "recorded, on a TPU" -c tpu_v2_core recorded.llt
check "no flows" -c h100_sxm+pytorch -p flows=none "$traces/alexnet_infer_b1.llt"
serve -c h100_sxm+vllm --instances 2
serve -c h100_sxm+sglang --prefill '1 x tp=1' --decode '2 x tp=1' --kv-blocks 6000
if [ "$how" = few ]; then
    check "h100_sxm" -c h100_sxm+pytorch -p flows=cross "$traces/alexnet_infer_b1.llt"
    exit 0
fi

# plan ARGUMENTS...: a step on many devices, which ends when leadline sim says.
plan() {
    check "plan $*" -c dgx_h100+pytorch "$@" gpt.llt
    ended=${said##*, } && ended=${ended% ns}
    # shellcheck disable=SC2046 # options of export alone are taken out of the words
    set -- $(printf '%s\n' "$*" | sed 's/-p [a-z]*=[a-z]*//g')
    "$leadline" sim -c dgx_h100+pytorch "$@" --json gpt.llt >sim.json
    sed -n 's/^ *"time_s": \([^,]*\),*$/\1/p' sim.json | head -1 >step_s
    awk -v ended="$ended" '{ d = $1 * 1e9 - ended; exit d * d > 4 }' step_s ||
        { echo "plan $*: ends at $ended ns, not after $(cat step_s) s" && exit 1; }
}

"$leadline" record gpt --dry-run --train --batch 1 -p layers=4 -p hidden=64 -p heads=4 -p seq=32 -p vocabulary=64 \
    -o gpt.llt >/dev/null
plan --dp 8
plan --dp 2 --batch 8 --micro-batch 1 --zero 2
plan --pp 4 --batch 8 --micro-batch 1
plan --pp 4 --batch 8 --micro-batch 1 --schedule gpipe --recompute full
plan --pp 2 --chunks 2 --schedule interleaved --batch 8 --micro-batch 1 --tp 2 -p devices=all
plan --pp 2 --tp 2 --dp 2 --batch 8 --micro-batch 2 --sequence-parallel --zero 3 -p flows=all
plan --pp 2 --batch 4 --micro-batch 1 --gemm-dtype f8 -p flows=none
plan --pp 2 --batch 4 --micro-batch 1 --offload optimizer,activations
plan --cp 2 --pp 2 --batch 4 --micro-batch 1
serve -c dgx_h100+trtllm --pp 2 --tp 2 --kv-blocks 400
# Ranks of a trace are processes, messages go from one to the other.
for rank in 0 1; do "$leadline" export chakra gpt.llt -o "rank.$rank.et"; done
"$leadline" import chakra rank.0.et rank.1.et -o ranks.llt >/dev/null
check "ranks" -c archive/vidur_a100 ranks.llt
for machine in h100_sxm+pytorch mi300x tpu_v5e i7_6700k groq_lpu; do
    check "$machine" -c "$machine" "$traces/alexnet_train_b8.llt"
    check "$machine, inference" -c "$machine" -p flows=cross "$traces/alexnet_infer_b1.llt"
done
