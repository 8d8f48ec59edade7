/* SPDX-License-Identifier: Apache-2.0 */
/* Traces as PyTorch's profiler writes them, in short: events with ' for ". */
#ifndef LL_TESTS_KINETO_H
#define LL_TESTS_KINETO_H

#include "convert.h"

#define EVENT(category, name, thread, time, duration, args)                                                  \
    "{'ph':'X','cat':'" category "','name':'" name "','tid':" #thread ",'ts':" #time ",'dur':" #duration     \
    ",'args':{" args "}}"
#define OP(name, time, duration, args) EVENT("cpu_op", name, 7, time, duration, args)
#define STEP(number, time, duration) EVENT("user_annotation", "ProfilerStep#" #number, 7, time, duration, "")
#define KERNEL(name, time, duration, args) EVENT("kernel", name, 0, time, duration, args)
#define TAKES(dims, types) "'Input Dims':[" dims "],'Input type':[" types "]"

/* addmm of 8 x 64 by 64 x 128: 2 * 8 * 64 * 128 + 8 * 128 = 132,096 FLOP, two ops. */
#define ADDMM(time, duration)                                                                                \
    OP("aten::addmm", time, duration, TAKES("[128],[8,64],[64,128]", "'float','float','float'"))
#define ADDMM_FLOPS 132096

static inline struct conversion import_events(const char *events, bool allow_opaque)
{
    struct ll_str text = {0};
    struct conversion c = {.importer = ll_import_TORCH_PROFILE, .allow_opaque = allow_opaque};
    ll_str_addf(&text, "{\"distributedInfo\": {\"rank\": 1}, \"traceEvents\": [%s]}", events);
    for (size_t i = 0; i < text.length; i++)
        text.text[i] = text.text[i] == '\'' ? '"' : text.text[i];
    add_file(&c, "a.json", &text);
    convert(&c);
    ll_str_release(&text);
    return c;
}

/* What must come in. */
static inline struct conversion import_fine(const char *events)
{
    struct conversion c = import_events(events, false);
    if (!c.trace)
        fail_msg("%s", c.diags.kept[0].message);
    return c;
}

/* Whether the trace warns in these words. */
static inline bool warned(const struct conversion *c, const char *words)
{
    for (uint64_t i = 0; i < c->trace->fact_count; i++)
        if (strncmp(c->trace->facts[i].key, "warning.", strlen("warning.")) == 0 &&
            strstr(c->trace->facts[i].value, words))
            return true;
    return false;
}

static inline uint64_t all_flops(const struct ll_trace *trace)
{
    uint64_t flops = 0;
    for (uint64_t i = 0; i < trace->op_count; i++)
        flops += trace->signatures[trace->ops[i].signature].flops;
    return flops;
}

#endif
