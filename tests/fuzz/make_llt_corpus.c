/* SPDX-License-Identifier: Apache-2.0 */
/* make_llt_corpus FOLDER: small recordings as files, and the contents of their frames for the target to seal
 * (.contents): a training loop (loop), a program seen from outside, with reasons of its edges, facts behind
 * the ops and steps that were found afterwards (program), and what a device did when (timeline). */
#include "loop.h"
#include "tracer/format/reader.h"
#include "tracer/format/walk.h"
#include "tracer/ir/timeline.h"

#include <stdlib.h>

static int record(const char *path, unsigned layers, unsigned steps)
{
    static const struct ll_fact facts[] = {{"model", "perceptron"}, {"mode", "train"}};
    static struct loop loop;
    enum ll_status status;
    struct ll_recorder *recorder = ll_recorder_open(path, facts, 2, &status);
    if (!recorder)
        return 1;
    loop_begin(&loop, recorder, layers, false);
    for (unsigned i = 0; i < steps; i++)
        loop_step(&loop);
    return ll_recorder_close(recorder) != LL_OK;
}

/* Gaps between vectors that are copied to and fro. */
static int record_program(const char *path)
{
    static const struct ll_fact facts[] = {{"mode", "program"}}, summary[] = {{"summary.calls", "6"}};
    enum { COPIES = 6 };
    const struct ll_shape shape = {.dtype = LL_F64, .rank = 1, .dim = {100}};
    struct ll_step steps[COPIES / 2 + 1] = {{.op_count = 2}};
    enum ll_status status;
    struct ll_recorder *recorder = ll_recorder_open(path, facts, 1, &status);
    if (!recorder)
        return 1;
    ll_recorder_afterwards(recorder, 1);
    uint32_t desc = ll_recorder_desc(recorder, "", &shape, LL_ACTIVATION),
             scope = ll_recorder_string(recorder, "main");
    uint32_t from = ll_recorder_tensor(recorder, desc);
    for (uint32_t i = 0; i < COPIES; i++) {
        const uint32_t before = 2 * i - 1, waits[] = {i ? before - 1 : 0, 2 * i};
        ll_recorder_op(recorder, &(struct ll_record){.kind = LL_OP_GAP,
                                                     .scope = scope,
                                                     .controls = &before,
                                                     .control_count = i > 0,
                                                     .gap_count = i > 0,
                                                     .start_ns = 1 + 100 * (uint64_t)i,
                                                     .duration_ns = 60});
        from = ll_recorder_op(recorder, &(struct ll_record){.kind = LL_OP_COPY,
                                                            .scope = scope,
                                                            .inputs = &from,
                                                            .input_count = 1,
                                                            .outputs = &desc,
                                                            .output_count = 1,
                                                            .controls = waits + (i == 0),
                                                            .control_count = 1 + (i > 0),
                                                            .storage_count = i > 0,
                                                            .gap_count = 1,
                                                            .start_ns = 61 + 100 * (uint64_t)i,
                                                            .duration_ns = 40});
    }
    for (uint32_t i = 1; i < COPIES / 2; i++)
        steps[i] =
            (struct ll_step){.first_op = 4 * i - 2, .op_count = 4, .start_ns = 200 * i, .complete = true};
    steps[COPIES / 2] = (struct ll_step){.first_op = 2 * COPIES - 2, .op_count = 2};
    ll_recorder_cut(recorder, steps, COPIES / 2 + 1);
    ll_recorder_facts(recorder, summary, 1);
    return ll_recorder_close(recorder) != LL_OK;
}

