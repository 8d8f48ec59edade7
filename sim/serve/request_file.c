/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/serve/request_file.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tracer/base/file.h"
#include "tracer/base/json.h"
#include "tracer/base/num.h"
#include "tracer/base/random.h"
#include "tracer/base/str.h"

enum { ARRIVAL, INPUT, OUTPUT, PRIORITY, COLUMNS };

struct reading {
    const char *path;
    struct ll_arena *arena;
    struct ll_diags *diags;
    struct ll_request *at;
    uint64_t count, capacity;
};

static bool add(struct reading *r, struct ll_place place, const struct ll_request *request)
{
    if (request->input < 1 || request->output < 1 || request->input > 1u << 30 || request->output > 1u << 30)
        return ll_complain(r->diags, place,
                           "a request has tokens to read and to make; expected 1 to 2^30 of each");
    if (!(request->arrival_s >= 0) || request->arrival_s > 1e15)
        return ll_complain(r->diags, place, "expected a time of arrival from 0 on");
    if (r->count == r->capacity) {
        uint64_t capacity = ll_max(1024, 2 * r->capacity);
        struct ll_request *more = ll_alloc(r->arena, capacity, sizeof *more);
        if (!more)
            return ll_complain(r->diags, place, "memory ran out");
        if (r->count > 0)
            memcpy(more, r->at, r->count * sizeof *more);
        r->at = more;
        r->capacity = capacity;
    }
    r->at[r->count++] = *request;
    return true;
}

/* --- CSV --- */

/* Days since 1970-01-01 of a date of the Gregorian calendar (Hinnant, chrono-compatible low-level date
 * algorithms, 2013). */
static double days_of(long year, long month, long day)
{
    year -= month <= 2;
    long era = (year >= 0 ? year : year - 399) / 400, of_era = year - era * 400;
    long of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
    return (double)(era * 146097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719468);
}

/* Seconds, or a date and a time of day. */
static bool time_of(const char *text, double *time_s)
{
    long year, month, day, hour, minute;
    double second;
    char *end;
    int used = 0;
    if (sscanf(text, "%4ld-%2ld-%2ld%*1[ T]%2ld:%2ld:%lf%n", &year, &month, &day, &hour, &minute, &second,
               &used) == 6) {
        if (month < 1 || month > 12 || day < 1 || day > 31 || hour > 23 || minute > 59 ||
            !(second >= 0 && second < 61))
            return false;
        *time_s = days_of(year, month, day) * 86400 + (double)hour * 3600 + (double)minute * 60 + second;
        return text[used] == '\0' || text[used] == '+' || text[used] == 'Z';
    }
    errno = 0;
    *time_s = ll_strtod(text, &end);
    return end != text && *end == '\0' && errno == 0 && isfinite(*time_s);
}

static bool count_in(const char *text, uint64_t *count)
{
    char *end;
    double value = ll_strtod(text, &end); /* some write 374.0 */
    *count = value >= 0 && value < 0x1p53 ? (uint64_t)value : 0;
    return end != text && *end == '\0' && value == (double)*count;
}

static bool priority_in(const char *text, int64_t *priority)
{
    char *end;
    double value = ll_strtod(text, &end);
    *priority = fabs(value) < 0x1p53 ? (int64_t)value : 0;
    return end != text && *end == '\0' && value == (double)*priority;
}

