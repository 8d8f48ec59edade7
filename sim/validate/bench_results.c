/* SPDX-License-Identifier: Apache-2.0 */
/* One table of names serves all files: whatever a tool writes, as members of objects, columns of tables or
 * lines `name : value`, is looked up there, and what has no row is passed over. What a set of fields is a
 * result of follows from which of them there are. */
#include "sim/validate/bench_results.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "tracer/base/file.h"
#include "tracer/base/json.h"
#include "tracer/base/num.h"
#include "tracer/base/str.h"

enum { MOST_COLUMNS = 96 };

/* What tools call a number, and what it is to be multiplied with. */
static const struct {
    const char *name;
    enum ll_bench_number number;
    double factor;
} numbers[] = {
    /* vLLM and SGLang, in files and as printed */
    {"completed", LL_BENCH_REQUESTS, 1},
    {"Successful requests", LL_BENCH_REQUESTS, 1},
    {"num_prompts", LL_BENCH_PROMPTS, 1},
    {"max_concurrency", LL_BENCH_CONCURRENCY, 1},
    {"Maximum request concurrency", LL_BENCH_CONCURRENCY, 1},
    {"Max request concurrency", LL_BENCH_CONCURRENCY, 1},
    {"request_rate", LL_BENCH_RATE, 1},
    {"Traffic request rate", LL_BENCH_RATE, 1},
    {"Request rate configured (RPS)", LL_BENCH_RATE, 1},
    {"burstiness", LL_BENCH_BURSTINESS, 1},
    {"accept_length", LL_BENCH_ACCEPTED, 1},
    {"Accept length", LL_BENCH_ACCEPTED, 1},
    {"total_input_tokens", LL_BENCH_INPUT_TOTAL, 1},
    {"Total input tokens", LL_BENCH_INPUT_TOTAL, 1},
    {"total_output_tokens", LL_BENCH_OUTPUT_TOTAL, 1},
    {"Total generated tokens", LL_BENCH_OUTPUT_TOTAL, 1},
    {"request_throughput", LL_BENCH_SAMPLES_PER_S, 1},
    {"Request throughput (req/s)", LL_BENCH_SAMPLES_PER_S, 1},
    {"output_throughput", LL_BENCH_TOKENS_PER_S, 1},
    {"Output token throughput (tok/s)", LL_BENCH_TOKENS_PER_S, 1},
    {"mean_ttft_ms", LL_BENCH_TTFT, 1e-3},
    {"Mean TTFT (ms)", LL_BENCH_TTFT, 1e-3},
    {"median_ttft_ms", LL_BENCH_TTFT_P50, 1e-3},
    {"Median TTFT (ms)", LL_BENCH_TTFT_P50, 1e-3},
    {"p99_ttft_ms", LL_BENCH_TTFT_P99, 1e-3},
    {"P99 TTFT (ms)", LL_BENCH_TTFT_P99, 1e-3},
    {"mean_tpot_ms", LL_BENCH_TPOT, 1e-3},
    {"Mean TPOT (ms)", LL_BENCH_TPOT, 1e-3},
    {"median_tpot_ms", LL_BENCH_TPOT_P50, 1e-3},
    {"Median TPOT (ms)", LL_BENCH_TPOT_P50, 1e-3},
    {"p99_tpot_ms", LL_BENCH_TPOT_P99, 1e-3},
    {"P99 TPOT (ms)", LL_BENCH_TPOT_P99, 1e-3},
    {"mean_e2el_ms", LL_BENCH_LATENCY, 1e-3},
    {"mean_e2e_latency_ms", LL_BENCH_LATENCY, 1e-3},
    {"Mean E2EL (ms)", LL_BENCH_LATENCY, 1e-3},
    {"Mean E2E Latency (ms)", LL_BENCH_LATENCY, 1e-3},
    {"median_e2el_ms", LL_BENCH_LATENCY_P50, 1e-3},
    {"median_e2e_latency_ms", LL_BENCH_LATENCY_P50, 1e-3},
    {"Median E2EL (ms)", LL_BENCH_LATENCY_P50, 1e-3},
    {"Median E2E Latency (ms)", LL_BENCH_LATENCY_P50, 1e-3},
    {"p99_e2el_ms", LL_BENCH_LATENCY_P99, 1e-3},
    {"p99_e2e_latency_ms", LL_BENCH_LATENCY_P99, 1e-3},
    {"P99 E2EL (ms)", LL_BENCH_LATENCY_P99, 1e-3},
    {"P99 E2E Latency (ms)", LL_BENCH_LATENCY_P99, 1e-3},
    /* LoadGen's summary */
    {"Samples per second", LL_BENCH_SAMPLES_PER_S, 1},
    {"Completed samples per second", LL_BENCH_SAMPLES_PER_S, 1},
    {"QPS w/o loadgen overhead", LL_BENCH_SAMPLES_PER_S, 1},
    {"Tokens per second", LL_BENCH_TOKENS_PER_S, 1},
    {"Completed tokens per second", LL_BENCH_TOKENS_PER_S, 1},
    {"TPS w/o loadgen overhead", LL_BENCH_TOKENS_PER_S, 1},
    {"Mean latency (ns)", LL_BENCH_LATENCY, 1e-9},
    {"50.00 percentile latency (ns)", LL_BENCH_LATENCY_P50, 1e-9},
    {"99.00 percentile latency (ns)", LL_BENCH_LATENCY_P99, 1e-9},
    {"Mean First Token latency (ns)", LL_BENCH_TTFT, 1e-9},
    {"50.00 percentile first token latency (ns)", LL_BENCH_TTFT_P50, 1e-9},
    {"99.00 percentile first token latency (ns)", LL_BENCH_TTFT_P99, 1e-9},
    {"Mean Time to Output Token (ns)", LL_BENCH_TPOT, 1e-9},
    {"50.00 percentile time to output token (ns)", LL_BENCH_TPOT_P50, 1e-9},
    {"99.00 percentile time to output token (ns)", LL_BENCH_TPOT_P99, 1e-9},
    {"samples_per_query", LL_BENCH_SAMPLES_PER_QUERY, 1},
    {"target_qps", LL_BENCH_TARGET_RATE, 1},
    {"min_query_count", LL_BENCH_QUERIES, 1},
    {"min_duration (ms)", LL_BENCH_LEAST_TIME, 1e-3},
    /* LoadGen's detail log */
    {"result_samples_per_second", LL_BENCH_SAMPLES_PER_S, 1},
    {"result_completed_samples_per_sec", LL_BENCH_SAMPLES_PER_S, 1},
    {"result_qps_without_loadgen_overhead", LL_BENCH_SAMPLES_PER_S, 1},
    {"result_tokens_per_second", LL_BENCH_TOKENS_PER_S, 1},
    {"result_completed_tokens_per_second", LL_BENCH_TOKENS_PER_S, 1},
    {"result_mean_latency_ns", LL_BENCH_LATENCY, 1e-9},
    {"result_50.00_percentile_latency_ns", LL_BENCH_LATENCY_P50, 1e-9},
    {"result_99.00_percentile_latency_ns", LL_BENCH_LATENCY_P99, 1e-9},
    {"result_first_token_mean_latency_ns", LL_BENCH_TTFT, 1e-9},
    {"result_first_token_50.00_percentile_latency_ns", LL_BENCH_TTFT_P50, 1e-9},
    {"result_first_token_99.00_percentile_latency_ns", LL_BENCH_TTFT_P99, 1e-9},
    {"result_time_to_output_token_mean", LL_BENCH_TPOT, 1e-9},
    {"result_time_per_output_token_50.00_percentile_ns", LL_BENCH_TPOT_P50, 1e-9},
    {"result_time_per_output_token_99.00_percentile_ns", LL_BENCH_TPOT_P99, 1e-9},
    {"result_query_count", LL_BENCH_REQUESTS, 1},
    {"effective_samples_per_query", LL_BENCH_SAMPLES_PER_QUERY, 1},
    {"effective_target_qps", LL_BENCH_TARGET_RATE, 1},
    {"effective_min_query_count", LL_BENCH_QUERIES, 1},
    {"effective_min_duration_ms", LL_BENCH_LEAST_TIME, 1e-3},
    /* llama-bench */
    {"n_prompt", LL_BENCH_PROMPT_TOKENS, 1},
    {"n_gen", LL_BENCH_NEW_TOKENS, 1},
    {"n_depth", LL_BENCH_DEPTH, 1},
    {"n_ubatch", LL_BENCH_CHUNK, 1},
    {"n_gpu_layers", LL_BENCH_GPU_LAYERS, 1},
    {"ngl", LL_BENCH_GPU_LAYERS, 1},
    {"avg_ns", LL_BENCH_TEST_TIME, 1e-9},
    {"avg_ts", LL_BENCH_TEST_RATE, 1},
    {"t/s", LL_BENCH_TEST_RATE, 1},
    /* batched-bench */
    {"PP", LL_BENCH_PROMPT_TOKENS, 1},
    {"TG", LL_BENCH_NEW_TOKENS, 1},
    {"B", LL_BENCH_BATCH, 1},
    {"T_PP s", LL_BENCH_PROMPT_TIME, 1},
    {"T_TG s", LL_BENCH_NEW_TIME, 1},
};

