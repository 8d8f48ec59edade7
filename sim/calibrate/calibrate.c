/* SPDX-License-Identifier: Apache-2.0 */
/* The machine is written as its file would be and then read, so that it is checked as any other.
 *
 * The caches of single cores are two kinds of level here. The first is private. The others are described as
 * one memory as large as all of them, at the rate of all of them, since threads have the same part of each op
 * and find there what they left themselves. */
#include "sim/calibrate/calibrate.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/memory/residency.h"
#include "tracer/base/str.h"

struct header {
    const struct ll_trace *trace;
    struct ll_diags *diags;
    bool whole;
};

/* A figure of the header; 1 after complaining that there is none. */
static double figure(struct header *header, const char *key)
{
    double value = ll_trace_number(header->trace, key, 0);
    if (value > 0)
        return value;
    header->whole = ll_complain(header->diags, (struct ll_place){0},
                                "the trace has no measured `%s`: expected one of leadline calibrate", key);
    return 1;
}

/* What the header calls a fact of a level. */
struct key {
    char text[64];
};

static struct key level_key(const char *level, const char *what)
{
    struct key key;
    snprintf(key.text, sizeof key.text, "probe.%s.%s", level, what);
    return key;
}

static double level_figure(struct header *header, const char *level, const char *what)
{
    return figure(header, level_key(level, what).text);
}

static const char *level_fact(const struct header *header, const char *level, const char *what)
{
    return ll_trace_fact(header->trace, level_key(level, what).text);
}

/* Rates of one core are measured with one core at work, so that they are right on a machine that has other
 * things to do as well; what cores share is what the busiest test reached. A level is at least as large as
 * what it feeds, of which others may leave it less: then it keeps nothing more than that does. */
static void add_level(struct header *header, const char *level, const char *scope, double instances,
                      double cores, double least_bytes, struct ll_str *yaml)
{
    double alone = level_figure(header, level, "alone_Bps"),
           all = level_figure(header, level, "bandwidth_Bps");
    double size = level_figure(header, level, "size_bytes") * instances;
    double latency = level_figure(header, level, "latency_s");
    const struct ll_cache_rates rates = {level_fact(header, level, "rounds"),
                                         level_fact(header, level, "times"),
                                         level_fact(header, level, "rests")};
    struct ll_cache_share held = ll_held_of((uint64_t)fmin(size, 0x1p60), &rates);
    held.bytes = ll_max(held.bytes, (uint64_t)fmin(least_bytes, 0x1p60));
    bool by_core = cores > 1 || scope[0] == 'u';
    double bandwidth = by_core ? cores * alone : fmax(alone, fmax(all, held.Bps));
    ll_str_addf(yaml,
                "  - {name: %s, size: %" PRIu64 "B, bandwidth: %.6gB/s, unit_bandwidth: %.6gB/s, "
                "latency: %.4gns, scope: %s",
                level, held.bytes, bandwidth, alone, latency * 1e9, scope);
    double read =
        ll_trace_number(header->trace, level_key(level, by_core ? "alone_read_Bps" : "read_Bps").text, 0);
    if (read > 0)
        ll_str_addf(yaml, ", efficiency: %.4g",
                    fmin(1, fmax(cores * read, by_core ? 0 : held.Bps) / bandwidth));
    if (strcmp(level, "dram") != 0)
        ll_str_addf(yaml,
                    ", cache: {policy: %s, admission: %.4g, non_overlapping: true, affinity: %s, "
                    "invalidation: %.4gs, "
                    "corunners: %.4gB/s}",
                    ll_cache_policy_name(held.policy), held.admission, instances > 1 ? "true" : "false",
                    ll_trace_number(header->trace, level_key(level, "invalidation_s").text, 0),
                    held.corunners_Bps);
    ll_str_addf(yaml, "}\n");
}

static bool has_level(const struct header *header, const char *level)
{
    return level_fact(header, level, "size_bytes") != NULL;
}