static bool read_csv(struct reading *r, const struct ll_contents *text)
{
    static const char *const names[COLUMNS][6] = {
        [ARRIVAL] = {"arrival_s", "TIMESTAMP", "Timestamp", "arrived_at", "timestamp", NULL},
        [INPUT] = {"input_tokens", "ContextTokens", "Request tokens", "num_prefill_tokens", "input_length",
                   NULL},
        [OUTPUT] = {"output_tokens", "GeneratedTokens", "Response tokens", "num_decode_tokens",
                    "output_length", NULL},
        [PRIORITY] = {"priority", NULL}};
    struct ll_csv csv = {.file = r->path,
                         .at = text->bytes,
                         .end = text->bytes + text->length,
                         .arena = r->arena,
                         .diags = r->diags};
    size_t count, column[COLUMNS] = {SIZE_MAX, SIZE_MAX, SIZE_MAX, SIZE_MAX};
    const struct ll_csv_field *fields = ll_csv_next(&csv, &count);
    for (size_t i = 0; fields && i < count; i++)
        for (int c = 0; c < COLUMNS; c++)
            for (const char *const *name = names[c]; *name; name++) {
                if (strcmp(fields[i].text, *name) != 0)
                    continue;
                if (column[c] != SIZE_MAX)
                    return ll_complain(r->diags, ll_csv_place(&csv, &fields[i]),
                                       "`%s`: another column says the same already", fields[i].text);
                column[c] = i;
            }
    if (csv.failed)
        return false;
    const char *output_name = column[OUTPUT] != SIZE_MAX ? fields[column[OUTPUT]].text : "";
    if (column[INPUT] == SIZE_MAX || column[OUTPUT] == SIZE_MAX)
        return ll_complain(
            r->diags, (struct ll_place){.file = r->path, .line = 1},
            "expected columns arrival_s, input_tokens and output_tokens, or those of Azure's or "
            "BurstGPT's traces");
    /* BurstGPT's requests without response failed. */
    const bool may_fail = strcmp(output_name, "Response tokens") == 0;
    while ((fields = ll_csv_next(&csv, &count))) {
        struct ll_request request = {0};
        struct ll_place place = ll_csv_place(&csv, NULL);
        for (int c = 0; c < COLUMNS; c++)
            if (column[c] != SIZE_MAX && column[c] >= count)
                return ll_complain(r->diags, place, "expected as many fields as the first line has");
        if (column[ARRIVAL] != SIZE_MAX && !time_of(fields[column[ARRIVAL]].text, &request.arrival_s))
            return ll_complain(r->diags, ll_csv_place(&csv, &fields[column[ARRIVAL]]),
                               "expected a time in seconds, or as 2023-11-16 18:15:46.68");
        for (int c = INPUT; c <= OUTPUT; c++)
            if (!count_in(fields[column[c]].text, c == INPUT ? &request.input : &request.output))
                return ll_complain(r->diags, ll_csv_place(&csv, &fields[column[c]]),
                                   "expected a number of tokens");
        if (column[PRIORITY] != SIZE_MAX && !priority_in(fields[column[PRIORITY]].text, &request.priority))
            return ll_complain(r->diags, ll_csv_place(&csv, &fields[column[PRIORITY]]),
                               "expected a priority, a whole number, the lower the earlier");
        if (request.output == 0 && may_fail)
            continue;
        if (!add(r, place, &request))
            return false;
    }
    return !csv.failed;
}

/* --- JSON lines --- */

static bool read_pieces(struct reading *r, struct ll_json_reader *json, struct ll_request *request)
{
    enum { PIECE_TOKENS = 512 };
    uint64_t *pieces = NULL, count = 0, capacity = 0;
    while (ll_json_read(json) == LL_JSON_NUMBER) {
        if (count == capacity) {
            uint64_t more = ll_max(16, 2 * capacity), *grown = ll_alloc(r->arena, more, sizeof *grown);
            if (!grown)
                return ll_complain(r->diags, ll_json_place(json), "memory ran out");
            if (count > 0)
                memcpy(grown, pieces, count * sizeof *grown);
            pieces = grown;
            capacity = more;
        }
        pieces[count++] = (uint64_t)ll_json_as_integer(json);
    }
    request->pieces = pieces;
    request->piece_count = count;
    request->piece_tokens = PIECE_TOKENS;
    return json->token == LL_JSON_LIST_END || ll_json_expected(json, "numbers of pieces");
}

