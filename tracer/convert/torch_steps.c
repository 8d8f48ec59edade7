/* SPDX-License-Identifier: Apache-2.0 */
/* Steps of a file: found by repetition (first section), or by marks; and which tensors the steps of a profile
 * share. */
#include "tracer/convert/torch_steps.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "tracer/base/hash.h"

/* border[i]: how long the longest beginning is that also ends at i, and is not all of it. */
uint64_t ll_period(const uint64_t *looks, uint64_t count)
{
    uint64_t *border = calloc(count + 1, sizeof *border), length = 0, period = count;
    if (!border)
        return count;
    for (uint64_t i = 1; i < count; i++) {
        while (length > 0 && looks[i] != looks[length])
            length = border[length - 1];
        length += looks[i] == looks[length];
        border[i] = length;
    }
    if (count > 0)
        period = count - border[count - 1];
    free(border);
    return period <= count / 2 ? period : count;
}

static bool repeats(const uint64_t *looks, uint64_t count, uint64_t period)
{
    for (uint64_t i = period; i < count; i++)
        if (looks[i] != looks[i - period])
            return false;
    return true;
}

bool ll_period_of_steps(struct ll_import *import, const uint64_t *looks, uint64_t count, uint64_t *period,
                        bool *chosen)
{
    uint64_t steps;
    *chosen = ll_import_choice(import, "steps") != NULL;
    if (!ll_import_count(import, "steps", 1, UINT64_C(1) << 30, 1, &steps))
        return false;
    *period = *chosen ? count / steps : ll_period(looks, count);
    if (!*chosen || (count % steps == 0 && repeats(looks, count, *period)))
        return true;
    return ll_complain(import->diags, (struct ll_place){.file = import->inputs[0].path},
                       "-p steps=%" PRIu64 ": the %" PRIu64 " calls in it do not repeat themselves so often",
                       steps, count);
}

/* Steps that nothing marks are what the calls repeat from the first to the last, but equal layers of one
 * network repeat as well. An execution graph tells them apart: a step reads the weights of the one before
 * it, a layer has its own. A profile knows no tensors; there, what makes as many elements as it begins
 * with may be a layer whose result the next one reads, and all is one step. */

static uint64_t hash_shape(uint64_t hash, const struct ll_shape *shape)
{
    return ll_hash_bytes(hash, shape->dim, shape->rank * sizeof *shape->dim);
}

/* What a recorded operator looks like: its name and the shapes that it takes. */
static uint64_t look_of(const struct ll_torch_node *node)
{
    uint64_t look = ll_hash_text(LL_HASH_START, node->name);
    for (uint32_t i = 0; i < node->input_count; i++)
        for (uint32_t t = 0; node->inputs[i].kind == LL_TORCH_TENSORS && t < node->inputs[i].count; t++)
            look = hash_shape(look, &node->inputs[i].tensors[t].shape);
    return look;
}

static bool is_weight(const struct ll_torch_leaf *leaf, uint32_t argument)
{
    return argument < 32 && leaf->row->weights >> argument & 1;
}

/* The first tensor of an argument; NULL when it is none. */
static struct ll_torch_tensor *tensor_of(const struct ll_torch_leaf *leaf, uint32_t argument)
{
    const struct ll_torch_value *value =
        argument < leaf->node->input_count ? &leaf->node->inputs[argument] : NULL;
    bool there = value && value->kind == LL_TORCH_TENSORS && value->count > 0 && !value->tensors->absent;
    return there ? value->tensors : NULL;
}

/* Whether the second stretch reads a weight of the first one. */
static bool share_weights(const struct ll_torch_leaf *leaves, uint64_t period)
{
    for (uint64_t i = 0; i < period; i++)
        for (uint32_t a = 0; a < leaves[i].node->input_count; a++) {
            const struct ll_torch_tensor *first = tensor_of(&leaves[i], a),
                                         *second = tensor_of(&leaves[i + period], a);
            if (is_weight(&leaves[i], a) && first && second && first->storage == second->storage)
                return true;
        }
    return false;
}

static bool computes(const struct ll_torch_leaf *leaf)
{
    bool any = false;
    for (uint32_t a = 0; !any && a < leaf->node->input_count; a++)
        any = tensor_of(leaf, a) != NULL;
    return any && leaf->row->kind != LL_OP_SEEN_AS;
}

