/* SPDX-License-Identifier: Apache-2.0 */
/* leadline cache: the addresses of one op, through the caches of a machine. leadline dram: a file of
 * addresses on a DRAM. Both report what the DRAM did with its bursts. */
#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/cli/command.h"
#include "sim/cli/load.h"
#include "sim/memory/dram.h"
#include "sim/replay/cached.h"
#include "sim/report/table.h"
#include "tracer/base/arena.h"
#include "tracer/base/file.h"
#include "tracer/base/json.h"
#include "tracer/base/str.h"

/* So many of its bursts as a share of all; 0 where there are none. */
static double share_of_bursts(const struct ll_dram_result *timed, uint64_t part)
{
    return timed->bursts ? (double)part / (double)timed->bursts : 0;
}

/* The keys bursts, row_hits, row_misses, row_conflicts and refreshes of an open object. */
static void bursts_json(const struct ll_dram_result *timed, struct ll_json *json)
{
    ll_json_put_count(json, "bursts", timed->bursts);
    ll_json_put_count(json, "row_hits", timed->hits);
    ll_json_put_count(json, "row_misses", timed->misses);
    ll_json_put_count(json, "row_conflicts", timed->conflicts);
    ll_json_put_count(json, "refreshes", timed->refreshes);
}

/* leadline cache: one op's loops, address by address, through a machine's caches and its DRAM; with
 * --accesses the accesses to memory go into a file (first section). */

/* What is asked of memory as a file: for each 64 bytes of an access a line with LD or ST and the address, as
 * load-store traces of Ramulator 2 have it. */

struct ll_access_file;

enum { LINE_BYTES = 64 };

struct ll_access_file {
    const char *path, *part;
    FILE *stream;
    int error; /* the first one, as errno */
};

/* One that takes the place of `path` when it is closed; in the arena. NULL after saying what is wrong. */
static struct ll_access_file *access_file_open(const char *path, struct ll_arena *arena)
{
    if (!ll_may_replace(path))
        return NULL;
    struct ll_access_file *file = ll_alloc(arena, 1, sizeof *file);
    const char *part = file ? ll_path_beside(arena, path) : NULL;
    FILE *stream = part ? fopen(part, "w") : NULL;
    if (!stream) {
        ll_cli_fail("%s: %s", path, part ? strerror(errno) : "memory ran out");
        return NULL;
    }
    *file = (struct ll_access_file){.path = path, .part = part, .stream = stream};
    return file;
}

/* Adds an access to the file; an ll_cache_listener. */
static void access_file_add(void *context, uint64_t address, uint64_t bytes, bool write)
{
    struct ll_access_file *file = context;
    for (uint64_t at = address; at < address + bytes && !file->error; at += LINE_BYTES)
        if (fprintf(file->stream, "%s 0x%" PRIx64 "\n", write ? "ST" : "LD", at) < 0)
            file->error = errno;
}

/* Whether nothing was lost so far. */
static bool access_file_is_well(const struct ll_access_file *file)
{
    return !file->error;
}

/* Ends the file, which is kept if it is done and all of it could be written; what was there stays otherwise.
 * False after saying what could not be written. */
static bool access_file_close(struct ll_access_file *file, bool done)
{
    if (fclose(file->stream) != 0 && !file->error)
        file->error = errno;
    enum ll_status kept = ll_path_keep(file->part, file->path, done && !file->error);
    if (file->error)
        ll_cli_fail("%s: %s", file->path, strerror(file->error));
    else if (kept != LL_OK)
        ll_cli_fail("%s: %s", file->path, ll_status_text(kept));
    return !file->error && kept == LL_OK;
}

/* leadline cache: one op's loops, address by address, through a machine's caches and its DRAM. */

/* Sizes of a level's shape for the table: "64 x 8 x 64 B". */
static const char *shape_text(struct ll_arena *arena, const struct ll_cache_level *shape)
{
    const char *text = ll_format(arena, "%" PRIu64 " x %" PRIu64 " x %" PRIu64 " B", shape->sets, shape->ways,
                                 shape->line_bytes);
    return text ? text : "";
}

struct shown {
    const struct ll_args *args;
    const struct ll_machine *machine;
    const struct ll_prepared *prepared;
    uint32_t seq;
    const struct ll_cached_op *cached;
};

