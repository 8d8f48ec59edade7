/* SPDX-License-Identifier: Apache-2.0 */
/* What recording and reading a trace cost: a training loop of 361 ops a step with noisy times. */
#include "loop.h"
#include "tracer/base/clock.h"
#include "tracer/format/reader.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { RUNS = 7, LAYERS = 40, STEPS = 1000 };

struct result {
    double record_ns, claimed_ns, file_bytes, decode_ns, deps_ns;
    uint64_t ops, ops_a_step;
};

static uint64_t file_bytes(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 ? (uint64_t)info.st_size : 0;
}

/* A step whose ops have run by now, as those of a program that records itself: such an op is noted at once
 * and made sense of later. */
static void step_just_done(struct loop *loop)
{
    enum { A_WHILE_NS = 1000000 };
    loop->now_ns = ll_now_ns() - A_WHILE_NS;
    loop_step(loop);
}

static void wait_ns(uint64_t ns)
{
    for (uint64_t begin_ns = ll_now_ns(); ll_now_ns() - begin_ns < ns;)
        ;
}

static bool record(const char *path, unsigned steps, struct result *result)
{
    static struct loop loop;
    enum ll_status status;
    struct ll_recorder *recorder = ll_recorder_open(path, NULL, 0, &status);
    if (!recorder)
        return false;
    loop_begin(&loop, recorder, LAYERS, true);
    wait_ns(2000000); /* no op has run before its recorder was there */
    step_just_done(&loop);
    uint64_t first_ops = loop.ops, begin_ns = ll_now_ns();
    for (unsigned i = 1; i < steps; i++)
        step_just_done(&loop);
    status = ll_recorder_close(recorder);
    result->ops = loop.ops;
    result->ops_a_step = first_ops;
    result->record_ns = (double)(ll_now_ns() - begin_ns) / (double)(loop.ops - first_ops);
    result->file_bytes = (double)file_bytes(path);
    return status == LL_OK;
}

static double claimed(const struct ll_trace *trace)
{
    double sum_ns = 0, ops = 0;
    for (uint64_t i = 1; i < trace->step_count; i++) {
        sum_ns += (double)trace->steps[i].recording_ns;
        ops += trace->steps[i].op_count;
    }
    return sum_ns / ops;
}

static bool decode(const char *path, struct result *result)
{
    struct ll_diags diags = {0};
    struct ll_arena arena = {0};
    enum ll_status status;
    uint64_t begin_ns = ll_now_ns();
    struct ll_trace *trace = ll_trace_read(path, &diags, &status);
    uint64_t read_ns = ll_now_ns();
    bool whole = trace && diags.count == 0 && trace->op_count == result->ops && ll_trace_deps(trace, &arena);
    uint64_t end_ns = ll_now_ns();
    if (whole) {
        result->decode_ns = (double)(read_ns - begin_ns) / (double)result->ops;
        result->deps_ns = (double)(end_ns - read_ns) / (double)result->ops;
        result->claimed_ns = claimed(trace);
    }
    ll_arena_release(&arena);
    ll_diags_release(&diags);
    ll_trace_free(trace);
    return whole;
}

static double least(double a, double b)
{
    return a < b ? a : b;
}

static void line(const char *name, double value, const char *unit)
{
    printf("%-40s %12.2f %s   least of %d\n", name, value, unit, RUNS);
}

int main(void)
{
    char path[64];
    snprintf(path, sizeof path, "bench_trace-%ld.llt", (long)getpid());
    struct result best = {1e9, 1e9, 1e18, 1e9, 1e9, 0, 0}, now = {0}, first = {0};
    bool done = record(path, 1, &first);
    for (int i = 0; done && i < RUNS; i++) {
        done = record(path, STEPS, &now) && decode(path, &now);
        best.record_ns = least(best.record_ns, now.record_ns);
        best.claimed_ns = least(best.claimed_ns, now.claimed_ns);
        best.decode_ns = least(best.decode_ns, now.decode_ns);
        best.deps_ns = least(best.deps_ns, now.deps_ns);
    }
    unlink(path);
    if (!done)
        return fprintf(stderr, "bench_trace: cannot record or read\n"), 1;
    double later_ops = (double)(now.ops - now.ops_a_step);
    line("trace: record an op, to disk", best.record_ns, "ns");
    line("trace: the same by the recorder's measure", best.claimed_ns, "ns");
    line("trace: read an op, checked", best.decode_ns, "ns");
    line("trace: dependencies of an op", best.deps_ns, "ns");
    line("trace: an op on disk", (now.file_bytes - first.file_bytes) / later_ops, "bytes");
    return 0;
}