/* So many elements a call makes, by what it takes: a product those of its outer dimensions, a convolution its
 * image's with other channels, which is right where nothing else changes; all else as many as it reads. */
static uint64_t elements_made(const struct ll_torch_leaf *leaf)
{
    ll_aten_rule ll_aten_LINEAR, ll_aten_CONVOLUTION, ll_aten_ADDMM;
    bool product = leaf->row->kind == LL_OP_MATMUL || leaf->row->kind == LL_OP_BATCH_MATMUL;
    bool turned = leaf->row->rule == ll_aten_LINEAR, conv = leaf->row->rule == ll_aten_CONVOLUTION;
    uint32_t x = leaf->row->rule == ll_aten_ADDMM;
    const struct ll_torch_tensor *a = tensor_of(leaf, x), *b = tensor_of(leaf, x + 1);
    uint64_t most = 0;
    if ((product || conv || x) && a && b && a->shape.rank >= 2 && b->shape.rank >= 2) {
        uint64_t inner = a->shape.dim[conv ? 1 : a->shape.rank - 1u];
        uint64_t outer = b->shape.dim[conv || turned ? 0 : b->shape.rank - 1u];
        return ll_mul(ll_elements(&a->shape) / ll_max(inner, 1), outer);
    }
    for (uint32_t i = 0; i < leaf->node->input_count; i++)
        if (tensor_of(leaf, i))
            most = ll_max(most, ll_elements(&tensor_of(leaf, i)->shape));
    return most;
}

/* Whether what the stretch makes could be what it begins with. */
static bool may_feed_itself(const struct ll_torch_leaf *leaves, uint64_t period)
{
    uint64_t first = 0, last = period;
    while (first < period && !computes(&leaves[first]))
        first++;
    while (last > first && !computes(&leaves[last - 1]))
        last--;
    if (first == last)
        return true;
    uint64_t made = elements_made(&leaves[last - 1]);
    for (uint32_t a = 0; a < leaves[first].node->input_count; a++) {
        const struct ll_torch_tensor *read = tensor_of(&leaves[first], a);
        if (read && !is_weight(&leaves[first], a) && ll_elements(&read->shape) == made)
            return true;
    }
    return false;
}

/* Whether it goes forwards and backwards, which no layer does by itself. */
static bool goes_both_ways(const struct ll_torch_leaf *leaves, uint64_t period)
{
    bool forward = false, backward = false;
    for (uint64_t i = 0; i < period; i++) {
        forward = forward || leaves[i].phase == LL_PHASE_FORWARD;
        backward = backward || leaves[i].phase == LL_PHASE_BACKWARD;
    }
    return forward && backward;
}

bool ll_torch_period(struct ll_import *import, const struct ll_torch_leaf *leaves, uint64_t count,
                     enum ll_torch_file file, uint64_t *period)
{
    uint64_t *looks = calloc(count + 1, sizeof *looks);
    bool chosen = false;
    if (!looks)
        return ll_import_no_memory(import);
    for (uint64_t i = 0; i < count; i++)
        looks[i] = look_of(leaves[i].node);
    bool right = ll_period_of_steps(import, looks, count, period, &chosen);
    free(looks);
    if (!right || chosen || *period == count)
        return right;
    bool steps = file == LL_TORCH_GRAPH
                     ? share_weights(leaves, *period)
                     : goes_both_ways(leaves, *period) || !may_feed_itself(leaves, *period);
    *period = steps ? *period : count;
    return true;
}

static int by_begin(const void *a, const void *b)
{
    const struct ll_torch_mark *x = a, *y = b;
    if (x->begin != y->begin)
        return x->begin < y->begin ? -1 : 1;
    return (x->place > y->place) - (x->place < y->place);
}