static const char *level_name(const struct shown *shown, size_t i)
{
    return shown->machine->levels[shown->cached->levels[i].level].name;
}

/* The level outside a cache, whose traffic the formulas speak of. */
static const char *outer_name(const struct shown *shown, size_t i)
{
    return shown->machine->levels[shown->cached->levels[i].level + 1].name;
}

static void title(const struct shown *shown, struct ll_str *out)
{
    const struct ll_trace *trace = shown->prepared->trace;
    const struct ll_op_signature *signature = &trace->signatures[trace->ops[shown->seq].signature];
    const struct ll_tiling *tiling = &shown->cached->tiling;
    const char *scope = trace->strings[signature->scope];
    uint64_t level = shown->cached->levels[shown->cached->blocked_for].level;
    struct ll_human accesses;
    struct ll_str line = {0};
    ll_str_addf(out, "op %" PRIu32 ", %s%s%s, on %s\n", shown->seq, trace->strings[signature->kind_name],
                *scope ? " in " : "", scope, shown->machine->stem);
    if (shown->cached->blocked)
        ll_str_addf(&line,
                    "blocked for %s of %s: %s stays in blocks of %" PRIu64 " x %" PRIu64 " x %" PRIu64 "; ",
                    shown->machine->levels[level].buffering == LL_BUFFER_DOUBLE ? "half" : "all",
                    level_name(shown, shown->cached->blocked_for), ll_stays_name(tiling->stays),
                    tiling->block.m, tiling->block.n, tiling->block.k);
    ll_str_addf(&line, "%s%s accesses of one unit that does it alone",
                shown->cached->whole ? "" : "the first ",
                ll_format_grouped(&accesses, shown->cached->accesses));
    ll_end_line(&line, ll_screen_width(), out);
}

static bool prefetches(const struct ll_cached_op *cached)
{
    bool any = false;
    for (size_t i = 0; i < cached->level_count; i++)
        any |= cached->levels[i].shape.prefetch != LL_PREFETCH_NONE;
    return any;
}

/* "7 of 8", where any level fetches ahead. */
static const char *foreseen_text(const struct shown *shown, const struct ll_cache_counts *counts)
{
    struct ll_human useful, ahead;
    if (!prefetches(shown->cached))
        return "";
    const char *text = ll_format(shown->args->arena, "%s of %s", ll_format_grouped(&useful, counts->useful),
                                 ll_format_grouped(&ahead, counts->prefetches));
    return text ? text : "";
}

static void add_rows(const struct shown *shown, struct ll_table *table)
{
    for (size_t i = 0; i < shown->cached->level_count; i++) {
        const struct ll_cached_level *level = &shown->cached->levels[i];
        const struct ll_cache_counts *c = &level->counts;
        struct ll_human accesses, misses, rate, evictions, backs, traffic;
        double share = c->accesses ? (double)c->misses / (double)c->accesses : 0;
        ll_table_row(table, "  %s|%s|%s|%s|%s|%s|%s|%s|%s|%s", level_name(shown, i),
                     shape_text(shown->args->arena, &level->shape), ll_cache_policy_name(level->shape.policy),
                     ll_format_grouped(&accesses, c->accesses), ll_format_grouped(&misses, c->misses),
                     ll_format_percent(&rate, share), ll_format_grouped(&evictions, c->evictions),
                     ll_format_grouped(&backs, c->write_backs),
                     ll_format_si(&traffic, (double)level->traffic_bytes, "B"), foreseen_text(shown, c));
    }
}

static void compare(const struct shown *shown, struct ll_str *out)
{
    assert(shown->cached->blocked_for < shown->cached->level_count);
    const struct ll_cached_op *cached = shown->cached;
    const char *outer = outer_name(shown, cached->blocked_for);
    double traffic = (double)cached->levels[cached->blocked_for].traffic_bytes;
    struct ll_human formula, found;
    if (cached->whole)
        ll_str_addf(out, "\n  out of %s and back: formula %s, caches %s, %.3f times as much\n", outer,
                    ll_format_si(&formula, cached->formula_bytes, "B"), ll_format_si(&found, traffic, "B"),
                    traffic / cached->formula_bytes);
    else
        ll_str_addf(out, "\n  out of %s and back: formula %s for the whole op, of which this is a part\n",
                    outer, ll_format_si(&formula, cached->formula_bytes, "B"));
}

