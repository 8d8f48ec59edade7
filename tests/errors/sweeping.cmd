# SPDX-License-Identifier: Apache-2.0
# Mistakes around sweeps that are not in their files.
. ./try.sh
cat >two.yaml <<'END'
base: custom_example
traces: [traces/alexnet_infer_b1.llt]
vary: {clock: [1GHz, 2GHz]}
objectives: [min time_s]
END
sed 's/2GHz/3GHz/' two.yaml >three.yaml
sed 's/^vary.*/&\nsearch: evolve/' two.yaml >evolve.yaml
try sweep
try sweep nowhere.yaml
try sweep two.yaml --resume
try sweep two.yaml --resume --fresh
try sweep two.yaml --resume --dry-run
leadline sweep two.yaml -o R.db >/dev/null
cp R.db before.db
try sweep three.yaml -o R.db
cmp before.db R.db
try sweep two.yaml -o nowhere/R.db
cp two.yaml kept.yaml
try sweep two.yaml --fresh -o kept.yaml
cmp two.yaml kept.yaml
for shard in 3 0/2 3/2 1/0 a/b 1/2/3 auto; do
    try sweep two.yaml --shard $shard
done
SLURM_ARRAY_TASK_ID=9 SLURM_ARRAY_TASK_COUNT=4 SLURM_ARRAY_TASK_MIN=1 try sweep two.yaml --shard auto
try sweep evolve.yaml --shard 1/2
try pareto nowhere.db
try pareto two.yaml
try pareto R.db --min tiem_s
try pareto R.db --where "clock >"
for where in 'clock = 1GHz' '(clock = 1GHz)' 'clock => 1GHz' 'clock > 1GHz && time_s < 1us' '!clock'; do
    try pareto R.db --where "$where"
done
try pareto R.db --csv --json
try pareto R.db --html R.html --csv
try pareto R.db -o R.svg
try pareto R.db --weights
try pareto R.db --json --all
try pareto R.db --csv --log
try pareto R.db --figure R.svg --kind heat --log
try pareto R.db --figure R.svg --kind front --of time_s
try pareto R.db -o R.svg --kind sensitivity --y-axis clock
try pareto R.db --figure front -o R.svg
try pareto R.db --figure front
try merge R.db
leadline sweep three.yaml -o S.db >/dev/null
try merge R.db S.db -o T.db
leadline merge R.db R.db -o T.db
try merge R.db R.db -o T.db
try merge nowhere.db -o U.db
ls ./*.db*
sed 's/^vary.*/vary: {software.fusion: [none, elementwise]}/' two.yaml >words.yaml
leadline sweep words.yaml -o W.db >/dev/null
try pareto W.db --min software.fusion
try pareto W.db --where "software.fusion > 0"
try pareto W.db --where "time_s < 0"
mkdir empty.db
: >blank.db
cp traces/alexnet_infer_b1.llt trace.db
for file in empty.db nowhere.db nowhere/R.db blank.db trace.db foreign.onnx; do
    try pareto $file
    try merge R.db $file -o T2.db
    try merge $file R.db -o T2.db
done
try merge R.db -o nowhere/T.db
ls ./*.db*
try pareto R.db --min ''
try pareto R.db --max time_s,,area_mm2
try pareto R.db --where "time_s <= 5MiB"
try pareto R.db --where "clock > 1kB/s and time_s < 1us"