static void add_units(struct header *header, double threads, double clock, struct ll_str *yaml)
{
    enum { LANES = 16 };
    double vector_f32 = figure(header, "probe.vector.f32"), vector_f64 = figure(header, "probe.vector.f64");
    double product_f32 = fmax(figure(header, "probe.product.f32"), vector_f32);
    double product_f64 = fmax(figure(header, "probe.product.f64"), vector_f64);
    ll_str_addf(
        yaml,
        "units:\n"
        "  - {name: blas, model: matrix, count: %.0f, macs: {f32: %.4g, f64: %.4g}, runs: [matrix, conv]}\n"
        "  - {name: vector, model: vector, count: %.0f, lanes: %d, flops: {f32: %.4g, f64: %.4g}}\n",
        threads, product_f32 / (2 * clock), product_f64 / (2 * clock), threads, LANES,
        vector_f32 / (clock * LANES), vector_f64 / (clock * LANES));
}

static const char *size_note(const char *level)
{
    if (strcmp(level, "l3") == 0)
        return "; less where others use it: what was found to keep a stream";
    return strcmp(level, "l2") == 0 ? ", all cores' together: what was found to keep a stream" : "";
}

static void add_level_sources(const struct header *header, const char *level, const char *host,
                              const char *threads, struct ll_str *yaml)
{
    static const char measured[] = "measured by leadline calibrate on";
    if (level_fact(header, level, "invalidation_s"))
        ll_str_addf(yaml,
                    "  %s.cache.invalidation: \"%s %s, threads %s: writing what all threads have read\"\n",
                    level, measured, host, threads);
    if (strcmp(level, "dram") != 0)
        ll_str_addf(
            yaml,
            "  %s.cache.non_overlapping: \"assumed: a core has few lines in flight (Treibig and Hager, "
            "PPAM 2009)\"\n",
            level);
    if (level_fact(header, level, "read_Bps"))
        ll_str_addf(yaml, "  %s.efficiency: \"%s %s, threads %s: reading\"\n", level, measured, host,
                    threads);
    ll_str_addf(yaml,
                "  %s.size: \"the kernel on %s%s\"\n"
                "  %s.bandwidth: \"%s %s, threads %s: the fastest of reading, a triad and an update\"\n"
                "  %s.latency: \"%s %s: a walk along pointers\"\n",
                level, host, size_note(level), level, measured, host, threads, level, measured, host);
}

static void add_sources(const struct header *header, const char *host, const char *threads,
                        struct ll_str *yaml)
{
    const char *core = ll_trace_fact(header->trace, "blas.core");
    ll_str_addf(yaml, "sources:\n");
    static const struct {
        const char *path, *how;
    } unit_sources[] = {
        {"clock", "additions that wait for each other"},
        {"blas.count", "threads of the run"},
        {"blas.macs", "the faster of a large product by OpenBLAS and arithmetic in registers, on one core"},
        {"vector.count", "threads of the run"},
        {"vector.lanes", "assumed: what the rate is divided by, with no effect on it but for fewer elements"},
        {"vector.flops", "multiplications and additions in registers of one core"},
    };
    for (size_t i = 0; i < sizeof unit_sources / sizeof *unit_sources; i++)
        ll_str_addf(yaml, "  %s: \"measured by leadline calibrate on %s, threads %s: %s%s%s\"\n",
                    unit_sources[i].path, host, threads, unit_sources[i].how,
                    i == 2 && core ? ", kernels " : "", i == 2 && core ? core : "");
    static const char *const levels[] = {"l1", "l2", "l3", "dram"};
    for (size_t i = 0; i < sizeof levels / sizeof *levels; i++)
        if (has_level(header, levels[i]))
            add_level_sources(header, levels[i], host, threads, yaml);
}

/* How our kernels go about it. */
static void add_software(struct ll_str *yaml)
{
    ll_str_add(yaml, "software:\n  strided_data_gradient: phases\n");
}