static const struct ll_level *memory_level(const struct shown *shown)
{
    return &shown->machine->levels[shown->cached->memory.level];
}

/* What the memory does with what the last cache asks of it. */
static void print_memory(const struct shown *shown, struct ll_str *out)
{
    const struct ll_cached_memory *memory = &shown->cached->memory;
    const struct ll_dram_result *timed = &memory->timed;
    const struct ll_level *level = memory_level(shown);
    struct ll_human read, written, time, bandwidth, reached, formula, open, closed, other;
    struct ll_str line = {0};
    if (!level->dram)
        return;
    ll_str_addf(&line, "%s is asked to read %s and to write %s", level->name,
                ll_format_si(&read, (double)memory->read_bytes, "B"),
                ll_format_si(&written, (double)memory->written_bytes, "B"));
    if (memory->is_timed && timed->bursts)
        ll_str_addf(
            &line,
            "; %s on %" PRIu64 " channel%s takes at least %s: %s, %s of the peak, where the formula has %s; "
            "rows found open %s, closed %s, another one open %s",
            level->dram, level->channels, level->channels == 1 ? "" : "s",
            ll_format_si(&time, timed->time_s, "s"), ll_format_si(&bandwidth, timed->moved_Bps, "B/s"),
            ll_format_percent(&reached, memory->efficiency),
            ll_format_percent(&formula, memory->formula_efficiency),
            ll_format_percent(&open, share_of_bursts(timed, timed->hits)),
            ll_format_percent(&closed, share_of_bursts(timed, timed->misses)),
            ll_format_percent(&other, share_of_bursts(timed, timed->conflicts)));
    else if (!memory->is_timed)
        ll_str_addf(&line, "; its %" PRIu64 " channels are more than the %d that can be timed",
                    level->channels, LL_DRAM_MOST_CHANNELS);
    ll_end_line(&line, ll_screen_width(), out);
}

static int show(const struct shown *shown)
{
    struct ll_str out = {0};
    struct ll_table *table = ll_table_new(
        "  level|?sets x ways x line|?policy|>accesses|>misses|>of them|?>evictions|?>write-backs|"
        ">traffic|?>useful prefetches");
    title(shown, &out);
    add_rows(shown, table);
    ll_str_add(&out, "\n");
    ll_show_table(table, &out);
    compare(shown, &out);
    print_memory(shown, &out);
    return ll_print(&out);
}

static void level_json(const struct shown *shown, size_t i, struct ll_json *json)
{
    assert(i < shown->cached->level_count);
    const struct ll_cached_level *level = &shown->cached->levels[i];
    const struct ll_cache_counts *c = &level->counts;
    ll_json_open_object(json);
    ll_json_put_text(json, "name", level_name(shown, i));
    ll_json_put_count(json, "sets", level->shape.sets);
    ll_json_put_count(json, "ways", level->shape.ways);
    ll_json_put_count(json, "line_bytes", level->shape.line_bytes);
    ll_json_put_text(json, "policy", ll_cache_policy_name(level->shape.policy));
    ll_json_put_count(json, "accesses", c->accesses);
    ll_json_put_count(json, "hits", c->hits);
    ll_json_put_count(json, "misses", c->misses);
    ll_json_put_count(json, "evictions", c->evictions);
    ll_json_put_count(json, "invalidations", c->invalidations);
    ll_json_put_count(json, "write_backs", c->write_backs);
    ll_json_put_count(json, "passed_writes", c->passed_writes);
    ll_json_put_count(json, "prefetches", c->prefetches);
    ll_json_put_count(json, "prefetches_useful", c->useful);
    ll_json_put_count(json, "prefetches_useless", c->useless);
    ll_json_put_count(json, "traffic_bytes", level->traffic_bytes);
    ll_json_close_object(json);
}