/* Marks in order; those of one name, which stand on several threads, are one. */
static bool list_marks(const struct ll_torch_nodes *nodes, struct ll_torch_marks *marks)
{
    for (uint64_t i = 0; i < nodes->count; i++) {
        const struct ll_torch_node *node = &nodes->at[i];
        marks->timed = marks->timed || node->end_ns > 0;
        if (strncmp(node->name, "ProfilerStep", strlen("ProfilerStep")) != 0)
            continue;
        if (!ll_grow(&marks->at, &marks->capacity, marks->count + 1, sizeof *marks->at))
            return false;
        marks->at[marks->count++] = (struct ll_torch_mark){.begin = node->begin_ns,
                                                           .end = node->end_ns,
                                                           .place = i,
                                                           .name = node->name,
                                                           .look = LL_HASH_START};
    }
    uint64_t kept = 0;
    if (marks->count > 1)
        qsort(marks->at, marks->count, sizeof *marks->at, by_begin);
    for (uint64_t i = 0; i < marks->count; i++) {
        struct ll_torch_mark *last = kept ? &marks->at[kept - 1] : NULL;
        if (last && strchr(last->name, '#') && strcmp(last->name, marks->at[i].name) == 0)
            last->end = ll_max(last->end, marks->at[i].end);
        else
            marks->at[kept++] = marks->at[i];
    }
    marks->count = kept;
    return true;
}

/* The last mark that begins no later. */
static uint64_t mark_before(const struct ll_torch_marks *marks, const struct ll_torch_node *node,
                            uint64_t place)
{
    uint64_t low = 0, high = marks->count;
    while (low < high) {
        uint64_t middle = (low + high) / 2;
        const struct ll_torch_mark *mark = &marks->at[middle];
        bool before = marks->timed ? mark->begin <= node->begin_ns : mark->place <= place;
        low = before ? middle + 1 : low;
        high = before ? high : middle;
    }
    return low ? low - 1 : LL_TORCH_NO_STEP;
}

uint64_t ll_torch_step_of(const struct ll_torch_marks *marks, const struct ll_torch_node *node,
                          uint64_t place)
{
    uint64_t at = mark_before(marks, node, place);
    if (at == LL_TORCH_NO_STEP || !marks->at[at].kept ||
        (marks->spanning && node->begin_ns >= marks->at[at].end))
        return LL_TORCH_NO_STEP;
    return at;
}

/* Steps by what they call, in the order of the leaves: looks of step s stand at first[s] to first[s + 1]. */
struct sequences {
    uint64_t *looks, *first;
};

/* Whether the shorter of two runs of calls is the end, or the beginning, of the longer. */
static bool is_part(const struct sequences *s, uint64_t part, uint64_t whole, bool beginning)
{
    uint64_t short_count = s->first[part + 1] - s->first[part],
             long_count = s->first[whole + 1] - s->first[whole];
    uint64_t skipped = beginning ? 0 : long_count - short_count;
    return short_count < long_count && memcmp(s->looks + s->first[part], s->looks + s->first[whole] + skipped,
                                              short_count * sizeof *s->looks) == 0;
}

static bool is_alone(const struct ll_torch_marks *marks, uint64_t step)
{
    for (uint64_t i = 0; i < marks->count; i++)
        if (i != step && marks->at[i].kept && marks->at[i].look == marks->at[step].look)
            return false;
    return true;
}

/* The look that most steps have; of equally many the one that comes first. */
static const struct ll_torch_mark *usual_step(const struct ll_torch_marks *marks)
{
    const struct ll_torch_mark *usual = NULL;
    uint64_t most = 0;
    for (uint64_t i = 0; i < marks->count; i++) {
        uint64_t alike = 0;
        for (uint64_t j = 0; marks->at[i].kept && j < marks->count; j++)
            alike += marks->at[j].kept && marks->at[j].look == marks->at[i].look;
        if (alike > most) {
            most = alike;
            usual = &marks->at[i];
        }
    }
    return usual;
}

/* Says what is left out and which steps differ. */
static void describe(const struct ll_torch_marks *marks, uint64_t outside, const char *partial,
                     struct ll_str *line)
{
    enum { NAMED = 4 };
    const struct ll_torch_mark *usual = usual_step(marks);
    uint64_t differing = 0;
    if (outside)
        ll_str_addf(line, "%" PRIu64 " call%s outside of the marked steps %s left out", outside,
                    outside == 1 ? "" : "s", outside == 1 ? "is" : "are");
    if (partial)
        ll_str_addf(line, "%s%s left out: recorded in part", line->length ? "; " : "", partial);
    for (uint64_t i = 0; usual && i < marks->count; i++) {
        const struct ll_torch_mark *mark = &marks->at[i];
        if (!mark->kept || mark->look == usual->look || differing++ >= NAMED)
            continue;
        ll_str_addf(line, "%s%s (%" PRIu64 " call%s%s)",
                    differing > 1  ? ", "
                    : line->length ? "; unlike the other steps: "
                                   : "unlike the other steps: ",
                    mark->name, mark->calls, mark->calls == 1 ? "" : "s",
                    mark->calls == usual->calls ? ", others or of other shapes" : "");
    }
    if (differing > NAMED)
        ll_str_addf(line, " and %" PRIu64 " more", differing - NAMED);
    if (differing)
        ll_str_addf(line, "; %s has %" PRIu64 " call%s", usual->name, usual->calls,
                    usual->calls == 1 ? "" : "s");
}