/* The name without what would end a quoted text. */
static void plain(const char *text, char *out, size_t size)
{
    size_t length = 0;
    for (; *text && length + 1 < size; text++)
        if (*text >= ' ' && *text < 127 && *text != '"' && *text != '\\')
            out[length++] = *text;
    out[length] = 0;
}

struct ll_machine *ll_calibrate_base(const struct ll_trace *micro, struct ll_diags *diags)
{
    struct header header = {micro, diags, true};
    struct ll_str yaml = {0};
    double threads = figure(&header, "threads"), clock = figure(&header, "probe.clock_hz");
    const char *cpu = ll_trace_fact(micro, "host.cpu"), *thread_text = ll_trace_fact(micro, "threads");
    char host[128];
    plain(cpu ? cpu : "an unknown processor", host, sizeof host);
    ll_str_addf(&yaml, "name: \"%s, %.0f threads\"\nkind: cpu\nclock: %.6gHz\n", host, threads, clock);
    add_units(&header, threads, clock, &yaml);
    ll_str_add(&yaml, "memory:\n");
    double l2_bytes = has_level(&header, "l2") ? threads * level_figure(&header, "l2", "size_bytes") : 0;
    if (has_level(&header, "l1"))
        add_level(&header, "l1", "unit", 1, 1, 0, &yaml);
    if (has_level(&header, "l2"))
        add_level(&header, "l2", "device", threads, threads, 0, &yaml);
    if (has_level(&header, "l3"))
        add_level(&header, "l3", "device", 1, 1, l2_bytes, &yaml);
    add_level(&header, "dram", "device", 1, 1, 0, &yaml);
    add_software(&yaml);
    add_sources(&header, host, thread_text ? thread_text : "unknown", &yaml);
    struct ll_machine *machine = NULL;
    if (header.whole && !yaml.failed)
        machine = ll_machine_parse(yaml.text, yaml.length, "host.yaml", NULL, NULL, 0, diags);
    ll_str_release(&yaml);
    return machine;
}

enum { MOST_ROUNDS = 32, PARTS = 64, SHARES = 16, CORUNNERS = 20 };

struct pair {
    double x, Bps;
};

struct pairs {
    struct pair at[MOST_ROUNDS];
    size_t count;
};

static void read_pairs(const char *text, struct pairs *pairs)
{
    static const double least = 1, most = 1e15;
    char *end;
    pairs->count = 0;
    while (text && pairs->count < MOST_ROUNDS) {
        struct pair pair = {.x = ll_strtod(text, &end)};
        if (end == text || *end != '=')
            break;
        pair.Bps = ll_strtod(end + 1, &end);
        if (!(pair.x > 0 && pair.x <= most && pair.Bps >= least && pair.Bps <= most))
            break;
        pairs->at[pairs->count++] = pair;
        text = end;
    }
}

struct measured {
    struct pairs rounds, times, rests;
    double fastest_Bps;
};

/* How far the share that is found is from a rate: what is there comes at the fastest, the rest as when
 * nothing is there. Not in squares: one of the rates may be that of a moment in which somebody else was at
 * work. */
static double off_by(const struct measured *measured, double share, double nothing_Bps, double Bps)
{
    return fabs((share / measured->fastest_Bps + (1 - share) / nothing_Bps) * Bps - 1);
}

/* What others bring into the level while so many bytes are read. */
static double brought(const struct ll_level *level, const struct pair *stream)
{
    return level->cache.corunners_Bps * stream->x / stream->Bps;
}

static double error_of_rounds(const struct ll_level *level, const struct measured *measured)
{
    const struct pair *longest = &measured->rounds.at[measured->rounds.count - 1];
    double error = 0;
    for (const struct pair *round = measured->rounds.at; round < longest; round++) {
        uint64_t bytes = (uint64_t)round->x;
        double kept = ll_level_keeps(level, bytes, (struct ll_round){bytes, brought(level, round)});
        error += off_by(measured, kept / fmax(1, (double)bytes), longest->Bps, round->Bps);
    }
    return error;
}

