/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/replay/forms.h"

#include "sim/cost/memo.h"
#include "sim/cost/cost_parts.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* A type in which the machine computes, the one with the highest rate. */
static enum ll_dtype fastest_type(const struct ll_machine *machine)
{
    enum ll_dtype fastest = (enum ll_dtype)0;
    for (unsigned i = 1; i < LL_DTYPE_COUNT; i++)
        if (ll_machine_peak_flops(machine, (enum ll_dtype)i) > ll_machine_peak_flops(machine, fastest))
            fastest = (enum ll_dtype)i;
    return fastest;
}

/* Says once for each kind that the machine cannot run it, or once for all that it does not compute in such
 * a type; false. */
static bool refuse(const struct ll_forms *forms, enum ll_op_kind kind, const struct ll_work *work,
                   const char *trouble, bool refused[LL_OP_COUNT], struct ll_diags *diags)
{
    struct ll_place place = {.file = forms->machine->path};
    enum ll_dtype dtype = (enum ll_dtype)work->dtype, computed;
    if (!refused[kind] && ll_computed_peak_flops(forms->machine, dtype, &computed) == 0) {
        const char *model = ll_trace_fact(forms->prepared->trace, "model");
        ll_complain(diags, place,
                    "nothing of this machine computes in %s, as %s does, or a wider type; as %s it could be "
                    "simulated (--as; dtype in a sweep file)",
                    ll_dtype_name(dtype), model ? model : "the trace",
                    ll_dtype_name(fastest_type(forms->machine)));
        memset(refused, true, LL_OP_COUNT * sizeof *refused);
    }
    if (!refused[kind])
        ll_complain(diags, place, "%s in %s: %s", ll_op_name(kind), ll_dtype_name((enum ll_dtype)work->dtype),
                    trouble);
    refused[kind] = true;
    return false;
}

/* Says once for each kind that its exchange cannot be; false. */
static bool refuse_exchange(const struct ll_forms *forms, uint32_t seq, uint64_t devices, const char *trouble,
                            bool refused[LL_OP_COUNT], struct ll_diags *diags)
{
    const struct ll_trace *trace = forms->prepared->trace;
    const struct ll_form *form = &trace->forms[trace->ops[seq].form];
    const char *scope = trace->strings[form->scope];
    struct ll_place place = {.file = forms->machine->path};
    if (!refused[form->view.kind] && devices > 0)
        ll_complain(diags, place, "op %" PRIu32 ", %s%s%s among %" PRIu64 " devices: %s", seq,
                    trace->strings[form->kind_name], *scope ? " in " : "", scope, devices, trouble);
    else if (!refused[form->view.kind])
        ll_complain(diags, place, "op %" PRIu32 ", %s%s%s: %s", seq, trace->strings[form->kind_name],
                    *scope ? " in " : "", scope, trouble);
    refused[form->view.kind] = true;
    return false;
}

/* False when memory ran out. */
static bool find_ranks(struct ll_forms *forms, struct ll_arena *arena)
{
    const struct ll_trace *trace = forms->prepared->trace;
    if (ll_trace_ranks(trace) < 2)
        return true;
    forms->ranks = ll_alloc(arena, trace->form_count, sizeof *forms->ranks);
    for (uint32_t i = forms->prepared->first_op; forms->ranks && i < forms->prepared->end_op; i++) {
        struct ll_form_ranks *ranks = &forms->ranks[trace->ops[i].form];
        uint32_t rank = trace->ops[i].thread;
        ranks->first = ranks->end == 0 || rank < ranks->first ? rank : ranks->first;
        ranks->end = rank >= ranks->end ? rank + 1 : ranks->end;
    }
    return forms->ranks;
}

/* Of several ranks those send or receive at once that have such an op. */
static struct ll_asked asked_by(const struct ll_forms *forms, uint32_t form)
{
    struct ll_asked asked = ll_asked_by(&forms->prepared->trace->forms[form].view);
    if (forms->ranks && asked.peer) {
        asked.first = forms->ranks[form].first;
        asked.span = forms->ranks[form].end - asked.first;
    }
    return asked;
}

/* The price of the exchange that this op, the first of its form, asks for. */
static bool price_form(struct ll_forms *forms, uint32_t seq, bool refused[LL_OP_COUNT],
                       struct ll_diags *diags)
{
    static const struct ll_cost no_unit = {.unit = LL_NO_UNIT, .ways = 1};
    uint32_t form = forms->prepared->trace->ops[seq].form;
    struct ll_asked asked = asked_by(forms, form);
    const struct ll_price *price = forms->among->prices ? &forms->among->prices[form]
                                                        : ll_exchanges_price(forms->among->exchanges, &asked);
    const char *trouble = price ? price->trouble : "memory ran out";
    if (trouble)
        return refuse_exchange(forms, seq, asked.peer ? 0 : asked.devices, trouble, refused, diags);
    forms->prices[form] = *price;
    forms->ways[form] = &no_unit;
    return true;
}

/* The costs of all ways to do this, in the arena, first the one that is the fastest on an empty machine; NULL
 * when memory ran out. */