/* Which of the marks are steps. */
static void choose_steps(struct ll_torch_marks *marks, const struct ll_torch_leaf *leaves, uint64_t count,
                         const struct sequences *s, struct ll_str *line)
{
    struct ll_str partial = {0};
    uint64_t outside = 0, first = LL_TORCH_NO_STEP, last = 0;
    for (uint64_t i = 0; i < count; i++)
        outside += ll_torch_step_of(marks, leaves[i].node, leaves[i].place) == LL_TORCH_NO_STEP;
    for (uint64_t i = 0; i < marks->count; i++) {
        marks->at[i].kept = marks->at[i].calls > 0;
        marks->step_count += marks->at[i].kept;
        first = marks->at[i].kept && first == LL_TORCH_NO_STEP ? i : first;
        last = marks->at[i].kept ? i : last;
    }
    uint64_t second = first, next_to_last = last;
    for (uint64_t i = 0; i < marks->count; i++) {
        second = marks->at[i].kept && i > first && second == first ? i : second;
        next_to_last = marks->at[i].kept && i < last ? i : next_to_last;
    }
    bool several = marks->step_count > 1;
    bool head = several && is_part(s, first, second, false) && is_alone(marks, first);
    bool tail = several && !(head && next_to_last == first) && is_part(s, last, next_to_last, true) &&
                is_alone(marks, last);
    if (head || tail) {
        marks->at[head ? first : last].kept = false;
        marks->at[tail ? last : first].kept = false;
        marks->step_count -= 1u + (head && tail);
        ll_str_addf(&partial, "%s%s%s %s", head ? marks->at[first].name : "", head && tail ? " and " : "",
                    tail ? marks->at[last].name : "", head && tail ? "are" : "is");
    }
    if (marks->step_count > 0)
        describe(marks, outside, partial.length ? partial.text : NULL, line);
    line->failed = line->failed || partial.failed;
    ll_str_release(&partial);
}

bool ll_torch_find_marks(struct ll_import *import, const struct ll_torch_nodes *nodes,
                         const struct ll_torch_leaf *leaves, uint64_t count, struct ll_torch_marks *marks)
{
    struct sequences s = {.looks = NULL};
    struct ll_str line = {0};
    bool fine = list_marks(nodes, marks);
    s.looks = calloc(count + 1, sizeof *s.looks);
    s.first = calloc(marks->count + 2, sizeof *s.first);
    fine = fine && s.looks && s.first;
    for (uint64_t i = 0; fine && i < count; i++) {
        uint64_t at = mark_before(marks, leaves[i].node, leaves[i].place);
        marks->spanning = marks->spanning || (at != LL_TORCH_NO_STEP && marks->timed &&
                                              leaves[i].node->begin_ns < marks->at[at].end);
    }
    for (uint64_t i = 0; fine && i < marks->count; i++)
        marks->at[i].kept = true;
    uint64_t looks = 0, step = 0;
    for (uint64_t i = 0; fine && i < count; i++) {
        uint64_t at = ll_torch_step_of(marks, leaves[i].node, leaves[i].place);
        if (at == LL_TORCH_NO_STEP)
            continue;
        assert(at >= step);
        while (step < at)
            s.first[++step] = looks;
        s.looks[looks] = look_of(leaves[i].node);
        marks->at[at].look = ll_hash_bytes(marks->at[at].look, &s.looks[looks++], sizeof *s.looks);
        marks->at[at].calls++;
    }
    while (fine && step < marks->count)
        s.first[++step] = looks;
    if (fine && marks->count > 0)
        choose_steps(marks, leaves, count, &s, &line);
    fine = fine && !line.failed;
    if (fine && line.length > 0)
        fine = (marks->warning = ll_copy_text(&import->arena, line.text, line.length)) != NULL;
    ll_str_release(&line);
    free(s.looks);
    free(s.first);
    return fine || ll_import_no_memory(import);
}

