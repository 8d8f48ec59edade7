/* SPDX-License-Identifier: Apache-2.0 */
/* leadline dram [PRESET]: kinds of dynamic memory, and how much of one's peak a pattern of accesses has. */
#include "sim/cli/bursts.h"
#include "sim/cli/command.h"
#include "sim/report/table.h"
#include "tracer/base/json.h"
#include "tracer/base/str.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Bursts that the timed mode plays of a pattern, all channels together. */
enum { BURSTS = 1 << 20 };

/* Of a pattern. */
static const uint64_t most_bytes = UINT64_C(1) << 30;

static const char *const usual[] = {"stream",        "stream:0.5", "stream:1",   "sweep:64:256",
                                    "sweep:64:4096", "rows:32",    "rows:64",    "rows:256",
                                    "rows:1024",     "rows:4096",  "rows:64:0.5"};

/* A colon and a number behind *text, which then stands behind them. */
static bool read_count(const char **text, uint64_t *count)
{
    char *end;
    if (**text != ':' || (*text)[1] < '0' || (*text)[1] > '9')
        return false;
    *count = strtoull(*text + 1, &end, 10);
    *text = end;
    return *count > 0 && *count <= most_bytes;
}

static bool read_share(const char **text, double *share)
{
    char *end;
    if (**text != ':' || !strchr("0123456789.", (*text)[1]) || !(*text)[1])
        return false;
    *share = ll_strtod(*text + 1, &end);
    *text = end;
    return *share >= 0 && *share <= 1;
}

/* "stream", "rows:BYTES" or "sweep:BYTES:STRIDE", and how many are writes. */
static bool read_pattern(const char *text, struct ll_dram_pattern *pattern)
{
    bool right = true;
    *pattern = (struct ll_dram_pattern){.bytes = LL_DRAM_BLOCK_BYTES, .stride = LL_DRAM_BLOCK_BYTES};
    if (!strncmp(text, "stream", 6)) {
        text += 6;
    } else if (!strncmp(text, "rows", 4)) {
        text += 4;
        pattern->stride = 0;
        right = read_count(&text, &pattern->bytes);
    } else if (!strncmp(text, "sweep", 5)) {
        text += 5;
        right = read_count(&text, &pattern->bytes) && read_count(&text, &pattern->stride) &&
                pattern->stride >= pattern->bytes;
    } else {
        return false;
    }
    if (right && *text)
        right = read_share(&text, &pattern->write_share);
    return right && !*text;
}

struct asked {
    const struct ll_dram *dram;
    uint64_t channels;
    const char *const *texts;
    size_t count;
};

struct answer {
    struct ll_dram_pattern pattern;
    struct ll_dram_estimate simple;
    struct ll_dram_result timed;
    double efficiency; /* of the timed mode */
};

static bool find_answer(const struct asked *asked, size_t i, struct answer *answer)
{
    read_pattern(asked->texts[i], &answer->pattern);
    ll_dram_estimate(asked->dram, asked->channels, &answer->pattern, &answer->simple);
    double accesses = BURSTS / answer->simple.bursts;
    return ll_dram_play(asked->dram, (uint32_t)asked->channels, &answer->pattern, (uint64_t)accesses + 1,
                        &answer->timed, &answer->efficiency);
}

static void answer_row(const struct asked *asked, const char *text, const struct answer *a,
                       struct ll_table *table)
{
    double peak_Bps = ll_dram_channel_Bps(asked->dram) * (double)asked->channels;
    struct ll_human simple, timed, bandwidth, hits, misses, conflicts, refresh;
    ll_table_row(table, "%s|%s|%s|%s|%s|%s|%s|%s", text, ll_format_percent(&simple, a->simple.efficiency),
                 ll_format_percent(&timed, a->efficiency),
                 ll_format_si(&bandwidth, a->efficiency * peak_Bps, "B/s"),
                 ll_format_percent(&hits, ll_share_of_bursts(&a->timed, a->timed.hits)),
                 ll_format_percent(&misses, ll_share_of_bursts(&a->timed, a->timed.misses)),
                 ll_format_percent(&conflicts, ll_share_of_bursts(&a->timed, a->timed.conflicts)),
                 ll_format_percent(&refresh, a->timed.refresh_share));
}

static void answer_json(const char *text, const struct answer *a, struct ll_json *json)
{
    ll_json_open_object(json);
    ll_json_put_text(json, "pattern", text);
    ll_json_put_count(json, "bytes", a->pattern.bytes);
    ll_json_put_count(json, "stride", a->pattern.stride);
    ll_json_put_number(json, "write_share", a->pattern.write_share);
    ll_json_put_number(json, "simple_efficiency", a->simple.efficiency);
    ll_json_put_number(json, "timed_efficiency", a->efficiency);
    ll_json_put_number(json, "moved_Bps", a->timed.moved_Bps);
    ll_bursts_json(&a->timed, json);
    ll_json_put_number(json, "refresh_share", a->timed.refresh_share);
    ll_json_put_count(json, "turns", a->timed.turns);
    ll_json_put_count(json, "cycles", a->timed.cycles);
    ll_json_close_object(json);
}