static const struct {
    const char *name;
    enum ll_bench_text text;
} texts[] = {
    {"model_id", LL_BENCH_MODEL},
    {"model_filename", LL_BENCH_MODEL_FILE},
    {"model_type", LL_BENCH_MODEL_TYPE},
    {"model", LL_BENCH_MODEL_TYPE},
    {"gpu_info", LL_BENCH_GPU},
    {"cpu_info", LL_BENCH_CPU},
    {"backend", LL_BENCH_BACKEND},
    {"Backend", LL_BENCH_BACKEND},
    {"Scenario", LL_BENCH_SCENARIO},
    {"effective_scenario", LL_BENCH_SCENARIO},
    {"Mode", LL_BENCH_MODE},
    {"effective_test_mode", LL_BENCH_MODE},
    {"Result is", LL_BENCH_VALIDITY},
    {"result_validity", LL_BENCH_VALIDITY},
    {"test", LL_BENCH_TEST},
};

struct reading {
    const char *file;
    struct ll_arena *arena;
    struct ll_diags *diags;
    struct ll_bench_result *at;
    uint64_t count, capacity;
};

static void begin(struct ll_bench_result *r, uint64_t line)
{
    *r = (struct ll_bench_result){.line = line};
    for (size_t i = 0; i < LL_BENCH_NUMBERS; i++)
        r->number[i] = NAN;
}

