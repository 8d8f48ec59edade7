#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Figures of traces, of measured rows and of random data: no label lies on another or leaves the page:
# draw.sh LEADLINE RANDOM_PLOTS
set -eu
command -v python3 >/dev/null || { echo "there is no python3" && exit 77; }
leadline=$1 random_plots=$2 labels=$(dirname "$0")/labels.py
here=$(mktemp -d) && trap 'rm -rf "$here"' EXIT
small=traces/alexnet_infer_b1.llt step=traces/alexnet_train_b8.llt

# The test can fail: a text that is drawn twice, one that is too wide, a pale colour.
"$leadline" sim -c t4 --figure "$here/sound.svg" $small >"$here/out"
sed 's/<text.*/&&/' "$here/sound.svg" >"$here/twice.svg"
sed 's/font-size="11"/font-size="110"/' "$here/sound.svg" >"$here/wide.svg"
sed 's/#c12b02/#f1dbd2/g' "$here/sound.svg" >"$here/pale.svg"
for broken in twice wide pale; do
    python3 "$labels" "$here/$broken.svg" >"$here/faults" && echo "$broken is not seen" && exit 1
done

for machine in epyc_7742+ncnn h100_sxm custom_example tpu_v3_core i7_6700k; do
    "$leadline" sim -c $machine --figure "$here/$machine.svg" --kind roofline \
        --figure "$here/memory_$machine.svg" --kind memory $step >"$here/out"
done
"$leadline" sim -c h100_sxm -c v100_sxm_16gb -c gtx_960 --figure "$here/several.svg" --kind roofline \
    --figure "$here/several_memories.svg" --kind memory --figure "$here/breakdown.svg" --kind breakdown \
    $step $small >"$here/out"
"$leadline" sim -c h100_sxm --figure "$here/one.svg" --kind breakdown $step >"$here/out"
"$leadline" sim -c custom_example --pp 4 --batch 64 --micro-batch 8 --figure "$here/stage.svg" --kind memory $step >"$here/out"
"$leadline" similarity -c i7_6700k --figure "$here/tree.svg" $small $step >"$here/out"
{
    echo source,hardware,op,dtype,dims,time_s,notes
    for m in 16 64 256 1024; do
        for device in t4 h100_sxm; do
            echo "s,$device,gemm,fp32,m=$m;n=$m;k=$m,0.0$m,"
            echo "s,$device,relu,fp32,n=$m,0.000$m,"
        done
    done
} >"$here/rows.csv"
"$leadline" validate "$here/rows.csv" --figure "$here/rows.svg" >"$here/out"
rm "$here/twice.svg" "$here/wide.svg" "$here/pale.svg"
python3 "$labels" "$here"/*.svg
mkdir "$here/random"
"$random_plots" "$here/random" 12 >"$here/out" 2>&1
python3 "$labels" "$here/random"/*.svg