static void preset_json(const struct ll_dram *dram, struct ll_json *json)
{
    const struct ll_dram_cycles *c = &dram->cycles;
    const struct {
        const char *key;
        uint32_t value;
    } counts[] = {{"bus_bits", dram->bus_bits},
                  {"burst_bytes", ll_dram_burst_bytes(dram)},
                  {"bank_groups", dram->groups},
                  {"banks", dram->groups * dram->banks},
                  {"row_bytes", dram->row_bytes},
                  {"burst_cycles", dram->burst_cycles},
                  {"cl", c->cl},
                  {"cwl", c->cwl},
                  {"rcd", c->rcd},
                  {"rp", c->rp},
                  {"ras", c->ras},
                  {"ccd_s", c->ccd_s},
                  {"ccd_l", c->ccd_l},
                  {"rrd_s", c->rrd_s},
                  {"rrd_l", c->rrd_l},
                  {"faw", c->faw},
                  {"wr", c->wr},
                  {"wtr_s", c->wtr_s},
                  {"wtr_l", c->wtr_l},
                  {"rtp", c->rtp},
                  {"rfc", c->rfc},
                  {"refi", c->refi}};
    ll_json_put_text(json, "name", dram->name);
    ll_json_put_number(json, "transfers_hz", dram->transfers_hz);
    ll_json_put_number(json, "clock_hz", ll_dram_clock_hz(dram));
    ll_json_put_number(json, "channel_Bps", ll_dram_channel_Bps(dram));
    ll_json_put_number(json, "stream_efficiency", ll_dram_stream_efficiency(dram));
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++)
        ll_json_put_count(json, counts[i].key, counts[i].value);
    ll_json_put_text(json, "source", dram->source);
}

static int list_json(void)
{
    size_t count;
    const struct ll_dram *all = ll_dram_presets(&count);
    struct ll_str out = {0};
    struct ll_json json = {.out = &out, .indent = true};
    ll_json_open_object(&json);
    ll_json_key(&json, "presets");
    ll_json_open_list(&json);
    for (size_t i = 0; i < count; i++) {
        ll_json_open_object(&json);
        preset_json(&all[i], &json);
        ll_json_close_object(&json);
    }
    ll_json_close_list(&json);
    ll_json_close_object(&json);
    return ll_print(&out);
}

static int list_text(void)
{
    size_t count;
    const struct ll_dram *all = ll_dram_presets(&count);
    struct ll_table *table =
        ll_table_new("preset|>MT/s|>bits|>a channel|?>banks|?>row|>streams|>64 B rows|source");
    for (size_t i = 0; i < count; i++) {
        struct ll_dram_pattern rows = {.bytes = 64};
        struct ll_dram_estimate estimate;
        struct ll_human bandwidth, row, stream, scattered;
        ll_dram_estimate(&all[i], 1, &rows, &estimate);
        ll_table_row(table, "%s|%.0f|%" PRIu32 "|%s|%" PRIu32 "|%s|%s|%s|%s", all[i].name,
                     all[i].transfers_hz / 1e6, all[i].bus_bits,
                     ll_format_si(&bandwidth, ll_dram_channel_Bps(&all[i]), "B/s"),
                     all[i].groups * all[i].banks, ll_format_binary(&row, all[i].row_bytes),
                     ll_format_percent(&stream, ll_dram_stream_efficiency(&all[i])),
                     ll_format_percent(&scattered, estimate.efficiency), all[i].source);
    }
    struct ll_str out = {0};
    ll_table_print(table, ll_screen_width(), &out);
    ll_table_free(table);
    return ll_print(&out);
}

static int show_json(const struct asked *asked)
{
    struct ll_str out = {0};
    struct ll_json json = {.out = &out, .indent = true};
    bool right = true;
    ll_json_open_object(&json);
    preset_json(asked->dram, &json);
    ll_json_put_count(&json, "channels", asked->channels);
    ll_json_put_number(&json, "peak_Bps", ll_dram_channel_Bps(asked->dram) * (double)asked->channels);
    ll_json_key(&json, "patterns");
    ll_json_open_list(&json);
    for (size_t i = 0; i < asked->count && right; i++) {
        struct answer answer;
        right = find_answer(asked, i, &answer);
        if (right)
            answer_json(asked->texts[i], &answer, &json);
    }
    ll_json_close_list(&json);
    ll_json_close_object(&json);
    if (right)
        return ll_print(&out);
    ll_str_release(&out);
    return ll_cli_fail("memory ran out");
}