/* Two kernels behind their launches, a call that waits for them, an exchange on another stream. */
static int record_timeline(const char *path)
{
    static const struct ll_fact facts[] = {{"mode", "infer"}};
    static const char *const names[] = {"thread", "stream", "launch", "gemm", "nccl", "wait", "aten::mm"};
    struct ll_device_timeline t = {.rank_count = 1, .launches = true};
    enum ll_status status;
    struct ll_recorder *recorder = ll_recorder_open(path, facts, 1, &status);
    if (!recorder)
        return 1;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        ll_timeline_add_name(&t, names[i], strlen(names[i]));
    for (uint32_t i = 0; i < 3; i++)
        ll_timeline_add_track(&t, &(struct ll_timeline_track){.name = i > 0, .host = i == 0});
    for (uint32_t i = 0; i < 4; i++) {
        struct ll_timeline_event event = {.start_ns = 30 + 100 * (uint64_t)i,
                                          .duration_ns = 80,
                                          .name = i == 2 ? 4 : 3,
                                          .track = i == 2 ? 2 : 1,
                                          .caller = 6,
                                          .call = i < 3 ? i : LL_NO_PART,
                                          .kind = i == 2 ? LL_EVENT_EXCHANGE : LL_EVENT_KERNEL,
                                          .group = i == 2 ? 4 : LL_NO_PART,
                                          .order = i == 2 ? 0 : LL_NO_PART};
        ll_timeline_add_event(&t, &event);
        ll_timeline_add_call(&t,
                             &(struct ll_timeline_call){.start_ns = 20 * (uint64_t)i,
                                                        .duration_ns = i < 3 ? 10 : 300,
                                                        .name = i < 3 ? 2 : 5,
                                                        .kind = i < 3 ? LL_CALL_LAUNCHES : LL_CALL_WAITS});
    }
    ll_timeline_add_wait(&t, &(struct ll_timeline_wait){.event = 2, .call = LL_NO_PART, .after = 1});
    ll_timeline_add_wait(&t, &(struct ll_timeline_wait){.event = LL_NO_PART, .call = 3, .after = 2});
    ll_recorder_timeline(recorder, &t);
    ll_timeline_release(&t);
    return ll_recorder_close(recorder) != LL_OK;
}

/* Each frame as its size in two bytes and its content, kind and columns. */
static int unseal(const uint8_t *bytes, size_t size, FILE *out)
{
    struct ll_diags diags = {0};
    struct ll_walk walk;
    struct ll_frame frame;
    bool found = ll_walk_open(&walk, bytes, size, "loop.llt", &diags) == LL_OK;
    while (found && ll_walk_next(&walk, &frame, &found) == LL_OK && found) {
        uint64_t content = (uint64_t)(frame.columns.end - walk.content);
        const uint8_t head[] = {(uint8_t)content, (uint8_t)(content >> 8)};
        fwrite(head, 1, 2, out);
        fwrite(walk.content, 1, content, out);
    }
    ll_walk_close(&walk);
    ll_diags_release(&diags);
    return 0;
}

/* The contents of FOLDER/NAME.llt as FOLDER/NAME.contents. */
static int write_contents(const char *folder, const char *name)
{
    static uint8_t bytes[1 << 20];
    char path[4096], contents[4096];
    snprintf(path, sizeof path, "%s/%s.llt", folder, name);
    snprintf(contents, sizeof contents, "%s/%s.contents", folder, name);
    FILE *in = fopen(path, "rb"), *out = fopen(contents, "wb");
    if (!in || !out)
        return 1;
    size_t size = fread(bytes, 1, sizeof bytes, in);
    fclose(in);
    int failed = unseal(bytes, size, out);
    return fclose(out) != 0 || failed;
}

int main(int count, char **words)
{
    char loop[4096], program[4096], timeline[4096];
    if (count != 2)
        return 2;
    snprintf(loop, sizeof loop, "%s/loop.llt", words[1]);
    snprintf(program, sizeof program, "%s/program.llt", words[1]);
    snprintf(timeline, sizeof timeline, "%s/timeline.llt", words[1]);
    if (record(loop, 2, 3) != 0 || record_program(program) != 0 || record_timeline(timeline) != 0)
        return 1;
    return write_contents(words[1], "loop") || write_contents(words[1], "program") ||
           write_contents(words[1], "timeline");
}
