# SPDX-License-Identifier: Apache-2.0
# Layers of a server measured one by one, by vLLM's names, become the machine's table; and what is refused. Then
# served settings and what they leave open; times are those of ai-dynamo/aiconfigurator's collection.
{ echo layer,tokens,time_us; for n in 1 2 4 8 16 32 64 128 256 512; do
    echo "qkv_proj,$n,$((58 + n / 3))"; echo "gate_up_proj,$n,$((270 + n * 4 / 3))"; echo "rotary_emb,$n,2.5"; done; } >dense.csv
{ echo prefill_chunk,kv_prefill,n_decode,kv_decode,time_us; for n in 1 2 4 8 16 32 64 128 256 512; do
    echo "0,0,$n,1024,$((12 + n * 5))"; echo "$((16 * n)),0,$n,64,50"; done; } >attention.csv
leadline calibrate --from dense.csv --from attention.csv --machine rtx_4090+vllm --model llama3.1-8b -o card.yaml
head -3 card_kernels.csv; grep measured card.yaml
leadline machines card.yaml | head -1
awk 'BEGIN { print "layer,tokens,time_us"; for (n = 1; n <= 512; n *= 2) {
    print "gate," n ",6"; print "experts," n "," 25 + 200 * (1 - (1 - 1 / 16) ^ n) + n / 8; print "gate_up_proj," n ",9" } }' >moe.csv
leadline calibrate --from moe.csv --machine h100_sxm+vllm --model qwen3-30b-a3b --tp 2 -o moe.yaml
grep moe, moe_kernels.csv | head -2
leadline calibrate --from dense.csv --machine rtx_4090+vllm -o card.yaml
printf 'layer,tokens,time_us\nqkv,1,2\n' >bad.csv
leadline calibrate --from bad.csv --machine rtx_4090+vllm --model llama3.1-8b -o card.yaml
printf 'layer,sequences,time_us\nlm_head,x,2\n' >bad.csv
leadline calibrate --from bad.csv --machine rtx_4090+vllm --model llama3.1-8b -o card.yaml
cat >points.csv <<'END'
backend,backend_version,model_path,system,precision,mode,isl,osl,gemm_quant_mode,moe_quant_mode,tp_size,pp_size,attention_dp_size,moe_ep_size,concurrency,silicon_ttft_ms,silicon_tpot_ms
vllm,,meta-llama/Llama-3.1-70B,h100_sxm,fp8,agg,1024,1024,fp8,fp8,2,1,1,1,4,121,17.4
trtllm,1.0.0rc3,meta-llama/Llama-3.1-8B-Instruct,h100_sxm,,agg,1024,128,,,1,1,,1,8,191,7.9
trtllm,1.1.0rc2.post2,deepseek-ai/DeepSeek-R1,b200_sxm,fp8,agg,1024,1024,fp8,fp8,8,1,1,8,4,313,7.8
trtllm,,meta-llama/Llama-3.1-70B,h100_sxm,fp8,agg,1024,1024,fp8,fp8,2,1,1,1,,121,17.4
END
leadline validate points.csv 2>/dev/null
