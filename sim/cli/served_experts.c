/* SPDX-License-Identifier: Apache-2.0 */
/* An op that computes experts says how many devices share them, and is lowered as if tokens spread evenly
 * (tracer/ir/ops_llm.c). Here its work is that of the device with most rows:
 *
 *     rows of expert i = T k share_i, at most T of T tokens;   hottest of N devices: the block of E / N
 *     experts with most rows
 *
 * Experts lie in blocks, in their order; those of a power law are shuffled (tracer/ir/experts.c). Exchanges
 * of tokens last as if these spread evenly. */
#include "sim/cli/served_experts.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "sim/cli/command.h"
#include "sim/report/table.h"
#include "tracer/base/file.h"
#include "tracer/base/num.h"
#include "tracer/ir/experts.h"

/* --- reading --- */

#define MOST_TOKENS 1e15

static bool read_shares(const char *path, uint64_t experts, struct ll_arena *arena,
                        struct ll_expert_load *load)
{
    enum { MOST_BYTES = 1 << 20 };
    struct ll_contents text;
    double *shares = ll_alloc(arena, experts + 1, sizeof *shares), sum = 0, least = INFINITY, most = 0;
    const enum ll_status status = ll_read_whole(path, MOST_BYTES, arena, &text);
    uint64_t line = 1, count = 0;
    if (status != LL_OK || !shares) {
        ll_cli_reject(
            "--expert-load %s: expected balanced, power_law_A with an exponent A above 0, or a file of "
            "the tokens of each expert; %s",
            path, status != LL_OK ? ll_status_text(status) : "memory ran out");
        return false;
    }
    for (const char *at = text.bytes; *at;) {
        char *end;
        const double tokens = ll_strtod(at, &end);
        if (end == at || !(tokens >= 0 && tokens <= MOST_TOKENS) || !strchr(", \t\r\n", *end)) {
            ll_cli_reject("--expert-load %s:%" PRIu64
                          ": expected the tokens of an expert, a number from 0 to %g",
                          path, line, MOST_TOKENS);
            return false;
        }
        if (count < experts)
            shares[count] = tokens;
        count++;
        sum += tokens;
        least = fmin(least, tokens);
        most = fmax(most, tokens);
        for (at = end; *at && strchr(", \t\r\n", *at); at++)
            line += *at == '\n';
    }
    if (count != experts || !(sum > 0)) {
        if (count != experts)
            ll_cli_reject("--expert-load %s: %" PRIu64 " number%s; expected one for each of %" PRIu64
                          " experts of a layer",
                          path, count, ll_plural(count), experts);
        else
            ll_cli_reject("--expert-load %s: no expert has a token; expected numbers above 0", path);
        return false;
    }
    for (uint64_t i = 0; i < experts; i++)
        shares[i] /= sum;
    if (most > least)
        *load = (struct ll_expert_load){.shares = shares, .count = experts};
    return true;
}

bool ll_expert_load_read(const char *text, uint64_t experts, struct ll_arena *arena,
                         struct ll_expert_load *load)
{
    static const char power_law[] = "power_law_";
    *load = (struct ll_expert_load){0};
    if (strcmp(text, "balanced") == 0)
        return true;
    if (experts == 0 || experts > LL_MOST_EXPERTS) {
        ll_cli_reject("--expert-load %s: the model has no experts", text);
        return false;
    }
    if (strncmp(text, power_law, strlen(power_law)) != 0)
        return read_shares(text, experts, arena, load);
    char *end;
    load->skew = ll_strtod(text + strlen(power_law), &end);
    if (*end || end == text + strlen(power_law) || !(load->skew > 0 && load->skew <= 10)) {
        ll_cli_reject("--expert-load %s: expected an exponent above 0, up to 10, as power_law_1.2", text);
        return false;
    }
    return true;
}

/* --- rows of the hottest device --- */

/* Rows of each expert by its share, at most one a token; what that leaves over goes to those with room, in
 * their order. */
static void share_out(const struct ll_expert_load *load, const struct ll_experts *e, uint64_t *rows)
{
    const double all = (double)e->tokens * (double)e->top_k;
    double before = 0;
    uint64_t left = e->tokens * e->top_k;
    for (uint64_t i = 0; i < e->experts; i++) {
        const double behind = i + 1 < e->experts ? before + all * load->shares[i] : all;
        rows[i] = ll_min((uint64_t)(llround(behind) - llround(before)), e->tokens);
        left -= rows[i];
        before = behind;
    }
    for (uint64_t i = 0; i < e->experts && left > 0; i++) {
        const uint64_t more = ll_min(left, e->tokens - rows[i]);
        rows[i] += more;
        left -= more;
    }
    assert(left == 0);
}

static void load_shares(const struct ll_expert_load *load, uint64_t devices, struct ll_experts *e)
{
    uint64_t rows[LL_MOST_EXPERTS], hottest = 0, most = 0;
    e->local = e->experts / devices;
    share_out(load, e, rows);
    for (uint64_t d = 0; d < devices; d++) {
        uint64_t sum = 0;
        for (uint64_t i = 0; i < e->local; i++)
            sum += rows[d * e->local + i];
        if (sum > most) {
            most = sum;
            hottest = d;
        }
    }
    ll_experts_of_counts(rows + hottest * e->local, e->local, e);
}

/* Loads an op that computes experts, of whose `experts` a device may have only some. Where a layer has
 * another number than shares its work stays. */
static void load_op(const struct ll_op_view *op, const struct ll_expert_load *load, uint64_t experts,
                    struct ll_work *work)
{
    const uint64_t sharing = (uint64_t)ll_attr_count(op, LL_ATTR_DEVICES, 1), here = op->in[3].dim[0],
                   parts = experts % (here * sharing) == 0 ? experts / (here * sharing) : 1,
                   devices = sharing * parts;
    const double even_bytes = (double)ll_experts_weight_bytes(&work->experts);
    struct ll_experts e = work->experts;
    e.tokens = op->in[0].dim[0] * sharing;
    e.top_k = op->in[2].dim[1] * parts;
    e.experts = here * devices;
    if (load->shares && load->count == e.experts && e.top_k <= e.experts)
        load_shares(load, devices, &e);
    else if (load->shares || !ll_experts_spread(load->skew, devices, &e))
        return;
    if (devices > 1) { /* as an op of the device alone */
        e.tokens = sharing > 1 ? e.local_tokens : e.tokens;
        e.experts = e.local;
        e.top_k = ll_max(1, ll_ceil_div(e.rows, ll_max(1, e.tokens)));
    }
    work->experts = e;
    work->flops = ll_experts_flops(&e);
    work->b_bytes = (uint64_t)((double)work->b_bytes * (double)ll_experts_weight_bytes(&e) / even_bytes);
}

const struct ll_prepared *ll_expert_load_put(const struct ll_prepared *prepared,
                                             const struct ll_expert_load *load, uint64_t experts,
                                             struct ll_arena *arena)
{
    const struct ll_trace *trace = prepared->trace;
    if (load->skew == 0 && !load->shares)
        return prepared;
    struct ll_prepared *loaded = ll_copy(arena, prepared, sizeof *prepared);
    struct ll_work *works = ll_copy(arena, prepared->works, trace->signature_count * sizeof *works);
    if (!loaded || !works)
        return NULL;
    loaded->works = works;
    for (uint64_t i = 0; i < trace->signature_count; i++)
        if (works[i].kind == LL_WORK_EXPERTS && trace->signatures[i].view.kind == LL_OP_EXPERTS)
            load_op(&trace->signatures[i].view, load, experts, &works[i]);
    return loaded;
}
