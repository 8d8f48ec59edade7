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
leadline plan --serve -c h100_sxm+vllm --model qwen3-8b --rate 30 --devices 2 --input-tokens 500 --output-tokens 50 --tpot 20ms 2>/dev/null
