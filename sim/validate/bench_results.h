/* SPDX-License-Identifier: Apache-2.0 */
/* Results that benchmarks of language models write: of servers under load (vLLM's and SGLang's bench_serving,
 * as JSON, JSON lines or the text they print; MLPerf's LoadGen, summary or detail log), and of one process
 * (llama-bench as JSON, CSV, Markdown or SQL; batched-bench's table).
 *
 * A file says what was run and what was measured, but rarely on what: fields that it leaves open are NULL or
 * NaN. Everything lives in the caller's arena; pure, thread-safe. */
#ifndef LL_SIM_VALIDATE_BENCH_RESULTS_H
#define LL_SIM_VALIDATE_BENCH_RESULTS_H

#include "tracer/base/arena.h"
#include "tracer/base/diag.h"

/* Numbers of a result, in base units; NaN: the file does not say. Totals are over the whole run. */
enum ll_bench_number {
    /* The load of a server. A rate that is infinite sends all requests at once. */
    LL_BENCH_REQUESTS, /* that were completed */
    LL_BENCH_PROMPTS,  /* requests that were sent */
    LL_BENCH_CONCURRENCY,
    LL_BENCH_RATE,
    LL_BENCH_BURSTINESS,
    LL_BENCH_ACCEPTED, /* tokens a step with speculation; 1 without */
    LL_BENCH_INPUT_TOTAL,
    LL_BENCH_OUTPUT_TOTAL,
    LL_BENCH_SAMPLES_PER_QUERY, /* of LoadGen: requests that are sent together */
    LL_BENCH_TARGET_RATE,       /* of LoadGen: queries a second */
    LL_BENCH_QUERIES,           /* of LoadGen: at least so many queries */
    LL_BENCH_LEAST_TIME,        /* of LoadGen: for at least so long */
    /* What a server did. */
    LL_BENCH_SAMPLES_PER_S,
    LL_BENCH_TOKENS_PER_S, /* that were generated */
    LL_BENCH_TTFT,
    LL_BENCH_TTFT_P50,
    LL_BENCH_TTFT_P99,
    LL_BENCH_TPOT,
    LL_BENCH_TPOT_P50,
    LL_BENCH_TPOT_P99,
    LL_BENCH_LATENCY, /* end to end */
    LL_BENCH_LATENCY_P50,
    LL_BENCH_LATENCY_P99,
    /* A test of one process: a prompt is read, then tokens follow one another, behind a depth of others;
     * `batch` sequences side by side. */
    LL_BENCH_PROMPT_TOKENS,
    LL_BENCH_NEW_TOKENS,
    LL_BENCH_DEPTH,
    LL_BENCH_CHUNK, /* tokens that are read at once */
    LL_BENCH_BATCH,
    LL_BENCH_GPU_LAYERS,
    LL_BENCH_TEST_TIME,
    LL_BENCH_TEST_RATE, /* tokens a second */
    LL_BENCH_PROMPT_TIME,
    LL_BENCH_NEW_TIME,
    LL_BENCH_NUMBERS
};

enum ll_bench_text {
    LL_BENCH_MODEL,
    LL_BENCH_MODEL_FILE,
    LL_BENCH_MODEL_TYPE, /* of llama.cpp: family, size, format of the weights */
    LL_BENCH_GPU,
    LL_BENCH_CPU,
    LL_BENCH_BACKEND, /* that served */
    LL_BENCH_SCENARIO,
    LL_BENCH_MODE,
    LL_BENCH_VALIDITY,
    LL_BENCH_TEST, /* of a table of llama-bench: "pp512 @ d1024" */
    LL_BENCH_TEXTS
};

enum ll_bench_kind { LL_BENCH_SERVER, LL_BENCH_LOADGEN, LL_BENCH_LLAMA, LL_BENCH_BATCHED, LL_BENCH_KINDS };

struct ll_bench_result {
    enum ll_bench_kind kind;
    uint64_t line; /* that it begins in */
    double number[LL_BENCH_NUMBERS];
    const char *text[LL_BENCH_TEXTS]; /* NULL: the file does not say */
    /* Of each request in the order in which they were sent, where the file has them: tokens and, if any, when
     * they were sent, in seconds. */
    const double *inputs, *outputs, *starts;
    uint64_t input_count, output_count, start_count;
};

struct ll_bench_results {
    const struct ll_bench_result *at;
    uint64_t count;
};

/* Whether a file that begins with these bytes (64 KiB are enough) holds such results. */
bool ll_bench_is(const char *begin, size_t length);

/* Reads a whole file's text; `file` stands for it in complaints. False after complaints: it is malformed, a
 * result lacks what it measured, numbers contradict one another, or memory ran out. */
bool ll_bench_read(const char *text, size_t length, const char *file, struct ll_arena *arena,
                   struct ll_diags *diags, struct ll_bench_results *results);

#endif