static uint64_t tokens_of(const struct ll_json_reader *json)
{
    int64_t count = ll_json_as_integer(json);
    return count > 0 ? (uint64_t)count : 0;
}

static bool read_object(struct reading *r, struct ll_json_reader *json)
{
    struct ll_request request = {0};
    struct ll_place place = ll_json_place(json);
    for (enum ll_json_token token = ll_json_read(json); token == LL_JSON_KEY; token = ll_json_read(json)) {
        bool ms = ll_json_says(json, "timestamp"), ns = ll_json_says(json, "arrival_time_ns"),
             input = ll_json_says(json, "input_length") || ll_json_says(json, "input_toks"),
             output = ll_json_says(json, "output_length") || ll_json_says(json, "output_toks"),
             priority = ll_json_says(json, "priority"), pieces = ll_json_says(json, "hash_ids");
        if (!ms && !ns && !input && !output && !priority && !pieces) {
            ll_json_pass(json);
            continue;
        }
        ll_json_read(json);
        if (pieces ? json->token != LL_JSON_LIST : json->token != LL_JSON_NUMBER)
            return ll_json_expected(json, pieces ? "a list" : "a number");
        if (pieces && !read_pieces(r, json, &request))
            return false;
        if (ms || ns)
            request.arrival_s = ll_json_as_real(json) * (ms ? 1e-3 : 1e-9);
        if (priority)
            request.priority = ll_json_as_integer(json);
        if (input)
            request.input = tokens_of(json);
        if (output)
            request.output = tokens_of(json);
    }
    return !json->failed && add(r, place, &request);
}

/* --- conversations --- */

/* Tokens of a text without its tokenizer: four bytes each, as English has them in the mean. */
static uint64_t tokens_of_text(const struct ll_json_reader *json, struct ll_arena *arena)
{
    enum { BYTES_OF_A_TOKEN = 4 };
    const char *text = ll_json_copy(json, arena);
    return text ? ll_ceil_div(strlen(text), BYTES_OF_A_TOKEN) : 0;
}

/* A turn, {"from": ..., "value": text}: its tokens. */
static bool read_turn(struct reading *r, struct ll_json_reader *json, uint64_t *tokens)
{
    if (json->token != LL_JSON_OBJECT)
        return ll_json_expected(json, "a turn, as {\"from\": \"human\", \"value\": \"...\"}");
    while (ll_json_read(json) == LL_JSON_KEY) {
        if (!ll_json_says(json, "value")) {
            ll_json_pass(json);
            continue;
        }
        if (ll_json_read(json) != LL_JSON_TEXT)
            return ll_json_expected(json, "text");
        *tokens = tokens_of_text(json, r->arena);
    }
    return !json->failed;
}

/* ShareGPT's list: of each conversation the first turn is a prompt, the second what is made. Those without
 * two turns that say something are left out. */
static bool read_conversations(struct reading *r, const struct ll_contents *text)
{
    struct ll_json_reader reader = {.file = r->path,
                                    .begin = text->bytes,
                                    .at = text->bytes,
                                    .end = text->bytes + text->length,
                                    .diags = r->diags},
                          *json = &reader;
    ll_json_read(json);
    while (ll_json_read(json) == LL_JSON_OBJECT) {
        uint64_t tokens[2] = {0}, turns = 0, more;
        struct ll_place place = ll_json_place(json);
        while (ll_json_read(json) == LL_JSON_KEY) {
            if (!ll_json_says(json, "conversations")) {
                ll_json_pass(json);
                continue;
            }
            if (ll_json_read(json) != LL_JSON_LIST)
                return ll_json_expected(json, "a list of turns");
            for (; ll_json_read(json) == LL_JSON_OBJECT; turns++)
                if (!read_turn(r, json, turns < 2 ? &tokens[turns] : &more))
                    return false;
            if (json->token != LL_JSON_LIST_END)
                return ll_json_expected(json, "a turn");
        }
        if (json->failed)
            return false;
        if (tokens[0] > 0 && tokens[1] > 0 &&
            !add(r, place, &(struct ll_request){.input = tokens[0], .output = tokens[1]}))
            return false;
    }
    return json->token == LL_JSON_LIST_END || ll_json_expected(json, "a conversation");
}

