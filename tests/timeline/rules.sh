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

# check NAME ARGUMENTS...: exports in both formats and judges them together.
check() {
    name=$1 && shift
    for format in pftrace json; do
        "$leadline" export timeline "$@" -o "t.$format" || { echo "$name: no $format" && exit 1; }
    done
    said=$(python3 "$here/rules.py" t.pftrace t.json) || { echo "$name: $said" && exit 1; }
    echo "$name: $said"
}

traces=$root/traces
"$leadline" import onednn "$root/tests/peers/resnet18_forward.onednn.csv" -o recorded.llt >/dev/null
check "recorded" recorded.llt
check "recorded, on a TPU" -c tpu_v2_core recorded.llt
check "no flows" -c h100_sxm+pytorch -p flows=none "$traces/alexnet_infer_b1.llt"
if [ "$how" = few ]; then
    check "h100_sxm" -c h100_sxm+pytorch -p flows=cross "$traces/alexnet_infer_b1.llt"
    exit 0
fi
for machine in h100_sxm+pytorch h100_sxm mi300x tpu_v5e i7_6700k jetson_orin custom_example v100_sxm_16gb+pytorch \
    gaudi_2 groq_lpu; do
    check "$machine" -c "$machine" "$traces/alexnet_train_b8.llt"
    check "$machine, inference" -c "$machine" -p flows=cross "$traces/alexnet_infer_b1.llt"
done