static double error_of_times(const struct ll_level *level, const struct measured *measured)
{
    const struct pair *first = &measured->times.at[0];
    if (measured->times.count == 0)
        return 0;
    struct ll_round round = {(uint64_t)first->x, 0};
    struct ll_cache_found found = ll_cache_finds(level, round, NULL);
    double error = 0;
    for (size_t i = 1; i < measured->times.count; i++) {
        round.corunners = brought(level, &measured->times.at[i]);
        found = ll_cache_finds(level, round, &found);
        error += off_by(measured, found.share, first->Bps, measured->times.at[i].Bps);
    }
    for (size_t i = 0; i < measured->rests.count; i++) {
        round.corunners = level->cache.corunners_Bps * measured->rests.at[i].x;
        struct ll_cache_found then = ll_cache_finds(level, round, &found);
        error += off_by(measured, then.share, first->Bps, measured->rests.at[i].Bps);
    }
    return error;
}

static void come_nearest(const struct measured *measured, uint64_t size_bytes, struct ll_level *level,
                         double *least, struct ll_cache_share *held)
{
    for (uint64_t part = 1; part <= PARTS; part++) {
        level->size_bytes = ll_max(1, (uint64_t)((double)size_bytes / PARTS * (double)part));
        double error = error_of_times(level, measured);
        if (error <= *least)
            error += error_of_rounds(level, measured);
        if (error <= *least)
            *held = (struct ll_cache_share){level->size_bytes, level->cache.policy, level->cache.admission,
                                            level->cache.corunners_Bps, held->Bps};
        *least = fmin(*least, error);
    }
}

/* None, then from an eighth of a GB/s on in steps of the root of two. */
static double corunners_Bps(int step)
{
    return step > 0 ? 125e6 * exp2((step - 1) / 2.0) : 0;
}

struct ll_cache_share ll_held_of(uint64_t size_bytes, const struct ll_cache_rates *rates)
{
    struct measured measured;
    read_pairs(rates->rounds, &measured.rounds);
    read_pairs(rates->times, &measured.times);
    read_pairs(rates->rests, &measured.rests);
    struct ll_cache_share held = {size_bytes, LL_CACHE_LRU, 1, 0, 0};
    double least = INFINITY;
    size_t last = measured.rounds.count - 1;
    for (size_t i = 0; i < measured.rounds.count; i++)
        held.Bps = fmax(held.Bps, measured.rounds.at[i].Bps);
    measured.fastest_Bps = held.Bps;
    if (measured.rounds.count < 2 || measured.rounds.at[last].Bps >= measured.rounds.at[0].Bps)
        return held;
    bool timed = measured.times.count > 1, rested = timed && measured.rests.count > 0;
    for (int share = timed ? 1 : SHARES; share <= SHARES; share++)
        for (int corunners = 0; corunners <= (rested ? CORUNNERS : 0); corunners++) {
            struct ll_level level = {.cache_given = true,
                                     .cache.admission = (double)share / SHARES,
                                     .cache.corunners_Bps = corunners_Bps(corunners)};
            level.cache.policy = LL_CACHE_LRU;
            come_nearest(&measured, size_bytes, &level, &least, &held);
            level.cache.policy = LL_CACHE_RANDOM;
            come_nearest(&measured, size_bytes, &level, &least, &held);
        }
    assert(held.bytes <= size_bytes && held.admission >= 0 && held.admission <= 1 && held.corunners_Bps >= 0);
    return held;
}