static bool read_json(struct reading *r, const struct ll_contents *text)
{
    const char *at = text->bytes, *end = text->bytes + text->length;
    for (uint64_t line = 1; at < end; line++) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        stop = stop ? stop : end;
        struct ll_diags own = {0};
        struct ll_json_reader json = {.file = r->path, .begin = at, .at = at, .end = stop, .diags = &own};
        bool blank = strspn(at, " \t\r") >= (size_t)(stop - at);
        bool good = blank || (ll_json_read(&json) == LL_JSON_OBJECT ? read_object(r, &json)
                                                                    : ll_json_expected(&json, "an object"));
        if (!good || own.count > 0) {
            if (own.count > 0)
                ll_complain(r->diags, (struct ll_place){.file = r->path, .line = line}, "%s",
                            own.kept[0].message);
            ll_diags_release(&own);
            return false;
        }
        ll_diags_release(&own);
        at = stop + (stop < end);
    }
    return true;
}

static int by_arrival(const void *a, const void *b)
{
    const struct ll_request *x = a, *y = b;
    int order = (x->arrival_s > y->arrival_s) - (x->arrival_s < y->arrival_s);
    return order ? order : (x->prefix > y->prefix) - (x->prefix < y->prefix); /* their places in the file */
}

const struct ll_request *ll_read_requests(const char *path, struct ll_arena *arena, uint64_t *count,
                                          struct ll_diags *diags)
{
    struct ll_contents text;
    enum ll_status status = ll_read_whole(path, UINT64_C(1) << 34, arena, &text);
    if (status != LL_OK) {
        ll_complain(diags, (struct ll_place){.file = path}, "%s; expected a file of requests",
                    ll_status_text(status));
        return NULL;
    }
    return ll_parse_requests(path, text.bytes, text.length, arena, count, diags);
}

const struct ll_request *ll_parse_requests(const char *path, const char *bytes, size_t length,
                                           struct ll_arena *arena, uint64_t *count, struct ll_diags *diags)
{
    struct reading r = {.path = path, .arena = arena, .diags = diags};
    const struct ll_contents text = {bytes, length};
    const char *first = bytes + strspn(bytes, " \t\r\n");
    assert(bytes[length] == '\0');
    if (!(*first == '{'   ? read_json(&r, &text)
          : *first == '[' ? read_conversations(&r, &text)
                          : read_csv(&r, &text)))
        return NULL;
    if (r.count == 0) {
        ll_complain(diags, (struct ll_place){.file = path}, "expected at least one request");
        return NULL;
    }
    bool ordered = true;
    for (uint64_t i = 1; i < r.count; i++)
        ordered &= r.at[i - 1].arrival_s <= r.at[i].arrival_s;
    for (uint64_t i = 0; !ordered && i < r.count; i++)
        r.at[i].prefix = i;
    if (!ordered)
        qsort(r.at, r.count, sizeof *r.at, by_arrival);
    for (uint64_t i = r.count; i-- > 0;) {
        r.at[i].arrival_s -= r.at[0].arrival_s;
        r.at[i].prefix = 0;
    }
    *count = r.count;
    return r.at;
}

/* --- requests that nobody listed: gaps of a gamma distribution, lengths that are drawn --- */

/* Standard normal (Box and Muller, 1958) from two draws. */
static double normal(uint64_t key, uint64_t *index)
{
    double u = ll_random_fine_unit(ll_random_bits(key, (*index)++)),
           v = ll_random_fine_unit(ll_random_bits(key, (*index)++));
    return sqrt(-2 * log(u)) * cos(2 * 3.14159265358979323846 * v);
}

