/* SPDX-License-Identifier: Apache-2.0 */
/* What it costs to make a trace of what was seen: nanoseconds an event and bytes an op on disk, for a
 * training step of a thousand products over layers with weights of their own, whose buffers are freed and
 * come again. */
#define _POSIX_C_SOURCE 200809L
#include "tracer/base/clock.h"
#include "tracer/capture/capture.h"
#include "tracer/interpose/call.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

enum { STEPS = 200, CALLS = 1000, SIDE = 64, BYTES = SIDE * SIDE * 4 };

static struct ll_call_operand matrix(uint8_t role, uint8_t access, uint64_t address)
{
    return (struct ll_call_operand){.address = address,
                                    .rows = 1,
                                    .row_bytes = BYTES,
                                    .stride_bytes = BYTES,
                                    .access = access,
                                    .role = role,
                                    .shape = {.dtype = LL_F32, .rank = 2, .dim = {SIDE, SIDE}}};
}

static struct ll_event product_to_be(void)
{
    return (struct ll_event){.kind = LL_EVENT_CALL,
                             .call = {.routine = LL_ROUTINE_GEMM,
                                      .symbol = LL_SYMBOL_sgemm_,
                                      .dtype = LL_F32,
                                      .operand_count = 3,
                                      .number_count = 7,
                                      .operand = {matrix(LL_ARGUMENT_A, LL_ACCESS_READ, 0),
                                                  matrix(LL_ARGUMENT_B, LL_ACCESS_READ, 0),
                                                  matrix(LL_ARGUMENT_C, LL_ACCESS_WRITE, 0)},
                                      .number = {0, 0, SIDE, SIDE, SIDE, 1, 0}}};
}

static void place(struct ll_event *product, uint64_t call, uint64_t now_ns)
{
    product->start_ns = now_ns;
    product->call.caller = 0x1000 + call % 50;
    product->call.form = 1 + (uint32_t)call % 50; /* as the rings' reader numbers them */
    product->call.duration_ns = 3000 + now_ns * UINT64_C(0x9e3779b97f4a7c15) % 200;
    product->call.operand[0].address = 0x1000000 + call % 8 * BYTES;
    product->call.operand[1].address = 0x10000000 + call * BYTES;
    product->call.operand[2].address = 0x1000000 + (call + 1) % 8 * BYTES;
}

int main(void)
{
    char path[] = "/tmp/leadline-bench-XXXXXX";
    enum ll_status status;
    if (mkstemp(path) < 0)
        return 1;
    uint64_t now_ns = ll_now_ns();
    struct ll_recorder *recorder = ll_recorder_open(path, NULL, 0, &status);
    const struct ll_capture_settings settings = {.recorder = recorder, .origin_ns = now_ns};
    struct ll_capture *capture = recorder ? ll_capture_open(&settings) : NULL;
    if (!capture)
        return 1;
    struct ll_event event = product_to_be();
    uint64_t begin_ns = ll_now_ns();
    for (uint64_t i = 0; i < (uint64_t)STEPS * CALLS; i++) {
        place(&event, i % CALLS, now_ns);
        ll_capture_event(capture, &event);
        now_ns += 4000;
    }
    uint64_t events_ns = ll_now_ns() - begin_ns;
    ll_capture_finish(capture, 0, 0);
    ll_capture_close(capture);
    ll_recorder_close(recorder);
    uint64_t all_ns = ll_now_ns() - begin_ns;
    struct stat file;
    if (stat(path, &file) == 0)
        printf("capture  %.0f ns an event, %.0f ns with finding steps and closing, %.2f bytes an op\n",
               (double)events_ns / (STEPS * CALLS), (double)all_ns / (STEPS * CALLS),
               (double)file.st_size / (STEPS * CALLS));
    remove(path);
    return 0;
}