/* A field of a result; the first of two with the same meaning counts. */
static void put(struct ll_bench_result *r, const char *name, const char *value)
{
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        double *at = &r->number[numbers[i].number];
        char *end;
        if (!isnan(*at) || strcmp(numbers[i].name, name) != 0)
            continue;
        double number = ll_strtod(value, &end);
        *at = strncmp(value, "inf", 3) == 0 ? INFINITY : end == value ? NAN : number * numbers[i].factor;
    }
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (!r->text[texts[i].text] && *value && strcmp(texts[i].name, name) == 0)
            r->text[texts[i].text] = value;
}

static bool has(const struct ll_bench_result *r, enum ll_bench_number number)
{
    return !isnan(r->number[number]);
}

/* "pp512", "pp 512", "tg128 @ d4096", "pp512+tg128" of a table as tokens of a prompt, new ones, depth. */
static bool read_test(struct ll_bench_result *r)
{
    for (const char *at = r->text[LL_BENCH_TEST]; *at;) {
        static const struct {
            const char *word;
            enum ll_bench_number number;
        } words[] = {{"pp", LL_BENCH_PROMPT_TOKENS}, {"tg", LL_BENCH_NEW_TOKENS}, {"@ d", LL_BENCH_DEPTH}};
        char *end = NULL;
        for (size_t i = 0; i < sizeof words / sizeof *words && !end; i++)
            if (strncmp(at, words[i].word, strlen(words[i].word)) == 0)
                r->number[words[i].number] = ll_strtod(at + strlen(words[i].word), &end);
        if (!end)
            return false;
        at = end + strspn(end, " +");
    }
    return true;
}

