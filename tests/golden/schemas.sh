#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# schemas.sh BUILD: every JSON document that a command prints keeps to its JSON Schema, as `leadline schema` has it. Each
# document of `leadline schema` occurs; that of calibrate alone does not, which measures for minutes. 77 without Python.
set -u
command -v python3 >/dev/null || { echo "there is no python3" && exit 77; }
build=$(cd "$1" && pwd) || exit 1
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
tree=$(mktemp -d) && trap 'rm -rf "$tree"' EXIT
program=$build/sim/cli/leadline
mkdir "$tree/bin" "$tree/documents"

# The program, with a copy of what it prints where that is JSON.
cat >"$tree/bin/leadline" <<END
#!/bin/sh
for word; do
    [ "\$word" = -- ] && break
    case \$word in --json | --json=0.2) json=1 ;; esac
done
[ "\${json-}" ] || exec "$program" "\$@"
copy=\$(mktemp "$tree/documents/XXXXXX")
"$program" "\$@" >"\$copy"
status=\$?
echo "leadline \$*" >"\$copy.command"
cat "\$copy"
exit \$status
END
chmod +x "$tree/bin/leadline"

export PATH="$tree/bin:$PATH" LC_ALL=C
mkdir "$tree/here" && cd "$tree/here" && ln -s "$root/traces" traces || exit 1
train=traces/alexnet_train_b8.llt infer=traces/alexnet_infer_b1.llt
printf 'base: custom_example\ntraces: [%s]\nvary: {clock: [1GHz, 2GHz]}\nobjectives: [min time_s]\n' $train >s.yaml
status=0
try() {
    leadline "$@" --json >/dev/null 2>err </dev/null || { echo "leadline $*:" && cat err && status=1; }
}
try record alexnet --dry-run -o a.llt
try record alexnet --batch 2 --steps 1 -p image=67 -o b.llt
try train autoenc --steps 2 --batch 8
try map -c zigzag_gemm_l1 M=16 N=16 K=16
try serve -c h100_sxm --model qwen3-8b --rate 2 --input-tokens 512 --output-tokens 32 --num-prompts 8
try goodput --interruptions 466 --over 54d --checkpoint 12s
try plan --serve -c h100_sxm --model qwen3-8b --rate 1 --ttft 1s --tpot 50ms --input-tokens 512 --output-tokens 32 --devices 1
printf '%s' '{"traceEvents": [{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "tid": 1, "ts": 10, "dur": 5,' \
    '"args": {"correlation": 4}}, {"ph": "X", "cat": "kernel", "name": "gemm", "tid": 7, "ts": 40, "dur": 30,' \
    '"args": {"correlation": 4, "stream": 7, "device": 0}}]}' >part.json
try import pytorch-profile part.json -o part.llt
try sim --as-recorded --scale 'gemm=0.5' part.llt
try info --memory $train
try info --accounting catamount $train
try verify $train
try export chakra $infer -o a.et
try import chakra a.et -o c.llt
try sim -c custom_example --per-op --what-if --memory $train
try sim -c dgx_h100 --dp 2 --pp 2 --batch 16 --per-op --memory $train
try sim -c custom_example --explain 3 $train
try compare -c h100_sxm $train $infer
try similarity -c h100_sxm $train $infer
try plan -c dgx_h100 --batch 8 --devices 2 $train
try sweep s.yaml --dry-run
try sweep s.yaml --point 1
try sweep s.yaml -o s.db
try pareto s.db
try merge s.db -o t.db
try cache -c i7_6700k --op 29 $train
try dram
try dram hbm2
try study
try study F-T2
try models
try ops
try machines
try machines --export zigzag zigzag_tpu_like -o hardware.yaml
try explain
try schema
try sim -c i7_6700k -c v100_sxm_16gb --memory --batch 4096 --prune 2:4 $train
try sim -c dgx_a100+pytorch --dp 2 --zero 2 --batch 16 --memory --what-if $train
try validate "$root/tests/validation/published_attention.csv" --fitted --intervals
printf '%s\n' 'name: Pipe' 'clock: 1GHz' 'units: [{name: lanes, model: vector, count: 1, lanes: 1024, flops: {f32: 1}}]' \
    'memory: [{name: pipe, size: 1GiB, bandwidth: 100B/s}]' >pipe.yaml
echo 'hardware: {A Pipe: pipe}' >aliases.yaml
printf '%s\n' source,hardware,op,dtype,dims,time_s,notes 't,A Pipe,relu,fp32,n=25,4,' 't,A Pipe,relu,fp32,n=50,8,' \
    't,A Pipe,relu,fp32,n=100,16,' 't,A Pipe,relu,fp32,n=200,32,' >data.csv
try calibrate --from data.csv --machine ./pipe.yaml --fit memory.pipe.bandwidth --folds 2 -o fitted.yaml
printf '%s\n' '[general]' 'run_name = example' '[architecture_presets]' 'ArrayHeight: 16' 'ArrayWidth: 32' 'IfmapSramSzkB: 4' \
    'FilterSramSzkB: 4' 'OfmapSramSzkB: 4' 'IfmapOffset: 0' 'FilterOffset: 10000000' 'OfmapOffset: 20000000' 'Bandwidth: 10' \
    'Dataflow: ws' '[run_presets]' 'InterfaceBandwidth: USER' >scale.cfg
printf 'Layer,M,N,K\nproduct,64,100,64\n' >products.csv
try sim --compat scalesim2 -c scale.cfg --input gemm products.csv
leadline record -o p.llt --json -- true >/dev/null 2>&1
leadline record --coverage --json -- true >/dev/null 2>&1
python3 "$here/schemas.py" "$program" "$tree/documents" || status=1
exit $status
