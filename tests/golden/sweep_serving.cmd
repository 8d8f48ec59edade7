# SPDX-License-Identifier: Apache-2.0
# A sweep over options of a server and a key of its machine says what serve says, whatever the number of threads, and goes on
# where it was; a deployment that cannot be is kept with its reason.
cat >serving.yaml <<'END_OF_SWEEP'
base: dgx_h100+vllm
serve: {model: qwen3-8b, rate: 8, input_tokens: 300, output_tokens: 40, num_prompts: 30, percentile: 50}
vary:
  serve.tp: [1, 2]
  serve.max_num_seqs: [4, 64]
  serve.gpu_memory_utilization: [0.9, 0.1]
  memory.hbm3.bandwidth: [2TB/s, 3.35TB/s]
objectives: [max tokens_per_s_per_device, min tpot_s, min ttft_s, min usd_per_m_output_tokens]
END_OF_SWEEP
leadline sweep serving.yaml -o one.db --jobs 1 >/dev/null
leadline sweep serving.yaml -o four.db --jobs 4 >/dev/null
leadline sweep serving.yaml -o four.db | tail -1
for db in one four; do leadline pareto $db.db --format csv >$db.csv; done
cmp one.csv four.csv && wc -l <one.csv
leadline sweep serving.yaml --point 4 | grep 'tpot_s\|ttft_s\|_per_device\|output_tokens\|devices'
leadline serve -c dgx_h100+vllm --model qwen3-8b --rate 8 --input-tokens 300 --output-tokens 40 --num-prompts 30 --max-num-seqs 64 --set memory.hbm3.bandwidth=2TB/s --json | awk '/"(ttft_s|tpot_s)"/ { of = $1 } /"p50"/ && of { print of, $2; of = "" } /"tokens_per_s_per_device"|"usd_per_m_output/'
leadline sweep serving.yaml --point 2 | head -1
# What a sweep file of servings may not say.
printf 'base: dgx_h100+vllm\nserve: {model: qwen3-9b, rate: 8, html: x}\nvary: {serve.tpp: [1], serve.rate: [1]}\nobjectives: [min tpot_s]\n' >bad.yaml
leadline sweep bad.yaml
printf 'base: dgx_h100+vllm\nserve: {model: qwen3-8b, rate: 8}\nvary: {plan.tp: [1, 2]}\nobjectives: [min tpot_s]\n' >bad.yaml
leadline sweep bad.yaml
printf 'base: dgx_h100+vllm\nmodels: [resnet]\nvary: {serve.tp: [1, 2]}\nobjectives: [min tpot_s]\n' >bad.yaml
leadline sweep bad.yaml