/* Whether a number of a result is one that can be: above 0, or from 0 on. */
static bool is_sane(enum ll_bench_number number, double value)
{
    const bool may_be_nothing =
        number == LL_BENCH_PROMPT_TOKENS || number == LL_BENCH_NEW_TOKENS || number == LL_BENCH_DEPTH ||
        number == LL_BENCH_GPU_LAYERS || number == LL_BENCH_TPOT || number == LL_BENCH_TPOT_P50 ||
        number == LL_BENCH_TPOT_P99 || number == LL_BENCH_NEW_TIME || number == LL_BENCH_PROMPT_TIME ||
        number == LL_BENCH_OUTPUT_TOTAL || number == LL_BENCH_INPUT_TOTAL || number == LL_BENCH_ACCEPTED ||
        number == LL_BENCH_LEAST_TIME;
    if (number == LL_BENCH_RATE || number == LL_BENCH_BURSTINESS)
        return value > 0;
    return isnan(value) || (value < 1e15 && (value > 0 || (value == 0 && may_be_nothing))) ||
           (number == LL_BENCH_GPU_LAYERS && value == -1);
}

/* What the fields are a result of, and whether it is whole. */
static bool finish(struct reading *r, struct ll_bench_result *result)
{
    const struct ll_place place = {.file = r->file, .line = result->line};
    const double *n = result->number;
    if (result->text[LL_BENCH_TEST] && !read_test(result))
        return ll_complain(r->diags, place, "test `%s`: expected as pp512, tg128 or pp512+tg128 @ d1024",
                           result->text[LL_BENCH_TEST]);
    result->kind = result->text[LL_BENCH_SCENARIO]   ? LL_BENCH_LOADGEN
                   : has(result, LL_BENCH_TEST_RATE) ? LL_BENCH_LLAMA
                   : has(result, LL_BENCH_BATCH)     ? LL_BENCH_BATCHED
                                                     : LL_BENCH_SERVER;
    static const enum ll_bench_number needed[LL_BENCH_KINDS][3] = {
        {LL_BENCH_OUTPUT_TOTAL, LL_BENCH_INPUT_TOTAL, LL_BENCH_REQUESTS},
        {LL_BENCH_LATENCY, LL_BENCH_LATENCY, LL_BENCH_LATENCY},
        {LL_BENCH_PROMPT_TOKENS, LL_BENCH_PROMPT_TOKENS, LL_BENCH_TEST_RATE},
        {LL_BENCH_PROMPT_TIME, LL_BENCH_NEW_TIME, LL_BENCH_NEW_TOKENS}};
    static const char *const lacks[LL_BENCH_KINDS] = {
        "a server's result without its requests or tokens; expected completed, total_{input,output}_tokens",
        "a log of LoadGen without latencies; expected a mean latency",
        "a test of llama-bench that does not say what it did; expected n_prompt, n_gen or test",
        "a row of batched-bench without its times; expected TG, T_PP s and T_TG s"};
    if (result->kind == LL_BENCH_LLAMA) {
        result->number[LL_BENCH_PROMPT_TOKENS] = has(result, LL_BENCH_PROMPT_TOKENS)
                                                     ? n[LL_BENCH_PROMPT_TOKENS]
                                                 : has(result, LL_BENCH_NEW_TOKENS) ? 0
                                                                                    : NAN;
        result->number[LL_BENCH_NEW_TOKENS] = has(result, LL_BENCH_NEW_TOKENS) ? n[LL_BENCH_NEW_TOKENS] : 0;
    }
    for (size_t i = 0; i < 3; i++)
        if (!has(result, needed[result->kind][i]))
            return ll_complain(r->diags, place, "%s", lacks[result->kind]);
    for (size_t i = 0; i < LL_BENCH_NUMBERS; i++)
        if (has(result, (enum ll_bench_number)i) && !is_sane((enum ll_bench_number)i, n[i])) {
            const char *name = "";
            for (size_t j = 0; j < sizeof numbers / sizeof *numbers; j++)
                name = numbers[j].number == i && !*name ? numbers[j].name : name;
            return ll_complain(r->diags, place, "%s is %g, which no run has; expected more than nothing",
                               name, n[i]);
        }
    bool measured = result->kind != LL_BENCH_SERVER;
    for (size_t i = LL_BENCH_TOKENS_PER_S; i <= LL_BENCH_LATENCY_P99; i++)
        measured |= n[i] > 0;
    if (!measured)
        return ll_complain(r->diags, place, "a server's result without throughput and times; expected any");
    if (result->kind == LL_BENCH_LLAMA && n[LL_BENCH_PROMPT_TOKENS] + n[LL_BENCH_NEW_TOKENS] < 1)
        return ll_complain(r->diags, place, "a test reads or makes tokens; expected n_prompt or n_gen");
    return true;
}