/* Gamma distributed with mean 1 and this shape (Marsaglia and Tsang, A simple method for generating gamma
 * variables, 2000). */
static double gamma_of(double shape, uint64_t key)
{
    uint64_t index = 0;
    if (isinf(shape))
        return 1;
    if (shape == 1)
        return -log(ll_random_fine_unit(ll_random_bits(key, 0)));
    double raised = shape < 1 ? shape + 1 : shape, d = raised - 1. / 3, c = 1 / sqrt(9 * d), value;
    for (;;) {
        double x = normal(key, &index), v = 1 + c * x, u = ll_random_fine_unit(ll_random_bits(key, index++));
        if (v <= 0)
            continue;
        v = v * v * v;
        if (log(u) < 0.5 * x * x + d - d * v + d * log(v)) {
            value = d * v;
            break;
        }
    }
    if (shape < 1)
        value *= pow(ll_random_fine_unit(ll_random_bits(key, index)), 1 / shape);
    return value / shape;
}

static uint64_t between(uint64_t least, uint64_t most, uint64_t bits)
{
    return least + (uint64_t)(ll_random_fine_unit(bits) * (double)(most - least + 1));
}

/* A length of request `key`; streams are draws that do not depend on each other. */
static uint64_t length_of(const struct ll_lengths *l, bool output, uint64_t key, uint64_t stream)
{
    uint64_t index = 0;
    double value = l->a, shape;
    switch (l->kind) {
    case LL_LENGTHS_UNIFORM:
        return between((uint64_t)l->a, (uint64_t)l->b, ll_random_bits(key, stream));
    case LL_LENGTHS_LISTED: {
        const struct ll_request *r = &l->listed[between(0, l->count - 1, ll_random_bits(key, stream))];
        return output ? r->output : r->input;
    }
    case LL_LENGTHS_NORMAL:
        value = l->a + l->b * normal(ll_random_key(key, 3 + stream), &index);
        break;
    case LL_LENGTHS_LOGNORMAL: /* of which a and b are the mean and the deviation themselves */
        shape = log(1 + l->b * l->b / (l->a * l->a));
        value = l->a * exp(sqrt(shape) * normal(ll_random_key(key, 3 + stream), &index) - shape / 2);
        break;
    case LL_LENGTHS_EXPONENTIAL:
        value = -l->a * log(ll_random_fine_unit(ll_random_bits(key, stream)));
        break;
    }
    return value < 1 ? 1 : value > 0x1p30 ? UINT64_C(1) << 30 : (uint64_t)(value + 0.5);
}

double ll_lengths_mean(const struct ll_lengths *l, bool output)
{
    double sum = 0;
    if (l->kind == LL_LENGTHS_UNIFORM)
        return (l->a + l->b) / 2;
    for (uint64_t i = 0; l->kind == LL_LENGTHS_LISTED && i < l->count; i++)
        sum += (double)(output ? l->listed[i].output : l->listed[i].input);
    return l->kind == LL_LENGTHS_LISTED ? sum / (double)l->count : l->a;
}

struct ll_request ll_load_request(const struct ll_load *load, uint64_t i, double previous_arrival_s)
{
    const uint64_t key = ll_random_key(load->seed, i);
    struct ll_request r = {0};
    assert(!load->listed);
    const bool together = load->output.kind == LL_LENGTHS_LISTED && load->output.listed == load->input.listed;
    r.input = length_of(&load->input, false, key, 0);
    r.output = length_of(&load->output, true, key, together ? 0 : 1);
    r.prefix_tokens = load->prefix_tokens < r.input ? load->prefix_tokens : r.input;
    if (load->rate_Hz > 0)
        r.arrival_s = previous_arrival_s +
                      (i == 0 ? 0 : gamma_of(load->burstiness, ll_random_key(key, 2)) / load->rate_Hz);
    return r;
}
