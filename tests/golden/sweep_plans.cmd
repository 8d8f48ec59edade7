# SPDX-License-Identifier: Apache-2.0
# Of a step that is spread over devices a sweep says what sim says: throughput in the model's own measure, and samples for a
# joule of all devices, of which those of the last stage take less than those of the first.
plan="--pp 2 --batch 8 --micro-batch 2"
leadline record alexnet --dry-run --train --batch 2 -o alexnet.llt >/dev/null
leadline record speech --dry-run --infer --batch 2 -o speech.llt >/dev/null
for model in "alexnet train" "speech infer"; do
    set -- $model
    [ "$1" = speech ] && plan="--dp 2"
    cat >plans.yaml <<END_OF_SWEEP
base: custom_example
models: [{name: $1, mode: $2, batch: 2}]
vary:
$(echo "$plan" | tr - _ | sed 's/ *__\([a-z_]*\) \([0-9]*\)/  plan.\1: [\2]\n/g')
objectives: [min time_s]
END_OF_SWEEP
    echo "$1 $plan: throughput, and samples for a joule of all devices"
    leadline sweep plans.yaml --fresh >/dev/null
    leadline pareto plans.db --json | awk -F '[:,]' '{ sub(/^ */, "") } /^"throughput/ && !seen[$1]++ { printf "  sweep %.10g\n", $2 }'
    leadline sim -c custom_example $plan --json $1.llt | awk -F '[:,]' '
        /"throughput"/ { all = $2 } /"step_s"/ { step = $2 }
        /"parallel"/ { inside = 1 } inside && /"energy_j"/ { energy = $2; inside = 0 }
        END { printf "  sim   %.10g\n  sim   %.10g\n", all, all / (energy / step) }'
done