static bool fit_kinds(const struct ll_samples *samples, const struct ll_listener *listener,
                      struct ll_arena *arena, struct ll_diags *diags, struct ll_machine *machine,
                      struct ll_calibration *calibration)
{
    struct ll_fit *fits = ll_alloc(arena, LL_MAX_KERNELS, sizeof *fits);
    struct ll_software *software = &machine->software;
    bool right = fits && samples->count > 0;
    for (uint64_t i = 0, end; right && i < samples->count; i = end) {
        if (software->kernel_count == LL_MAX_KERNELS)
            return ll_complain(diags, (struct ll_place){0},
                               "the trace has more than %d kinds of kernels, as many as a machine can have",
                               (int)LL_MAX_KERNELS);
        for (end = i + 1; end < samples->count && samples->at[end].kind == samples->at[i].kind;)
            end++;
        right = ll_fit_kernel(machine, samples, i, end - i, &machine->arena,
                              &software->kernels[software->kernel_count],
                              &machine->overlays[software->kernel_count], &fits[software->kernel_count]);
        struct ll_kernel *kernel = &software->kernels[software->kernel_count++];
        kernel->launch_overhead_s += samples->gap_s;
        right = right && ll_tell(listener, "fitting kernels", (double)end / (double)samples->count);
    }
    software->op_overhead_s = samples->gap_s;
    calibration->fits = fits;
    calibration->fit_count = machine->overlay_count = software->kernel_count;
    return right || ll_complain(diags, (struct ll_place){0}, "memory ran out, or the fit was ended early");
}

/* Where the figures of the kernels and of the host come from, behind the sources there are. */
static bool tell_sources(const struct ll_trace *micro, const struct ll_fit *fits, struct ll_machine *machine)
{
    const char *cpu = ll_trace_fact(micro, "host.cpu"), *threads = ll_trace_fact(micro, "threads");
    uint64_t count = machine->software.kernel_count, before = machine->source_count;
    bool host = machine->host.bandwidth_Bps > 0;
    struct ll_source *all = ll_alloc(&machine->arena, before + count + host, sizeof *all);
    if (!all)
        return false;
    for (uint64_t i = 0; i < before; i++)
        all[i] = machine->sources[i];
    for (uint64_t i = 0; i < count; i++) {
        all[before + i].path = ll_format(&machine->arena, "software.kernels.%s.launch_overhead",
                                         machine->software.kernels[i].name);
        all[before + i].text =
            ll_format(&machine->arena,
                      "this kernel's figures are fitted by leadline calibrate on %s, threads %s: they repeat "
                      "%" PRIu64 " measurements within %.0f %% in the mean; spread of these %.0f %%",
                      cpu ? cpu : "an unknown processor", threads, fits[i].samples, fits[i].error * 100,
                      fits[i].spread * 100);
        if (!all[before + i].path || !all[before + i].text)
            return false;
    }
    if (host) {
        all[before + count].path = "host.bandwidth";
        all[before + count].text =
            ll_format(&machine->arena,
                      "measured by leadline calibrate on %s, threads %s: copies of inputs of all sizes from "
                      "where they were made ready",
                      cpu ? cpu : "an unknown processor", threads);
        if (!all[before + count].text)
            return false;
    }
    machine->sources = all;
    machine->source_count = before + count + host;
    return true;
}

bool ll_calibrate(const struct ll_trace *micro, const struct ll_listener *listener, struct ll_arena *arena,
                  struct ll_diags *diags, struct ll_calibration *calibration)
{
    *calibration = (struct ll_calibration){.machine = ll_calibrate_base(micro, diags)};
    const struct ll_samples *samples =
        calibration->machine ? ll_samples_of(micro, calibration->machine, arena, diags) : NULL;
    if (samples)
        ll_fit_host(samples, &calibration->machine->host);
    if (samples && fit_kinds(samples, listener, arena, diags, calibration->machine, calibration)) {
        if (tell_sources(micro, calibration->fits, calibration->machine))
            return true;
        ll_complain(diags, (struct ll_place){0}, "memory ran out");
    }
    ll_machine_free(calibration->machine);
    calibration->machine = NULL;
    return false;
}

void ll_calibration_yaml(const struct ll_calibration *calibration, struct ll_str *out)
{
    assert(calibration->machine);
    ll_str_add(out, "# Written by leadline calibrate: what it measured of the machine it ran on.\n");
    ll_machine_yaml(calibration->machine, out);
}