static int show_text(const struct asked *asked)
{
    struct ll_table *table =
        ll_table_new("  pattern|>simple|>timed|>bandwidth|?>row hits|?>misses|?>conflicts|?>refresh");
    bool right = true;
    for (size_t i = 0; i < asked->count && right; i++) {
        struct answer answer;
        char text[64];
        snprintf(text, sizeof text, "  %s", asked->texts[i]);
        right = find_answer(asked, i, &answer);
        if (right)
            answer_row(asked, text, &answer, table);
    }
    struct ll_str out = {0};
    struct ll_human peak;
    ll_str_addf(&out, "%s, %" PRIu64 " channel%s of %" PRIu32 " bits, %s at the most\n\n", asked->dram->name,
                asked->channels, ll_plural(asked->channels), asked->dram->bus_bits,
                ll_format_si(&peak, ll_dram_channel_Bps(asked->dram) * (double)asked->channels, "B/s"));
    ll_table_print(table, ll_screen_width(), &out);
    ll_table_free(table);
    if (right)
        return ll_print(&out);
    ll_str_release(&out);
    return ll_cli_fail("memory ran out");
}

/* The patterns asked for, or the usual ones. False after saying which is none. */
static bool take_patterns(const struct ll_args *args, struct asked *asked)
{
    const char **texts = ll_alloc(args->arena, args->given_count, sizeof *texts);
    asked->texts = texts ? texts : usual;
    for (const char *text; texts && (text = ll_value_at(args, "pattern", asked->count)) != NULL;) {
        struct ll_dram_pattern pattern;
        if (!read_pattern(text, &pattern)) {
            ll_cli_reject(
                "no pattern `%s`; expected stream, rows:BYTES or sweep:BYTES:STRIDE with a stride of at "
                "least the bytes, both up to %" PRIu64 "; append :SHARE for the share of writes, from 0 to 1",
                text, most_bytes);
            return false;
        }
        texts[asked->count++] = text;
    }
    if (asked->count == 0) {
        asked->texts = usual;
        asked->count = sizeof usual / sizeof usual[0];
    }
    return true;
}

static int unknown_preset(const char *word, struct ll_arena *arena)
{
    size_t count;
    const struct ll_dram *all = ll_dram_presets(&count);
    const char **names = ll_alloc(arena, count, sizeof *names);
    for (size_t i = 0; names && i < count; i++)
        names[i] = all[i].name;
    return ll_cli_reject_unknown("kind of memory", word, names, names ? count : 0, "leadline dram");
}

static int run(const struct ll_args *args)
{
    struct asked asked = {0};
    bool as_json = ll_flag(args, "json");
    if (!args->word_count && (ll_flag(args, "pattern") || ll_flag(args, "channels")))
        return ll_cli_reject(
            "--pattern and --channels need a kind of memory; name it, as in leadline dram hbm2");
    if (!args->word_count)
        return as_json ? list_json() : list_text();
    asked.dram = ll_dram_find(args->words[0]);
    if (!asked.dram)
        return unknown_preset(args->words[0], args->arena);
    if (!ll_value_count(args, "channels", 1, LL_DRAM_MOST_CHANNELS, 1, &asked.channels) ||
        !take_patterns(args, &asked))
        return LL_WRONG;
    return as_json ? show_json(&asked) : show_text(&asked);
}

static const struct ll_option options[] = {
    {"channels", 0, "N", "number of channels, each with banks of its own (default: 1)"},
    {"pattern", 0, "PATTERN",
     "stream, rows:BYTES or sweep:BYTES:STRIDE, with :SHARE behind it for the share of writes, from 0 to 1 "
     "(default: 0); again for more (default: several of each)"},
    {0},
};

const struct ll_command ll_command_dram = {
    .name = "dram",
    .synopsis = "[PRESET]",
    .summary = "list kinds of DRAM, and what access patterns reach on one",
    .examples = "  leadline dram\n  leadline dram hbm2 --channels 16\n"
                "  leadline dram ddr4-2400 --pattern rows:512 --pattern sweep:4:64:0.5 --json\n",
    .details = "Compares two efficiencies, both as bytes asked for over what the peak bandwidth would move: "
               "by a closed form (simple), which machine files and costs use, and by a simulation of every "
               "command to every bank (timed). The pattern rows picks rows of BYTES at random from a table "
               "of 16 GiB; sweep takes BYTES at each STRIDE. A channel has commands and banks of its own: a "
               "pseudo channel of HBM, half a module of DDR5.\n",
    .options = options,
    .repeated = (const char *const[]){"pattern", NULL},
    .most_words = 1,
    .run = run,
};