static void memory_json(const struct shown *shown, struct ll_json *json)
{
    const struct ll_cached_memory *memory = &shown->cached->memory;
    const struct ll_level *level = memory_level(shown);
    ll_json_key(json, "memory");
    ll_json_open_object(json);
    ll_json_put_text(json, "name", level->name);
    ll_json_put_text(json, "dram", level->dram);
    ll_json_put_count(json, "read_bytes", memory->read_bytes);
    ll_json_put_count(json, "written_bytes", memory->written_bytes);
    if (memory->is_timed) {
        ll_json_put_count(json, "channels", level->channels);
        ll_json_put_number(json, "time_s", memory->timed.time_s);
        ll_json_put_number(json, "moved_Bps", memory->timed.moved_Bps);
        ll_json_put_number(json, "timed_efficiency", memory->efficiency);
        ll_json_put_number(json, "formula_efficiency", memory->formula_efficiency);
        bursts_json(&memory->timed, json);
        ll_json_put_count(json, "turns", memory->timed.turns);
    }
    ll_json_close_object(json);
}

static int show_json(const struct shown *shown)
{
    assert(shown->seq < shown->prepared->trace->op_count);
    const struct ll_trace *trace = shown->prepared->trace;
    const struct ll_op_signature *signature = &trace->signatures[trace->ops[shown->seq].signature];
    const struct ll_cached_op *cached = shown->cached;
    struct ll_str out = {0};
    struct ll_json json = {.out = &out, .indent = true};
    ll_json_open_document(&json, "cache", 1);
    ll_json_put_text(&json, "trace", shown->args->words[0]);
    ll_json_put_text(&json, "machine", shown->machine->stem);
    ll_json_put_count(&json, "seq", shown->seq);
    ll_json_put_text(&json, "kind", trace->strings[signature->kind_name]);
    ll_json_put_text(&json, "scope", trace->strings[signature->scope]);
    ll_json_put_text(&json, "blocked_for", level_name(shown, cached->blocked_for));
    ll_json_put_text(&json, "stays", cached->blocked ? ll_stays_name(cached->tiling.stays) : NULL);
    ll_json_put_count(&json, "block_m", cached->tiling.block.m);
    ll_json_put_count(&json, "block_n", cached->tiling.block.n);
    ll_json_put_count(&json, "block_k", cached->tiling.block.k);
    ll_json_put_count(&json, "accesses", cached->accesses);
    ll_json_put_bool(&json, "whole", cached->whole);
    ll_json_put_number(&json, "formula_bytes", cached->formula_bytes);
    ll_json_put_count(&json, "cached_bytes", cached->levels[cached->blocked_for].traffic_bytes);
    ll_json_key(&json, "levels");
    ll_json_open_list(&json);
    for (size_t i = 0; i < cached->level_count; i++)
        level_json(shown, i, &json);
    ll_json_close_list(&json);
    memory_json(shown, &json);
    ll_json_close_object(&json);
    return ll_print(&out);
}

/* The level that the command line names, or the outermost cache. */
static int pick_level(const struct ll_args *args, const struct ll_machine *machine, uint64_t *level)
{
    const char *names[LL_MAX_LEVELS], *asked = ll_value(args, "level", NULL);
    size_t count = 0;
    for (uint64_t i = 0; i < machine->level_count; i++) {
        if (!machine->levels[i].cache_given)
            continue;
        names[count++] = machine->levels[i].name;
        if (!asked || strcmp(asked, machine->levels[i].name) == 0) {
            *level = i;
            if (asked)
                return LL_DONE;
        }
    }
    if (count == 0)
        return ll_cli_reject(
            "%s describes no cache: give a memory level one, as in --set memory.%s.cache.ways=8",
            machine->stem, machine->levels[0].name);
    return asked ? ll_cli_reject_unknown("cache", asked, names, count,
                                         ll_format(args->arena, "leadline machines %s", machine->stem))
                 : LL_DONE;
}

