# SPDX-License-Identifier: Apache-2.0
. ./try.sh
try calibrate traces/alexnet_infer_b1.llt
try calibrate --threads 0
try calibrate --seconds 1 traces/alexnet_infer_b1.llt
try calibrate -o /nowhere/host.yaml no_such.llt
try calibrate -o . traces/alexnet_infer_b1.llt
try calibrate --keep /nowhere/kept.llt
try calibrate --from no_such.csv --machine t4 -o /nowhere/fitted.yaml
echo 'stays as it is' >host.yaml
try calibrate no_such.llt
cat host.yaml

# An interrupt is obeyed at once, whatever is being measured, and leaves nothing behind.
mkdir scratch
TMPDIR=scratch timeout --preserve-status -s INT -k 20 3 leadline calibrate -o interrupted.yaml 2>/dev/null
echo "[status $?]"
ls scratch
ls interrupted.yaml 2>/dev/null
