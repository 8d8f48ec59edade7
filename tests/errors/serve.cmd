# SPDX-License-Identifier: Apache-2.0
leadline serve -c h100_sxm+vllm --model qwen3-8b
leadline serve --model qwen3-8b --rate 1
leadline serve -c h100_sxm+vllm --model nobody/knows --rate 1
leadline serve -c h100_sxm+vllm --model qwen3-8b --rate 1 --ttft 300
leadline serve -c h100_sxm+vllm --model qwen3-8b --rate -1
leadline serve -c h100_sxm+vllm --model qwen3-8b --rate 1 --input-tokens 9-3
leadline serve -c h100_sxm+vllm --model qwen3-8b --rate 1 --quantization fp9
leadline serve -c h100_sxm+vllm --model qwen3-8b --rate 1 --router nearest
leadline serve -c h100_sxm+vllm --model qwen3-8b --rate 1 --prefill '2 x tp=1'
leadline serve -c h100_sxm+vllm --model qwen3-8b --rate 1 --prefill 'two' --decode '1 x tp=1'
leadline serve -c h100_sxm+vllm --model qwen3-8b --rate 1 --speculative-tokens 2 --acceptance 0.8,1.5
leadline serve -c h100_sxm+vllm --model llama3.1-70b --rate 1
leadline serve -c h100_sxm+vllm --model qwen3-8b --rate 1 --kv-blocks 10
leadline serve -c h100_sxm+vllm --model qwen3-8b --requests none.csv
printf 'a,b\n1,2\n' >wrong.csv
leadline serve -c h100_sxm+vllm --model qwen3-8b --requests wrong.csv
printf 'arrival_s,input_tokens,output_tokens\n0,10,x\n' >word.csv
leadline serve -c h100_sxm+vllm --model qwen3-8b --requests word.csv
printf '{"timestamp": 0, "input_length": 5}\n' >short.jsonl
leadline serve -c h100_sxm+vllm --model qwen3-8b --requests short.jsonl
printf '{"timestamp": 0, "input_length": 5, "output_length": 5, "hash_ids": 3}\n[1]\n' >list.jsonl
leadline serve -c h100_sxm+vllm --model qwen3-8b --requests list.jsonl
leadline serve -c h100_sxm+vllm --model qwen3-8b --requests word.csv --rate 3
leadline serve -c h100_sxm+vllm --model qwen3-8b --rate 1 --dp 2 --ep 3
leadline serve -c h100_sxm+vllm --model qwen3-8b --rate 1 --prefill '1 x tp=1' --decode '1 x tp=1' --kv-transfer bit
leadline plan --serve -c h100_sxm+vllm --rate 3
leadline plan --serve -c h100_sxm+vllm --model qwen3-8b --rate 3 --quantization fp8,fp9
leadline plan --serve -c h100_sxm+vllm --model qwen3-8b --rate 3 --quantization fp8,fp8
leadline plan --serve -c h100_sxm+vllm -c h100_sxm+vllm --model qwen3-8b --rate 3
leadline serve -c h100_sxm+vllm --model qwen3-30b-a3b --rate 1 --expert-load power_law_0
printf '1\n2\nx\n' >loads.txt
leadline serve -c h100_sxm+vllm --model qwen3-30b-a3b --rate 1 --expert-load loads.txt
printf '1 2 3' >loads.txt
leadline serve -c h100_sxm+vllm --model qwen3-30b-a3b --rate 1 --expert-load loads.txt
echo 1e308 >loads.txt
leadline serve -c h100_sxm+vllm --model qwen3-30b-a3b --rate 1 --expert-load loads.txt
leadline serve -c h100_sxm+vllm --model qwen3-8b --rate 1 --expert-load power_law_1.2
leadline plan -c h100_sxm -c h200_sxm traces/alexnet_train_b8.llt
leadline serve -c h100_sxm+vllm --model qwen3-8b --rate 1 --prefill '1 x tp=1,seqs=0' --decode '1 x tp=1'
leadline plan
printf '{"completed": 4, "total_output_tokens": 20, "total_input_tokens": -4}\n' >few.json
leadline validate -c h100_sxm+vllm few.json
printf '| model | test | t/s |\n| --- | --- | --- |\n| m | half | 1 |\n' >test.md
leadline validate -c h100_sxm+vllm test.md
printf 'MLPerf Results Summary\nScenario : Server\nMean latency (ns) : many\n' >summary.txt
leadline validate -c h100_sxm+vllm --model llama3.1-8b summary.txt
leadline validate -c h100_sxm+vllm --model llama3.1-8b requests.csv summary.txt wrong.csv
leadline serve -c h100_sxm+vllm --model qwen3-8b --rate 1 --find-rate
leadline serve -c h100_sxm+vllm --model qwen3-8b --rate 1 --find-rate --ttft 1s --duration 10s
leadline serve -c h100_sxm+vllm --model qwen3-8b --rate 1 --timeline t.txt
leadline serve -c h100_sxm+vllm --model qwen3-8b --rate 1 --input-tokens normal:1000
leadline serve -c h100_sxm+vllm --model qwen3-8b --rate 1 --input-tokens 1000+-120%
leadline serve -c h100_sxm+vllm --model qwen3-8b --concurrency 1 --burstiness 2
leadline serve -c h100_sxm+vllm --model qwen3-8b --rate inf --duration 10s
leadline serve -c h100_sxm+vllm --model qwen3-8b --rate 1 --duration 10s --warmup 20s
leadline serve -c h100_sxm+vllm --model qwen3-8b --rate 1 --acceptance 0.5
leadline serve -c h100_sxm+vllm --model qwen3-8b --rate 1 --enable-prefix-caching --no-prefix-caching
cat >settings.yaml <<'END'
machine: h100_sxm+vllm
model: qwen3-8b
rate: fast
END
leadline serve --settings settings.yaml
printf 'machine: h100_sxm+vllm\nreplicas: 2\nhtml: x.html\nenable_prefix_caching: yes\nprefill: {tp: [2]}\nrate: {a: 1}\n' >settings.yaml
leadline serve --settings settings.yaml
echo '- rate' >settings.yaml
leadline serve --settings settings.yaml
leadline serve --settings none.yaml
leadline serve -c h100_sxm+vllm --model qwen3-8b --rate 1 --kv-tier host:100:3
leadline serve -c h100_sxm+vllm --model qwen3-8b --rate 1 --kv-tier host:100GiB:3GB/s --no-prefix-caching
leadline plan --serve -c h100_sxm+vllm --model qwen3-8b --rate 3 --html p.html
leadline plan --rate 3 "$PWD/traces/alexnet_infer_b1.llt"
printf 'arrival_s,input_tokens,output_tokens,output_tokens\n0,10,5,6\n' >twice.csv
leadline serve -c h100_sxm+vllm --model qwen3-8b --requests twice.csv
printf 'TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-41 28:75:46.68,10,5\n' >day.csv
leadline serve -c h100_sxm+vllm --model qwen3-8b --requests day.csv
echo '[{"conversations": [1]}]' >turn.json
leadline serve -c h100_sxm+vllm --model qwen3-8b --requests turn.json
printf 'input_tokens,output_tokens,priority\n10,5,1.5\n' >urgent.csv
leadline serve -c h100_sxm+vllm --model qwen3-8b --requests urgent.csv
leadline serve -c h100_sxm+vllm --model qwen3-8b --rate 1 --scheduling-policy lifo
leadline serve -c h100_sxm+trtllm --model qwen3-8b --rate 1 --scheduling-policy priority
leadline serve -c h100_sxm+vllm --model qwen3-8b --rate 1 --set price.purchase_usd=8766 2>&1 | sed 's|^/.*/hwconfigs/|hwconfigs/|' >&2
leadline serve -c h100_sxm+vllm --model qwen3-8b --rate 1 --set price.usd_per_kwh=0.1
