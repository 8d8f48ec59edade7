/* SPDX-License-Identifier: Apache-2.0 */
/* Steps of our traces as numbers: of each its ops, its times, whether it is whole. */
#include "tracer/convert/chakra_file.h"

enum { FIRST_OP, OPS, START, WALL, RECORDING, WHOLE, NUMBERS };

void chakra_pack_steps(struct ll_str *packed, const struct ll_step *steps, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++) {
        const uint64_t numbers[NUMBERS] = {
            [FIRST_OP] = steps[i].first_op, [OPS] = steps[i].op_count,           [START] = steps[i].start_ns,
            [WALL] = steps[i].wall_ns,      [RECORDING] = steps[i].recording_ns, [WHOLE] = steps[i].complete};
        for (unsigned k = 0; k < NUMBERS; k++)
            ll_wire_put_varint(packed, numbers[k]);
    }
}

/* One behind the other from the first op to the last. */
static bool add_up(const struct ll_step *steps, uint64_t count, uint64_t op_count)
{
    uint64_t next = 0;
    for (uint64_t i = 0; i < count; i++) {
        if (steps[i].first_op != next || steps[i].op_count > op_count - next)
            return false;
        next += steps[i].op_count;
    }
    return next == op_count;
}

/* Whether ops stand where they stood in the trace, which numbered the nodes. */
static bool in_order(const struct chakra_file *file, const uint32_t *ops)
{
    for (uint64_t i = 0; i < file->count; i++)
        if (ops[i] != file->nodes[i].id)
            return false;
    return true;
}

static struct ll_step step_of(const int64_t *number)
{
    return (struct ll_step){.first_op = (uint32_t)number[FIRST_OP],
                            .op_count = (uint32_t)number[OPS],
                            .start_ns = (uint64_t)number[START],
                            .wall_ns = (uint64_t)number[WALL],
                            .recording_ns = (uint64_t)number[RECORDING],
                            .complete = number[WHOLE] != 0};
}

bool chakra_cut_steps(struct ll_import *import, const struct chakra_file *file, const uint32_t *ops)
{
    struct chakra_attr told;
    struct ll_wire_field field;
    uint64_t held = 0;
    if (!in_order(file, ops) || !chakra_attr_find(file->metadata, METADATA_ATTR, CHAKRA_STEPS, &told) ||
        ll_wire_next(&told.list, &field) != LL_WIRE_FIELD || !ll_wire_count(&field, &held))
        return true;
    struct ll_step *steps = ll_alloc(&import->arena, held / NUMBERS, sizeof *steps);
    int64_t *numbers = ll_alloc(&import->arena, held, sizeof *numbers);
    if (!steps || !numbers)
        return ll_import_no_memory(import);
    uint64_t count = ll_wire_integers(&field, numbers, held) / NUMBERS;
    for (uint64_t i = 0; i < count; i++)
        steps[i] = step_of(numbers + i * NUMBERS);
    if (add_up(steps, count, file->count))
        ll_recorder_cut(import->recorder, steps, count);
    return true;
}