static bool add(struct reading *r, struct ll_bench_result *result)
{
    if (!finish(r, result))
        return false;
    if (r->count == r->capacity) {
        uint64_t capacity = ll_max(16, 2 * r->capacity);
        struct ll_bench_result *more = ll_alloc(r->arena, capacity, sizeof *more);
        if (!more)
            return ll_complain(r->diags, (struct ll_place){.file = r->file}, "memory ran out");
        if (r->count > 0)
            memcpy(more, r->at, r->count * sizeof *more);
        r->at = more;
        r->capacity = capacity;
    }
    r->at[r->count++] = *result;
    return true;
}

/* --- JSON: an object, a list of objects, or an object a line --- */

/* The numbers of a list; lists of anything else are passed over. */
static bool read_list(struct ll_json_reader *json, struct ll_arena *arena, const double **list,
                      uint64_t *count)
{
    double *at = NULL;
    uint64_t capacity = 0;
    for (*count = 0; ll_json_read(json) != LL_JSON_LIST_END;) {
        if (json->token != LL_JSON_NUMBER)
            return ll_json_expected(json, "expected a number");
        if (*count == capacity) {
            capacity = ll_max(256, 2 * capacity);
            double *more = ll_alloc(arena, capacity, sizeof *more);
            if (!more)
                return ll_json_expected(json, "memory ran out here; expected a shorter list");
            if (at)
                memcpy(more, at, *count * sizeof *more);
            at = more;
        }
        at[(*count)++] = ll_json_as_real(json);
    }
    *list = at;
    return true;
}

/* The object that was opened. */
static bool read_object(struct reading *r, struct ll_json_reader *json)
{
    struct ll_bench_result result;
    begin(&result, ll_json_place(json).line);
    while (ll_json_read(json) == LL_JSON_KEY) {
        const char *key = ll_json_copy(json, r->arena);
        bool inputs = ll_json_says(json, "input_lens"), outputs = ll_json_says(json, "output_lens"),
             starts = ll_json_says(json, "start_times");
        enum ll_json_token token = ll_json_read(json);
        if (token == LL_JSON_LIST && (inputs || outputs || starts)) {
            if (!read_list(json, r->arena,
                           inputs    ? &result.inputs
                           : outputs ? &result.outputs
                                     : &result.starts,
                           inputs    ? &result.input_count
                           : outputs ? &result.output_count
                                     : &result.start_count))
                return false;
        } else if (token == LL_JSON_TEXT || token == LL_JSON_NUMBER) {
            const char *value = ll_json_copy(json, r->arena);
            if (key && value)
                put(&result, key, value);
        } else {
            ll_json_pass(json);
        }
    }
    return json->token == LL_JSON_OBJECT_END && add(r, &result);
}