/* The op must be one of those that are replayed, and have loops. */
static int pick_op(const struct ll_args *args, const struct ll_prepared *prepared, uint32_t *seq)
{
    const struct ll_trace *trace = prepared->trace;
    uint64_t asked;
    if (!ll_value(args, "op", NULL))
        return ll_cli_reject("no op: name one with --op SEQ; leadline sim --per-op lists them");
    if (!ll_value_count(args, "op", prepared->first_op, prepared->end_op - 1, 0, &asked))
        return LL_WRONG;
    *seq = (uint32_t)asked;
    const char *kind = trace->strings[trace->signatures[trace->ops[*seq].signature].kind_name];
    if (!ll_has_loops(prepared, *seq))
        return ll_cli_reject("op %" PRIu32 ", %s, goes through no cache: it has no loops over memory", *seq,
                             kind);
    if (!ll_has_whole_bytes(prepared, *seq))
        return ll_cli_reject("op %" PRIu32
                             ", %s, has elements of half a byte, which have no addresses of their own",
                             *seq, kind);
    assert(*seq >= prepared->first_op && *seq < prepared->end_op);
    return LL_DONE;
}

struct watch {
    struct ll_ticker ticker;
    const volatile sig_atomic_t *interrupted;
    struct ll_access_file *file; /* or NULL */
};

static bool goes_on(void *context, uint64_t accesses)
{
    struct watch *watch = context;
    struct ll_human text;
    ll_ticker_tell(&watch->ticker, "cache", NAN, NAN, "%s accesses", ll_format_grouped(&text, accesses));
    return !*watch->interrupted && (!watch->file || access_file_is_well(watch->file));
}

/* Runs it, and shows what it gave, of a part if it was interrupted. */
static int run_and_show(struct shown *shown, uint64_t level, uint64_t most)
{
    struct ll_cached_op cached;
    const char *path = ll_value(shown->args, "accesses", NULL);
    struct watch watch = {.ticker = ll_ticker_new(true)};
    if (path && !(watch.file = access_file_open(path, shown->args->arena)))
        return LL_FAILED;
    watch.interrupted = ll_catch_interrupts();
    bool done = ll_run_cached(shown->prepared, shown->machine,
                              &(struct ll_cached_request){.seq = shown->seq,
                                                          .level = level,
                                                          .most = most,
                                                          .progress = goes_on,
                                                          .progress_context = &watch,
                                                          .listener = path ? access_file_add : NULL,
                                                          .listener_context = watch.file},
                              &cached);
    ll_ticker_clear(&watch.ticker);
    if (watch.file && !access_file_close(watch.file, done))
        return LL_FAILED;
    if (!done)
        return ll_cli_fail("memory ran out");
    shown->cached = &cached;
    int status = ll_flag(shown->args, "json") ? show_json(shown) : show(shown);
    return status == LL_DONE && *watch.interrupted ? LL_INTERRUPTED : status;
}

/* A cache does not ask whose a line is. */
static void say_what_passes(const struct ll_machine *machine)
{
    for (uint64_t i = 0; i < machine->level_count; i++)
        if (machine->levels[i].cache_given && !ll_level_holds_all(&machine->levels[i]))
            ll_cli_tell(
                "%s: `holds` of %s is left out, here and in the formula beside it: every operand goes "
                "through this cache\n",
                machine->stem, machine->levels[i].name);
}

static int run_op(const struct ll_args *args, const struct ll_machine *machine, const struct ll_trace *trace)
{
    struct ll_diags diags = {0};
    uint64_t level = 0, most;
    struct shown shown = {.args = args, .machine = machine};
    int status = pick_level(args, machine, &level);
    if (status != LL_DONE || !ll_value_count(args, "most", 1, UINT64_MAX - 1, 10000000000, &most))
        return LL_WRONG;
    shown.prepared = ll_prepare(trace, args->arena, &diags);
    ll_print_diags(&diags);
    status = shown.prepared ? LL_DONE : diags.count ? LL_WRONG : ll_cli_fail("memory ran out");
    ll_diags_release(&diags);
    if (status == LL_DONE)
        status = pick_op(args, shown.prepared, &shown.seq);
    if (status != LL_DONE)
        return status;
    say_what_passes(machine);
    return run_and_show(&shown, level, most);
}

