# SPDX-License-Identifier: Apache-2.0
# A server under load: at a rate, in a closed loop with guesses, prefill and decode apart; requests one by one.
leadline serve -c rtx_4090+vllm --model llama3.1-8b --rate 4 --input-tokens 200-400 --output-tokens 50 --num-prompts 60 --ttft 200ms --tpot 30ms
cat >requests.csv <<'END'
arrival_s,input_tokens,output_tokens
0,100,20
0.25,700,5
0.25,30,40
END
leadline serve -c h100_sxm+sglang --model qwen3-8b --requests requests.csv --per-request out.csv >/dev/null
cat out.csv
leadline serve -c h200_sxm+trtllm --model qwen3-30b-a3b --prefill '1 x tp=1' --decode '1 x tp=2,ep=2' --concurrency 8 --num-prompts 24 --input-tokens 1000 --output-tokens 100 --json 2>/dev/null | grep -A 6 'ttft_s\|"kv"'
leadline serve -c h100_sxm+vllm --model qwen3-8b --concurrency 4 --num-prompts 12 --input-tokens 500 --output-tokens 64 --speculative-tokens 2 --acceptance 0.8,0.5 | grep TPOT
leadline plan --serve -c h100_sxm+vllm --model qwen3-8b --rate 30 --devices 2 --input-tokens 500 --output-tokens 50 --tpot 20ms --quantization none --max-num-seqs 64 --dynamo d.yaml 2>/dev/null
cat d.yaml
# On two machines, with all formats that each multiplies by.
leadline plan --serve -c h100_sxm+vllm -c l40s+vllm --model qwen3-8b --rate 3 --devices 1 --input-tokens 500 --output-tokens 50 --tpot 30ms 2>/dev/null
# The same from a file, with an option of the command line before it; spelled as vLLM does; a warm-up, drawn lengths.
cat >serve.yaml <<'END'
machine: h100_sxm+vllm
model: qwen3-8b
concurrency: 4
num_prompts: 12
input_tokens: 500
output_tokens: 32
speculative_tokens: 2
acceptance: [0.8, 0.5]
set: {hbm3.bandwidth: 3TB/s}
END
leadline serve --settings serve.yaml --output-tokens 64 --set hbm3.bandwidth=3.35TB/s | grep TPOT
leadline serve -c h100_sxm+vllm --model qwen3-8b --request-rate 20 --max-concurrency 2 --duration 8s --warmup 2s --random-input-len lognormal:400:300 --random-output-len 20+-50% | head -1
leadline serve -c h100_sxm+vllm --model qwen3-8b --rate 5 --num-prompts 30 --ttft 60ms --find-rate --timeline t.json --per-request r.csv | grep rate
wc -l <r.csv
# The most urgent is let in first, and keeps its blocks where there are not enough.
printf 'input_tokens,output_tokens,priority\n300,300,1\n300,300,1\n300,300,-1\n300,300,0\n' >urgent.csv
for policy in fcfs priority; do
    leadline serve -c h100_sxm+vllm --model qwen3-8b --requests urgent.csv --kv-blocks 80 --max-num-seqs 3 --scheduling-policy $policy --per-request out.csv >/dev/null && cut -d, -f 1,5,7,8 out.csv
done
# Prompts that come again, a cache of which a few fit, host memory behind it.
for i in 0 1 2 3 4 5; do
    for turn in 0 1; do
        echo "{\"timestamp\": $((turn * 9000 + i * 1500)), \"input_length\": 1536, \"output_length\": 4, \"hash_ids\": [$i, 1$i, 2$i]}"
    done
done >turns.jsonl
leadline serve -c h100_sxm+vllm --model qwen3-8b --requests turns.jsonl --kv-blocks 250 --kv-tier host:8GiB:20GB/s --kv-tier store:1TiB:5GB/s:shared | grep 'TTFT\|KV tier'
# Conversations, of which one has no answer; requests of which one failed.
echo '[{"id": "a", "conversations": [{"from": "human", "value": "Say it once more."}, {"from": "gpt", "value": "Once more"}]}, {"conversations": [{"value": "?"}]}]' >share.json
printf 'Timestamp,Request tokens,Response tokens,Log Type\n5,472,18,Conversation log\n45,1087,0,Conversation log\n' >burst.csv
for file in share.json burst.csv; do
    leadline serve -c h100_sxm+vllm --model qwen3-8b --requests $file --per-request out.csv >/dev/null && cat out.csv
done
# A device that costs its 8,766 USD over a year costs one an hour, and what it draws.
for kwh in 0 1; do
    leadline serve -c h100_sxm+vllm --model qwen3-8b --rate 2 --num-prompts 4 --seed 1 --set price.purchase_usd=8766 \
        --set price.lifetime_years=1 --set price.usd_per_kwh=$kwh --json 2>/dev/null | sed -n 's/^ *"\(usd_per_hour\|energy_j\|duration_s\)": /\1 /p'
done
# Experts that have unequal loads: of a power law, of a file; one with equal numbers is balanced.
awk 'BEGIN { for (i = 0; i < 128; i++) print 7 }' >even.txt
awk 'BEGIN { for (i = 0; i < 128; i++) print i < 32 ? 3 : 1 }' >uneven.txt
for load in balanced power_law_1.2 even.txt uneven.txt; do
    leadline serve -c h200_sxm+sglang --model qwen3-30b-a3b --dp 4 --ep 4 --rate 20 --input-tokens 2000 --output-tokens 20 --num-prompts 30 --expert-load $load 2>/dev/null | grep TPOT
done