static bool read_json(struct reading *r, const char *text, size_t length)
{
    struct ll_json_reader json = {
        .file = r->file, .begin = text, .at = text, .end = text + length, .diags = r->diags};
    enum ll_json_token token = ll_json_read(&json);
    if (token == LL_JSON_LIST) {
        while ((token = ll_json_read(&json)) == LL_JSON_OBJECT)
            if (!read_object(r, &json))
                return false;
        return token == LL_JSON_LIST_END || ll_json_expected(&json, "expected an object for each test");
    }
    for (;; token = ll_json_read(&json)) {
        if (token != LL_JSON_OBJECT)
            return ll_json_expected(&json, "expected an object");
        if (!read_object(r, &json))
            return false;
        /* Another document may follow on a line of its own. */
        while (json.at < json.end && strchr(" \t\r\n", *json.at))
            json.at++;
        if (json.at == json.end)
            return true;
        json.filled = false;
    }
}

/* --- tables --- */

/* Whether a row has a value that the names lack: builds of 2023 write whether there is OpenCL, behind
 * `cuda`, and do not name it. */
static bool has_nameless(const char *const *names, size_t name_count, size_t count)
{
    return count == name_count + 1 && name_count > 4 && strcmp(names[2], "cuda") == 0 &&
           strcmp(names[3], "metal") == 0;
}

/* A row under names of columns. */
static bool add_row(struct reading *r, uint64_t line, const char *const *names, size_t name_count,
                    const char *const *values, size_t count)
{
    struct ll_bench_result result;
    const size_t nameless = has_nameless(names, name_count, count) ? 3 : SIZE_MAX;
    begin(&result, line);
    if (count != name_count && nameless == SIZE_MAX)
        return ll_complain(r->diags, (struct ll_place){.file = r->file, .line = line},
                           "the row has %zu columns; expected %zu", count, name_count);
    for (size_t i = 0; i < name_count; i++)
        put(&result, names[i], values[i + (i >= nameless)]);
    return add(r, &result);
}

static bool read_csv(struct reading *r, const char *text, size_t length)
{
    struct ll_csv csv = {
        .file = r->file, .at = text, .end = text + length, .arena = r->arena, .diags = r->diags};
    const char *names[MOST_COLUMNS], *values[MOST_COLUMNS];
    size_t name_count = 0, count;
    const struct ll_csv_field *row = ll_csv_next(&csv, &count);
    for (; row && name_count < ll_min(count, MOST_COLUMNS); name_count++)
        names[name_count] = row[name_count].text;
    while ((row = ll_csv_next(&csv, &count))) {
        size_t kept = ll_min(count, MOST_COLUMNS);
        for (size_t i = 0; i < kept; i++)
            values[i] = row[i].text;
        if (!add_row(r, csv.line, names, name_count, values, kept))
            return false;
    }
    return !csv.failed;
}

/* The bytes between two places without the blanks around them. */
static const char *trimmed(const char *from, const char *to, struct ll_arena *arena)
{
    while (from < to && (*from == ' ' || *from == '\t'))
        from++;
    while (to > from && strchr(" \t\r\n", to[-1]))
        to--;
    return ll_copy_text(arena, from, (size_t)(to - from));
}

/* Cells at each separator; between commas they may stand in quotes. */
static size_t split(const char *from, const char *to, char separator, struct ll_arena *arena,
                    const char *cells[static MOST_COLUMNS])
{
    size_t count = 0;
    bool quoted = false;
    for (const char *at = from; at <= to && count < MOST_COLUMNS; at++) {
        if (at < to && *at == '\'' && separator == ',')
            quoted = !quoted;
        if (at < to && (*at != separator || quoted))
            continue;
        const char *cell = trimmed(from, at, arena);
        size_t length = cell ? strlen(cell) : 0;
        if (length >= 2 && cell[0] == '\'' && cell[length - 1] == '\'')
            cell = ll_copy_text(arena, cell + 1, length - 2);
        if (!cell)
            return 0;
        cells[count++] = cell;
        from = at + 1;
    }
    return count;
}