static int run(const struct ll_args *args)
{
    const char *const *folders = ll_machine_folders(args->arena);
    const char *which = ll_value(args, "machine", NULL);
    size_t override_count;
    const struct ll_override *overrides = ll_read_overrides(args, &override_count);
    if (!which)
        return ll_cli_reject("no machine: name one with -c; leadline machines lists them");
    if (!folders || !overrides)
        return LL_WRONG;
    struct ll_machine *machine = ll_load_machine(which, folders, overrides, override_count);
    if (!machine)
        return LL_WRONG;
    int status;
    struct ll_trace *trace = ll_load_trace(args->words[0], &status);
    if (trace)
        status = run_op(args, machine, trace);
    ll_trace_free(trace);
    ll_machine_free(machine);
    return status;
}

static const struct ll_option options[] = {
    {"machine", 'c', "MACHINE", "a machine with caches: a YAML file or a name that leadline machines lists"},
    {"set", 0, "PATH=VALUE", "change a value of the machine, as in --set memory.l1.cache.policy=fifo"},
    {"op", 0, "SEQ", "the op, by its number in leadline sim --per-op"},
    {"level", 0, "NAME", "the cache for which the op's loops are blocked (default: the outermost)"},
    {"most", 0, "COUNT", "stop after this many accesses (default: 10000000000)"},
    {"accesses", 0, "FILE",
     "write what memory is asked, a line for each 64 bytes (LD 0x1fc0), as Ramulator 2 reads it"},
    {0},
};

const struct ll_command ll_command_cache = {
    .name = "cache",
    .rows = "levels",
    .cuts_tables = true,
    .synopsis = "-c MACHINE --op SEQ TRACE",
    .summary = "run the memory accesses of one op through a machine's caches and DRAM",
    .examples =
        "  leadline cache -c i7_6700k --op 23 alexnet.llt\n"
        "  leadline cache -c i7_6700k --op 23 --level l2 --set memory.l2.cache.prefetch=stride alexnet.llt\n",
    .details =
        "leadline sim derives traffic by formula, for the best blocking of an op. This command runs the op's "
        "loops in that blocking, one access after the other, through each memory level that has a `cache`, "
        "and compares what the caches moved with the formula. It simulates hundreds of millions of accesses "
        "per second that hit the first cache, tens of millions that go through several; "
        "a GEMM has two or three per multiply-accumulate. Every operand goes through every cache, "
        "also where `holds` of its level says that some pass by.\n"
        "\n"
        "What the last cache asks is played, command by command, on the memory outside of it, where that "
        "has a `dram`, as fast as it can serve: so the last line tells how much of its bandwidth an op that "
        "asks in this order can have at best, beside what the formula reckons with.\n"
        "\n"
        "The two differ for known reasons. A cache fetches a line before it is written (unless it writes "
        "around), where the formula counts a new result as written only: caches move up to one result more, "
        "a relu half as much again. The formula counts elements, where caches move whole lines and lose "
        "lines to others of the same set: a convolution whose taps lie powers of two apart shows why kernels "
        "pack their operands.\n",
    .options = options,
    .repeated = (const char *const[]){"set", NULL},
    .writes = (const char *const[]){"accesses", NULL},
    .reads = (const char *const[]){"machine", NULL},
    .least_words = 1,
    .most_words = 1,
    .run = run,
};

/* leadline dram [PRESET]: kinds of dynamic memory, and how much of one's peak a pattern of accesses has. */

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
    assert(i < asked->count && asked->channels > 0);
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
                 ll_format_percent(&hits, share_of_bursts(&a->timed, a->timed.hits)),
                 ll_format_percent(&misses, share_of_bursts(&a->timed, a->timed.misses)),
                 ll_format_percent(&conflicts, share_of_bursts(&a->timed, a->timed.conflicts)),
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
    bursts_json(&a->timed, json);
    ll_json_put_number(json, "refresh_share", a->timed.refresh_share);
    ll_json_put_count(json, "turns", a->timed.turns);
    ll_json_put_count(json, "cycles", a->timed.cycles);
    ll_json_close_object(json);
}

