# SPDX-License-Identifier: Apache-2.0
# Models whose parameters vary, spread over devices in several ways: the same numbers as record and sim give, and where a
# plan needs more devices than there are, the reason.
cat >plans.yaml <<'END'
base: custom_example
models: [{name: alexnet, mode: train}]
vary:
  model.batch: [32, 64]
  plan.dp: [1, 4, 16]
  memory.hbm.bandwidth: [450GB/s, 900GB/s]
objectives: [max throughput]
END
leadline sweep plans.yaml >/dev/null
leadline pareto plans.db --max throughput --min devices
leadline pareto plans.db --where "model.batch == 64 and plan.dp == 4 and memory.hbm.bandwidth < 500GB/s" --json |
    sed -n '/"front"/,$p' | grep '"time_s"'
leadline record alexnet --train --batch 64 --dry-run -o alexnet.llt >/dev/null
leadline sim -c custom_example --set memory.hbm.bandwidth=450GB/s --dp 4 --json alexnet.llt | grep -m 1 '"time_s"'
leadline sweep plans.yaml --json --dry-run | grep trouble