/* Lines `| a | b |` under a line of names; other lines between tables are passed over. */
static bool read_markdown(struct reading *r, const char *text, const char *end)
{
    const char *names[MOST_COLUMNS], *values[MOST_COLUMNS];
    size_t name_count = 0;
    uint64_t line = 0;
    for (const char *at = text; at < end; line++) {
        const char *stop = memchr(at, '\n', (size_t)(end - at)), *last = stop ? stop : end;
        const char *from = at;
        at = stop ? stop + 1 : end;
        while (last > from && strchr(" \t\r", last[-1]))
            last--;
        while (from < last && *from == ' ')
            from++;
        if (last - from < 2 || *from != '|' || last[-1] != '|') {
            name_count = 0;
            continue;
        }
        const char *ruled = from;
        while (ruled < last && strchr("|-: ", *ruled))
            ruled++;
        if (ruled == last) /* the line under the names */
            continue;
        size_t count = split(from + 1, last - 1, '|', r->arena, name_count > 0 ? values : names);
        if (name_count == 0)
            name_count = count;
        else if (!add_row(r, line + 1, names, name_count, values, count))
            return false;
    }
    return true;
}

/* `INSERT INTO test (names) VALUES (values);` */
static bool read_sql(struct reading *r, const char *text, const char *end)
{
    const char *names[MOST_COLUMNS], *values[MOST_COLUMNS];
    static const char insert[] = "INSERT INTO ", before[] = ") VALUES (";
    uint64_t line = 0;
    for (const char *at = text; at < end; line++) {
        const char *stop = memchr(at, '\n', (size_t)(end - at)), *last = stop ? stop : end;
        const char *from = at;
        at = stop ? stop + 1 : end;
        if ((size_t)(last - from) < sizeof insert || memcmp(from, insert, sizeof insert - 1) != 0)
            continue;
        const char *open = memchr(from, '(', (size_t)(last - from)), *middle = NULL, *close = last - 1;
        for (const char *m = open; m && !middle && m + sizeof before <= last; m++)
            middle = memcmp(m, before, sizeof before - 1) == 0 ? m : NULL;
        while (close > from && *close != ')')
            close--;
        if (!middle || close < middle + sizeof before - 1)
            return ll_complain(r->diags, (struct ll_place){.file = r->file, .line = line + 1},
                               "expected INSERT INTO test (NAMES) VALUES (VALUES)");
        size_t name_count = split(open + 1, middle, ',', r->arena, names);
        size_t count = split(middle + sizeof before - 1, close, ',', r->arena, values);
        if (!add_row(r, line + 1, names, name_count, values, count))
            return false;
    }
    return true;
}

/* --- lines --- */

/* Lines `name : value` are one result. */
static bool read_lines(struct reading *r, const char *text, const char *end)
{
    struct ll_bench_result result;
    uint64_t line = 0;
    begin(&result, 1);
    for (const char *at = text; at < end; line++) {
        const char *stop = memchr(at, '\n', (size_t)(end - at)), *last = stop ? stop : end;
        const char *from = at, *colon = memchr(from, ':', (size_t)(last - from));
        at = stop ? stop + 1 : end;
        const char *name = colon ? trimmed(from, colon, r->arena) : NULL,
                   *value = colon ? trimmed(colon + 1, last, r->arena) : NULL;
        if (name && value)
            put(&result, name, value);
    }
    return add(r, &result);
}

