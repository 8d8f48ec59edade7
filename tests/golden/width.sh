#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# width.sh BUILD: on a screen of 80 columns no command prints a longer line of text, and its help neither; a word that
# has no space in it may be longer. Each command of the list of commands occurs. What programs read is not for screens:
# JSON, CSV, YAML, Markdown.
set -u
build=$(cd "$1" && pwd) || exit 1
root=$(cd "$(dirname "$0")/../.." && pwd)
tree=$(mktemp -d) && trap 'rm -rf "$tree"' EXIT
export PATH="$build/sim/cli:$PATH" COLUMNS=80 LC_ALL=C
cd "$tree" && ln -s "$root/traces" traces || exit 1
status=0 count=0

# fits ARGS...: what leadline prints fits; of a long word a line may hold no more than that.
fits() {
    count=$((count + 1))
    leadline "$@" >out 2>err </dev/null || { echo "leadline $*:" && cat err && status=1; }
    awk -v what="leadline $*" 'length($0) > 80 && $0 ~ /^ *[^ ]+ / { print what ": " length($0) ": " $0; bad = 1 }
                               END { exit bad }' out || status=1
}

train=traces/alexnet_train_b8.llt infer=traces/alexnet_infer_b1.llt
printf 'base: custom_example\ntraces: [%s]\nvary: {clock: [1GHz, 2GHz], memory.hbm.bandwidth: [1TB/s, 2TB/s]}\nobjectives: [min time_s, min energy_j]\n' "$PWD/$train" >s.yaml
printf '%s\n' source,hardware,op,dtype,dims,time_s,notes 'test,AMD MI100,ew_add,fp32,b=12501;h=1438;nin=2,0.000228832,' >data.csv
fits --help
fits record alexnet --dry-run -o a.llt
fits record -- true
fits train autoenc --steps 2 --batch 8
fits info $train
fits info --memory $train
fits info --accounting catamount $train
fits export timeline -c custom_example $train -o a.json
fits export chakra $infer -o a.et
fits import chakra a.et -o b.llt
fits verify $train
fits sim -c v100_sxm_16gb $train
fits sim -c v100_sxm_16gb+archive/deepbench -c h100_sxm -c dgx_h100+pytorch $train $infer
fits sim -c custom_example --per-op --what-if --memory $train
fits sim -c custom_example --explain 22 $train
fits sim -c dgx_h100 --dp 4 --pp 2 --batch 64 --micro-batch 4 $train
fits compare -c h100_sxm $train $infer
fits similarity -c v100_sxm_16gb $train $infer
fits plan -c dgx_h100 --batch 64 $train
fits goodput --interruptions 466 --over 54d --checkpoint 12s
fits serve -c h100_sxm --model qwen3-8b --rate 2 --input-tokens 512 --output-tokens 32 --num-prompts 8
fits plan --serve -c h100_sxm --model qwen3-8b --rate 1 --ttft 1s --tpot 50ms --input-tokens 512 --output-tokens 32 --devices 1
fits map -c zigzag_gemm_l1 M=64 N=64 K=64
fits sweep s.yaml -o s.db
fits pareto s.db
fits merge s.db -o t.db
fits cache -c i7_6700k --op 29 $train
fits dram
fits dram hbm2
fits validate data.csv
fits study F-T2
fits study
fits models
fits models alexnet
fits ops
fits ops conv2d
fits machines
fits explain
fits schema
fits explain exposed
sed -n 's/^LL_COMMAND(\(.*\))$/\1/p' "$root/sim/cli/commands.def" >commands
while read -r command; do
    fits help "$command"
    grep -q "^fits $command" "$root/tests/golden/width.sh" || case $command in
    dump | completion | manual | mcp | calibrate) ;; # for programs, shells, man; measures for minutes
    *) echo "$command: no command line of it here" && status=1 ;;
    esac
done <commands
echo "$count outputs"
exit $status
