/* SPDX-License-Identifier: Apache-2.0 */
/* make_llt_corpus FOLDER: a small recording as a file (loop.llt), and the contents of its frames for the
 * target to seal (loop.contents). */
#include "loop.h"
#include "tracer/walk.h"

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

int main(int count, char **words)
{
    static uint8_t bytes[1 << 20];
    char path[4096], contents[4096];
    if (count != 2)
        return 2;
    snprintf(path, sizeof path, "%s/loop.llt", words[1]);
    snprintf(contents, sizeof contents, "%s/loop.contents", words[1]);
    if (record(path, 2, 3) != 0)
        return 1;
    FILE *in = fopen(path, "rb"), *out = fopen(contents, "wb");
    if (!in || !out)
        return 1;
    size_t size = fread(bytes, 1, sizeof bytes, in);
    fclose(in);
    int failed = unseal(bytes, size, out);
    return fclose(out) != 0 || failed;
}