/* `energy` of a preset of which something is published; of a channel. */
static void energy_json(const struct ll_dram *dram, struct ll_json *json)
{
    struct ll_dram_energy energy;
    if (!ll_dram_energy(dram, &energy))
        return;
    ll_json_key(json, "energy");
    ll_json_open_object(json);
    ll_json_put_number(json, "stream_pj_per_byte", ll_dram_stream_j(dram, LL_DRAM_STANDBY) * 1e12);
    if (energy.byte_j == 0) {
        ll_json_put_number(json, "read_pj_per_byte", energy.read_j * 1e12);
        ll_json_put_number(json, "write_pj_per_byte", energy.write_j * 1e12);
        ll_json_put_number(json, "activate_pj", energy.activate_j * 1e12);
        ll_json_put_number(json, "active_w", energy.active_w);
        ll_json_put_number(json, "standby_w", energy.rest_w[LL_DRAM_STANDBY]);
        ll_json_put_number(json, "power_down_w", energy.rest_w[LL_DRAM_POWER_DOWN]);
        ll_json_put_number(json, "self_refresh_w", energy.rest_w[LL_DRAM_SELF_REFRESH]);
    }
    ll_json_put_text(json, "source", energy.source);
    ll_json_close_object(json);
}

static void energy_text(const struct ll_dram *dram, struct ll_str *out)
{
    struct ll_dram_energy e;
    if (!ll_dram_energy(dram, &e))
        return;
    ll_str_addf(out, "\n  energy: %.3g pJ/B of a stream", ll_dram_stream_j(dram, LL_DRAM_STANDBY) * 1e12);
    if (e.byte_j == 0) {
        struct ll_human opening, standby, down, self;
        ll_str_addf(out, " (%.3g reading, or %.3g writing; rows and standing active beside it)\n",
                    e.read_j * 1e12, e.write_j * 1e12);
        ll_str_addf(
            out, "  opening a row: %s; a channel at rest: %s in standby, %s powered down, %s in self-refresh",
            ll_format_si(&opening, e.activate_j, "J"), ll_format_si(&standby, e.rest_w[LL_DRAM_STANDBY], "W"),
            ll_format_si(&down, e.rest_w[LL_DRAM_POWER_DOWN], "W"),
            ll_format_si(&self, e.rest_w[LL_DRAM_SELF_REFRESH], "W"));
    }
    ll_str_addf(out, "\n  by %s\n", e.source);
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
    energy_json(dram, json);
}

static int list_json(void)
{
    size_t count;
    const struct ll_dram *all = ll_dram_presets(&count);
    struct ll_str out = {0};
    struct ll_json json = {.out = &out, .indent = true};
    ll_json_open_document(&json, "dram_presets", 1);
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
    ll_show_table(table, &out);
    return ll_print(&out);
}

static int dram_show_json(const struct asked *asked)
{
    struct ll_str out = {0};
    struct ll_json json = {.out = &out, .indent = true};
    bool right = true;
    ll_json_open_document(&json, "dram", 1);
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
    ll_show_table(table, &out);
    energy_text(asked->dram, &out);
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

static int dram_run(const struct ll_args *args)
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
    return as_json ? dram_show_json(&asked) : show_text(&asked);
}

static const struct ll_option dram_options[] = {
    {"channels", 0, "N", "number of channels, each with banks of its own (default: 1)"},
    {"pattern", 0, "PATTERN",
     "stream, rows:BYTES or sweep:BYTES:STRIDE, with :SHARE behind it for the share of writes, from 0 to 1 "
     "(default: 0); again for more (default: several of each)"},
    {0},
};

const struct ll_command ll_command_dram = {
    .name = "dram",
    .rows = "patterns|presets",
    .cuts_tables = true,
    .synopsis = "[PRESET]",
    .summary = "list kinds of DRAM, and what access patterns reach on one",
    .examples = "  leadline dram\n  leadline dram hbm2 --channels 16\n"
                "  leadline dram ddr4-2400 --pattern rows:512 --pattern sweep:4:64:0.5 --json\n",
    .details = "Compares two efficiencies, both as bytes asked for over what the peak bandwidth would move: "
               "by a closed form (simple), which machine files and costs use, and by a simulation of every "
               "command to every bank (timed). The pattern rows picks rows of BYTES at random from a table "
               "of 16 GiB; sweep takes BYTES at each STRIDE. A channel has commands and banks of its own: a "
               "pseudo channel of HBM, half a module of DDR5.\n",
    .options = dram_options,
    .repeated = (const char *const[]){"pattern", NULL},
    .most_words = 1,
    .run = dram_run,
};