/* Lines `:::MLLOG {"key": ..., "value": ...}` are one result. */
static bool read_detail(struct reading *r, const char *text, const char *end)
{
    static const char mark[] = ":::MLLOG ";
    struct ll_bench_result result;
    begin(&result, 1);
    for (const char *at = text; at < end;) {
        const char *stop = memchr(at, '\n', (size_t)(end - at)), *last = stop ? stop : end;
        const char *from = at, *key = NULL, *value = NULL;
        at = stop ? stop + 1 : end;
        if ((size_t)(last - from) < sizeof mark || memcmp(from, mark, sizeof mark - 1) != 0)
            continue;
        struct ll_json_reader json = {
            .file = r->file, .begin = text, .at = from + sizeof mark - 1, .end = last, .diags = r->diags};
        if (ll_json_read(&json) != LL_JSON_OBJECT)
            return ll_json_expected(&json, "expected an object");
        while (ll_json_read(&json) == LL_JSON_KEY) {
            bool is_key = ll_json_says(&json, "key"), is_value = ll_json_says(&json, "value");
            enum ll_json_token token = ll_json_read(&json);
            if (token != LL_JSON_TEXT && token != LL_JSON_NUMBER)
                ll_json_pass(&json);
            else if (is_key)
                key = ll_json_copy(&json, r->arena);
            else if (is_value)
                value = ll_json_copy(&json, r->arena);
        }
        if (json.failed)
            return false;
        if (key && value)
            put(&result, key, value);
    }
    return add(r, &result);
}

/* --- files --- */

static bool holds(const char *begin, size_t length, const char *word)
{
    size_t size = strlen(word);
    for (const char *at = begin; (size_t)(begin + length - at) >= size; at++) {
        at = memchr(at, *word, (size_t)(begin + length - at));
        if (!at || (size_t)(begin + length - at) < size)
            return false;
        if (memcmp(at, word, size) == 0)
            return true;
    }
    return false;
}

typedef bool read_function(struct reading *r, const char *text, const char *end);

/* How a file is written, by words that it has; NULL: it holds no such results. */
static read_function *form_of(const char *begin, size_t length, bool *json, bool *csv)
{
    const char *at = begin, *end = begin + length;
    while (at < end && strchr(" \t\r\n", *at))
        at++;
    const bool tests = holds(begin, length, "avg_ts"), first = at < end;
    *json = first && (*at == '{' || *at == '[') && (tests || holds(begin, length, "\"total_output_tokens\""));
    *csv = !*json && tests && first && (*at == 'b' || *at == '"') &&
           holds(at, (size_t)(end - at), "build_commit");
    if (holds(begin, length, ":::MLLOG "))
        return read_detail;
    if (holds(begin, length, "MLPerf Results Summary") || holds(begin, length, "Serving Benchmark Result"))
        return read_lines;
    if (tests && holds(begin, length, "INSERT INTO "))
        return read_sql;
    return first && (holds(begin, length, "T_PP s") || holds(begin, length, " t/s |")) ? read_markdown : NULL;
}

bool ll_bench_is(const char *begin, size_t length)
{
    bool json, csv;
    return form_of(begin, length, &json, &csv) || json || csv;
}

bool ll_bench_read(const char *text, size_t length, const char *file, struct ll_arena *arena,
                   struct ll_diags *diags, struct ll_bench_results *results)
{
    struct reading r = {.file = file, .arena = arena, .diags = diags};
    bool json, csv, good;
    read_function *read = form_of(text, length, &json, &csv);
    if (json)
        good = read_json(&r, text, length);
    else if (csv)
        good = read_csv(&r, text, length);
    else if (read)
        good = read(&r, text, text + length);
    else
        return ll_complain(
            diags, (struct ll_place){.file = file},
            "no results of a benchmark; expected those of vLLM, SGLang, LoadGen or llama-bench");
    if (good && r.count == 0)
        return ll_complain(diags, (struct ll_place){.file = file}, "the file has no results");
    *results = (struct ll_bench_results){r.at, r.count};
    return good;
}