static const struct ll_cost *ways_of(const struct ll_forms *forms, enum ll_op_kind kind,
                                     const struct ll_work *work, struct ll_cost fastest,
                                     struct ll_arena *arena)
{
    const struct ll_cost *each = ll_memo_ways(forms->among->memo, kind, work);
    struct ll_cost *ways = each ? ll_alloc(arena, fastest.ways, sizeof *ways) : NULL;
    if (ways) {
        memcpy(ways, each, fastest.ways * sizeof *ways);
        ways[fastest.way] = ways[0];
        ways[0] = fastest;
    }
    return ways;
}

/* The costs of a form, which are those of the first form with the same work. */
static bool cost_form(struct ll_forms *forms, uint32_t form, bool refused[LL_OP_COUNT],
                      struct ll_arena *arena, struct ll_diags *diags)
{
    const struct ll_work *work = &forms->prepared->works[form];
    enum ll_op_kind kind = forms->prepared->trace->forms[form].view.kind;
    uint32_t same = forms->prepared->same[form];
    const char *trouble = NULL;
    if (same != form && forms->known[same]) {
        forms->ways[form] = forms->ways[same];
        return true; /* of a refused one the complaint was made */
    }
    const struct ll_cost *cost = ll_memo_cost(forms->among->memo, kind, work, &trouble);
    forms->ways[form] = cost ? ways_of(forms, kind, work, *cost, arena) : NULL;
    return forms->ways[form] ||
           refuse(forms, kind, work, trouble ? trouble : "memory ran out", refused, diags);
}

static bool has_exchanges(const struct ll_prepared *prepared)
{
    uint64_t form = 0;
    while (form < prepared->trace->form_count && prepared->works[form].kind != LL_WORK_COLLECTIVE)
        form++;
    return form < prepared->trace->form_count;
}

bool ll_forms_cost(struct ll_forms *forms, struct ll_arena *arena, struct ll_diags *diags)
{
    const struct ll_prepared *prepared = forms->prepared;
    const struct ll_trace *trace = prepared->trace;
    bool refused[LL_OP_COUNT] = {false}, all = true, exchanges = has_exchanges(prepared);
    forms->ways = ll_alloc(arena, trace->form_count, sizeof *forms->ways);
    forms->prices = exchanges ? ll_alloc(arena, trace->form_count, sizeof *forms->prices) : NULL;
    forms->known = ll_alloc(arena, trace->form_count, sizeof *forms->known);
    if (!forms->ways || !forms->known || (exchanges && (!forms->prices || !find_ranks(forms, arena))))
        return false;
    for (uint32_t i = prepared->first_op; i < prepared->end_op; i++) {
        uint32_t form = trace->ops[i].form;
        if (forms->known[form] || ll_form_is_idle(forms->among, form))
            continue;
        all &= prepared->works[form].kind == LL_WORK_COLLECTIVE
                   ? price_form(forms, i, refused, diags)
                   : cost_form(forms, form, refused, arena, diags);
        forms->known[form] = true;
    }
    return all;
}

/* Whether what was found may decide how it is done, by one of the ways. */
static bool heeds(const struct ll_forms *forms, uint32_t form, const struct ll_leftovers *found)
{
    const struct ll_cost *ways = forms->ways[form];
    bool any = false;
    for (uint32_t i = 0; i < ways->ways; i++)
        any = any || ll_cost_heeds(forms->machine, &ways[i], found);
    return any;
}

/* The same ways once more; NULL when memory ran out. */
static const struct ll_cost *next_to(const struct ll_forms *forms, uint32_t form,
                                     const struct ll_leftovers *found, struct ll_arena *arena)
{
    const struct ll_cost *alone = forms->ways[form];
    enum ll_op_kind kind = forms->prepared->trace->forms[form].view.kind;
    struct ll_cost *ways = ll_alloc(arena, alone->ways, sizeof *ways);
    for (uint32_t i = 0; ways && i < alone->ways; i++)
        ll_cost_way(forms->machine, kind, &forms->prepared->works[form], alone[i].way,
                    &(struct ll_next_to){found, &alone[i]}, &ways[i], NULL);
    return ways;
}

const struct ll_cost *ll_forms_ways(struct ll_forms *forms, uint32_t form, const struct ll_leftovers *found,
                                    struct ll_arena *arena)
{
    struct { /* without gaps */
        uint64_t form;
        struct ll_leftovers found;
    } key = {.form = forms->prepared->same[form], .found = *found};
    bool is_new;
    if (!heeds(forms, form, found))
        return forms->ways[form];
    uint32_t id = ll_map_intern(&forms->keys, &key, sizeof key, &is_new);
    if (id == LL_NO_ID ||
        !ll_grow(&forms->next_to, &forms->capacity, (uint64_t)id + 1, sizeof *forms->next_to))
        return NULL;
    if (is_new)
        forms->next_to[id] = next_to(forms, form, found, arena);
    return forms->next_to[id];
}

void ll_forms_release(struct ll_forms *forms)
{
    ll_map_release(&forms->keys);
    free(forms->next_to);
}
