# SPDX-License-Identifier: Apache-2.0
# Results as benchmarks write them, beside what a server or one process is predicted to do. These times are made up.
cat > bench.json <<'END'
[{"build_commit": "a", "gpu_info": "NVIDIA GeForce RTX 4090", "model_filename": "models/Meta-Llama-3.1-8B-Instruct-Q4_K_M.gguf",
  "model_type": "llama 8B Q4_K - Medium", "model_size": 4912898048, "n_ubatch": 512, "n_gpu_layers": 99, "n_prompt": 512,
  "n_gen": 0, "avg_ns": 60000000, "avg_ts": 8533.3},
 {"build_commit": "a", "gpu_info": "NVIDIA GeForce RTX 4090", "model_filename": "models/Meta-Llama-3.1-8B-Instruct-Q4_K_M.gguf",
  "model_type": "llama 8B Q4_K - Medium", "model_size": 4912898048, "n_ubatch": 512, "n_gpu_layers": 99, "n_prompt": 0,
  "n_gen": 128, "n_depth": 1024, "avg_ns": 1000000000, "avg_ts": 128},
 {"build_commit": "a", "gpu_info": "NVIDIA GeForce RTX 3090 Ti", "model_filename": "m.gguf", "model_type": "llama 7B Q4_0",
  "n_gpu_layers": 99, "n_prompt": 512, "n_gen": 0, "avg_ns": 1, "avg_ts": 1}]
END
leadline validate bench.json --rows rows.csv
cut -d, -f1-3,5-8 rows.csv
cat > table.md <<'END'
| model                          |       size |     params | backend    | ngl |          test |                  t/s |
| ------------------------------ | ---------: | ---------: | ---------- | --: | ------------: | -------------------: |
| qwen3 8B Q8_0                  |   8.11 GiB |     8.19 B | CUDA       |  99 |         tg128 |         90.00 ± 0.50 |
| qwen3 8B Q6_K                  |   6.26 GiB |     8.19 B | CUDA       |  99 |         tg128 |         99.00 ± 0.50 |
| qwen3 8B F16                   |  15.26 GiB |     8.19 B | CUDA       |  20 |         tg128 |         20.00 ± 0.50 |
END
leadline validate -c rtx_4090 table.md --rows rows.csv
cut -d, -f1-3,5-8 rows.csv
cat > batched.md <<'END'
|    PP |     TG |    B |   N_KV |   T_PP s | S_PP t/s |   T_TG s | S_TG t/s |      T s |    S t/s |
|-------|--------|------|--------|----------|----------|----------|----------|----------|----------|
|   128 |    128 |    8 |   2048 |    0.100 | 10240.00 |    1.600 |   640.00 |    1.700 |  1204.71 |
END
leadline validate -c rtx_4090 --model llama3.1-8b --quantization int4 batched.md --rows rows.csv
cut -d, -f1-3,5-8 rows.csv
cat > served.json <<'END'
{"backend": "vllm", "model_id": "meta-llama/Llama-3.1-8B-Instruct", "num_prompts": 8, "request_rate": "inf", "burstiness": 1.0,
 "max_concurrency": 4, "duration": 2.5, "completed": 8, "total_input_tokens": 4000, "total_output_tokens": 400, "output_throughput": 160,
 "input_lens": [400, 600, 500, 500, 450, 550, 500, 500], "output_lens": [50, 50, 40, 60, 50, 50, 50, 50],
 "mean_ttft_ms": 30, "median_ttft_ms": 28, "p99_ttft_ms": 60, "mean_tpot_ms": 8, "mean_e2el_ms": 430}
END
leadline validate -c h100_sxm+vllm served.json --rows rows.csv
cut -d, -f1-3,6-8 rows.csv
cat > mlperf_log_summary.txt <<'END'
================================================
MLPerf Results Summary
================================================
SUT name : PySUT
Scenario : SingleStream
Mode     : PerformanceOnly
Result is : VALID
QPS w/o loadgen overhead        : 0.80
Mean latency (ns)                : 1250000000
TPS w/o loadgen overhead        : 102.40
Mean First Token latency (ns)                : 100000000
Mean Time to Output Token (ns)                : 9000000
samples_per_query : 1
min_query_count : 64
END
leadline validate -c h100_sxm+vllm --model llama3.1-8b mlperf_log_summary.txt
leadline validate -c h100_sxm+vllm --model llama3.1-8b --input-tokens 1024 mlperf_log_summary.txt --rows rows.csv
cut -d, -f1-3,6-8 rows.csv