void ll_torch_marks_release(struct ll_torch_marks *marks)
{
    free(marks->at);
    *marks = (struct ll_torch_marks){0};
}

void ll_torch_keep_step(struct ll_torch_kept *kept)
{
    ll_map_release(&kept->looks);
    kept->read_count = 0;
}

/* The slot of the storage of what looks so, the next one of this step; *is_new where no step before had
 * it. */
static uint64_t *next_place(struct ll_torch_kept *kept, uint64_t look, bool *is_new)
{
    bool is_first = false;
    uint32_t at = ll_map_intern(&kept->looks, &look, sizeof look, &is_first);
    if (at == LL_NO_ID ||
        !ll_grow(&kept->counts, &kept->count_capacity, (uint64_t)at + 1, sizeof *kept->counts))
        return NULL;
    kept->counts[at] = is_first ? 0 : kept->counts[at] + 1;
    const uint64_t key[] = {look, kept->counts[at]};
    at = ll_map_intern(&kept->places, key, sizeof key, is_new);
    if (at == LL_NO_ID ||
        !ll_grow(&kept->storages, &kept->storage_capacity, (uint64_t)at + 1, sizeof *kept->storages))
        return NULL;
    return &kept->storages[at];
}

/* For the backward call that reads it. Biases and averages are read by none. */
static bool note_read(struct ll_torch_kept *kept, const struct ll_torch_tensor *tensor, uint32_t argument)
{
    if (tensor->shape.rank < 2 && argument != 1)
        return true;
    if (!ll_grow(&kept->read, &kept->read_capacity, kept->read_count + 1, sizeof *kept->read))
        return false;
    kept->read[kept->read_count++] = (struct ll_torch_read){tensor->shape, tensor->storage, false};
    return true;
}

/* The same tensor, or that with its two dimensions exchanged. */
static bool is_same(const struct ll_shape *a, const struct ll_shape *b)
{
    if (a->rank != b->rank)
        return false;
    bool turned = a->rank == 2 && a->dim[0] == b->dim[1] && a->dim[1] == b->dim[0];
    return turned || memcmp(a->dim, b->dim, sizeof a->dim) == 0;
}

/* Backwards, the last one of such a shape comes first. */
static void find_read(struct ll_torch_kept *kept, struct ll_torch_tensor *tensor)
{
    for (uint64_t i = kept->read_count; i-- > 0;) {
        struct ll_torch_read *read = &kept->read[i];
        if (read->taken || !is_same(&read->shape, &tensor->shape))
            continue;
        read->taken = true;
        tensor->storage = read->storage;
        return;
    }
}

static bool keep_tensor(struct ll_torch_kept *kept, const struct ll_torch_leaf *leaf, uint32_t argument,
                        struct ll_torch_tensor *tensor)
{
    uint64_t look = ll_hash_text(LL_HASH_START, leaf->node->name);
    bool is_new = false;
    look = hash_shape(ll_hash_bytes(look, &argument, sizeof argument), &tensor->shape);
    uint64_t *storage = next_place(kept, look, &is_new);
    if (!storage)
        return false;
    if (is_new)
        *storage = tensor->storage;
    tensor->storage = *storage;
    return leaf->phase == LL_PHASE_UPDATE || note_read(kept, tensor, argument);
}

bool ll_torch_keep(struct ll_torch_kept *kept, const struct ll_torch_leaf *leaf)
{
    bool all = leaf->phase == LL_PHASE_UPDATE, fine = true;
    for (uint32_t a = 0; a < leaf->node->input_count; a++) {
        const struct ll_torch_value *value = &leaf->node->inputs[a];
        for (uint32_t t = 0; fine && value->kind == LL_TORCH_TENSORS && t < value->count; t++) {
            if (value->tensors[t].absent || !(all || is_weight(leaf, a)))
                continue;
            if (leaf->phase == LL_PHASE_BACKWARD)
                find_read(kept, &value->tensors[t]);
            else
                fine = keep_tensor(kept, leaf, a, &value->tensors[t]);
        }
    }
    return fine;
}

void ll_torch_keep_release(struct ll_torch_kept *kept)
{
    ll_map_release(&kept->places);
    ll_map_release(&kept->looks);
    free(kept->storages);
    free(kept->counts);
    free(kept->read);
    *kept = (struct ll_torch_kept){0};
}
