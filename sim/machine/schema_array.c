/* SPDX-License-Identifier: Apache-2.0 */
/* The keys of convolution cores, of arrays that compute in memory, and of an array: its axes, the registers
 * in its elements, what an access of a memory is; and ports as text.
 *
 * A port is "64..512 input.read weight.read output.update": the least and the most bits that it moves in a
 * cycle (one number where both are the same), and what it serves. */
#include <float.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/machine/schema_types.h"
#include "tracer/base/str.h"

#define POSITIVE DBL_MIN
#define MOST_BYTES 0x1p50
#define MOST_BITS 1e9
#define MOST_RATE 1e6
#define MOST_UNITS 1048576

static const char *const packings[] = {"none", "stride", "lines", NULL};
static const char *const winograds[] = {"none", "exact", "blocks", NULL};
static const char *const converting[] = {"slices", "sums", NULL};
static const char *const axes[] = {"D1", "D2", "D3", "D4", "D5", "D6", NULL};
static const char *const countings[] = {"leadline", "timeloop", "zigzag", NULL};
static const char *const operands[] = {"input", "weight", "output"};
static const char *const ways[] = {"read", "fill", "update", "drain"};

/* --- ports --- */

/* "64..512" or "512". */
static bool parse_width(const char **text, struct ll_array_port *port)
{
    size_t digits = strspn(*text, "0123456789");
    bool range = digits > 0 && strncmp(*text + digits, "..", 2) == 0;
    const char *most = range ? *text + digits + 2 : *text;
    char *end;
    port->width_bits = ll_strtod(most, &end);
    port->min_bits = range ? (double)strtoull(*text, NULL, 10) : port->width_bits;
    if (end == most)
        return false;
    *text = end;
    return port->min_bits > 0 && port->width_bits >= port->min_bits && port->width_bits <= MOST_BITS;
}

static bool parse_served(const char **text, struct ll_array_port *port)
{
    for (int o = 0; o < LL_OPERAND_COUNT; o++)
        for (int way = 0; way < LL_ARRAY_WAYS; way++) {
            char word[32];
            size_t length = (size_t)snprintf(word, sizeof word, "%s.%s", operands[o], ways[way]);
            bool none = o != LL_OPERAND_C && (way == LL_ARRAY_UPDATE || way == LL_ARRAY_DRAIN);
            if (none || strncmp(*text, word, length) != 0 || ((*text)[length] && (*text)[length] != ' '))
                continue;
            port->serves[o] |= (uint8_t)(1u << way);
            *text += length;
            return true;
        }
    return false;
}

static bool parse_port(const char *text, struct ll_array_port *port)
{
    *port = (struct ll_array_port){0};
    text += strspn(text, " ");
    if (!parse_width(&text, port))
        return false;
    do {
        text += strspn(text, " ");
        if (!parse_served(&text, port))
            return false;
    } while (*text);
    return true;
}

void ll_port_print(const struct ll_array_port *port, char text[LL_PORT_TEXT])
{
    size_t length =
        (size_t)(port->min_bits == port->width_bits
                     ? snprintf(text, LL_PORT_TEXT, "%.10g", port->width_bits)
                     : snprintf(text, LL_PORT_TEXT, "%.10g..%.10g", port->min_bits, port->width_bits));
    for (int o = 0; o < LL_OPERAND_COUNT; o++)
        for (int way = 0; way < LL_ARRAY_WAYS; way++)
            if (port->serves[o] >> way & 1)
                length +=
                    (size_t)snprintf(text + length, LL_PORT_TEXT - length, " %s.%s", operands[o], ways[way]);
}

bool ll_read_PORTS(const struct ll_field *field, const struct ll_node *node, void *object,
                   struct ll_reading *reading)
{
    struct ll_array_port *ports = ll_at(object, field->offset);
    uint64_t *count = ll_at(object, field->count_offset);
    bool right = true;
    if (!ll_is_type(node, LL_NODE_LIST, "a list of ports, as [64..512 input.read]", reading) ||
        !ll_length_of(field, node, LL_ARRAY_PORTS, "ports", reading))
        return false;
    *count = 0;
    for (const struct ll_node *child = node->first; child; child = child->next) {
        if (!child->text || !parse_port(child->text, &ports[*count]))
            right = ll_expected(child, reading,
                                "bits a cycle, at least and at most, and what it serves (input, weight or "
                                "output; read, fill, "
                                "and of outputs update or drain), as 64..512 input.read weight.read");
        ++*count;
    }
    return right;
}

void ll_write_PORTS(const struct ll_field *field, const void *object, const struct ll_machine *machine,
                    struct ll_dump *dump)
{
    const struct ll_array_port *ports = ll_at_const(object, field->offset);
    char text[LL_PORT_TEXT];
    (void)machine;
    dump->verbs->open(dump->out, LL_NODE_LIST, false);
    for (uint64_t i = 0; i < ll_count_of(field, object); i++) {
        ll_port_print(&ports[i], text);
        dump->verbs->word(dump->out, text);
    }
    dump->verbs->close(dump->out, LL_NODE_LIST);
}

/* --- keys --- */

/* clang-format off */
#define TABLE(what_it_is, rows, type) .what = what_it_is, .fields = rows, .count = sizeof rows / sizeof *rows, .size = sizeof(type)
#define AT(member) .offset = offsetof(struct ll_accesses, member)
static const struct ll_field accesses_fields[] = {
    {.key = "ports", .type = LL_TYPE_PORTS, AT(port), .count_offset = offsetof(struct ll_accesses, port_count),
     .help = "ports of an instance, as [64..512 input.read, 2048 output.read output.update]: the least and the most bits "
             "that each moves in a cycle, and what it serves: words of input, weight or output that are read by what lies "
             "inside or fill from outside, results that update from inside or drain to the outside. When not given, "
             "moving words takes no time"},
    {.key = "width", .type = LL_TYPE_NUMBER, AT(width_bits), .min = 0, .max = MOST_BITS, .otherwise = "0",
     .help = "bits of an access, of which the energies are; 0: as many as the port moves at most"},
    {.key = "min_width", .type = LL_TYPE_NUMBER, AT(min_bits), .min = 0, .max = MOST_BITS, .otherwise = "0",
     .help = "bits of the smallest part of an access, which takes its share of the energy; 0: `width`"},
    {.key = "read_pj", .type = LL_TYPE_NUMBER, AT(read_j), .unit = "pJ", .min = 0, .max = 1, .otherwise = "0",
     .help = "energy of reading once, in pJ"},
    {.key = "write_pj", .type = LL_TYPE_NUMBER, AT(write_j), .unit = "pJ", .min = 0, .max = 1, .otherwise = "0",
     .help = "energy of writing once, in pJ"},
    {.key = "update_pj", .type = LL_TYPE_NUMBER, AT(update_j), .unit = "pJ", .min = 0, .max = 1, .otherwise = "0",
     .help = "energy of writing a result or partial sum, in pJ; 0: as `write_pj`"},
    {.key = "leak_pj", .type = LL_TYPE_NUMBER, AT(leak_j), .unit = "pJ", .min = 0, .max = 1, .otherwise = "0",
     .help = "energy that an instance leaks in a cycle, in pJ"},
    {.key = "cluster", .type = LL_TYPE_WHOLE, AT(cluster), .min = 1, .max = 1048576, .otherwise = "1",
     .help = "instances that one access serves, as those of a row of registers that are one memory"},
    {.key = "cell_ports", .type = LL_TYPE_WHOLE, AT(cell_ports), .min = 1, .max = 64, .otherwise = "1",
     .help = "ports of each memory cell, where energy and area follow from the size: word and bit lines of further ones make "
             "cells larger and lines longer; several `ports` that lie on banks of their own need no more"},
    {.key = "by_line", .type = LL_TYPE_BOOL, AT(by_line), .otherwise = "false",
     .help = "whether words that come one after the other are read and updated in whole lines of `width`; else each "
             "transfer takes its own"},
};
#undef AT
const struct ll_field_table ll_accesses_table = {TABLE("accesses", accesses_fields, struct ll_accesses)};

#define AT(member) .offset = offsetof(struct ll_register, member)
static const struct ll_field register_fields[] = {
    {.key = "name", .type = LL_TYPE_NAME, AT(name), .required = true, .help = "name that paths, mappings and reports use"},
    {.key = "size", .type = LL_TYPE_SIZE, AT(size_bytes), .dimension = LL_DIMENSION_SIZE, .required = true, .min = 1,
     .max = MOST_BYTES, .help = "capacity of one instance"},
    {.key = "holds", .type = LL_TYPE_OPERANDS, AT(holds), .given_offset = offsetof(struct ll_register, holds_given),
     .help = "operands that it may keep, as [weight]; others pass by; when not given, all"},
    {.key = "serves", .type = LL_TYPE_WORDS, AT(serves), .choices = axes,
     .help = "axes along which all elements share an instance, as [D2]; along every other each position has its own; when "
             "not given, each element has one"},
    {.key = "decode_bits", .type = LL_TYPE_NUMBER, AT(decode_bits), .min = 0, .max = 64, .otherwise = "0",
     .help = "bits of an address that each line compares, where energies follow from the technology's `decode_pj_per_bit`; "
             "0: those that tell its lines apart"},
    {.key = "accesses", .type = LL_TYPE_OBJECT, AT(accesses), .table = &ll_accesses_table,
     .given_offset = offsetof(struct ll_register, accesses_given),
     .help = "width, ports and energy of an access; when not given, accesses take no time, and the energy that `on_chip_pj` says of memories of this size"},
};
#undef AT
static const struct ll_field_table register_table = {TABLE("register", register_fields, struct ll_register)};

#define AT(member) .offset = offsetof(struct ll_unit, array.member)
static const struct ll_field array_fields[] = {
    {.key = "axes", .type = LL_TYPE_EXTENTS, AT(axes), .required = true, .min = 1, .max = 1048576,
     .help = "elements along each axis, as 32x32; axes are called D1, D2, ..."},
    {.key = "registers", .type = LL_TYPE_LIST, AT(registers), .count_offset = offsetof(struct ll_unit, array.register_count),
     .table = &register_table, .max = LL_MAX_REGISTERS,
     .help = "memories inside the array, innermost first; those of the machine lie outside and serve all elements"},
    {.key = "unroll", .type = LL_TYPE_TEXTS, AT(unroll), .count_offset = offsetof(struct ll_unit, array.unroll_count),
     .help = "loops that may run along axes, as [D1:K D2:C, D1:K D2:OX]: of several ways the best; when not given, any. What "
             "begins with `conv` or `gemm` is for those alone, as [conv D1:K D2:C, gemm D1:N D2:K]"},
    {.key = "limits", .type = LL_TYPE_TEXTS, AT(limits), .count_offset = offsetof(struct ll_unit, array.limit_count),
     .help = "what the search for mappings keeps to, by store or axis, as [\"rf: keep weight; bypass input; order FX FY; factors "
             "FX=3 K=0\", \"D1: factors K=16\"]: order lists the innermost loops, innermost first; a factor of 0 is all that a "
             "dimension has; `conv` or `gemm` before the store as in `unroll`"},
    {.key = "mapping", .type = LL_TYPE_TEXTS, AT(given), .count_offset = offsetof(struct ll_unit, array.given_count),
     .help = "mappings of problems, as [K=64 C=3 OX=8 => @dram K4 OX8 @rf K16:D1 C3:D2], which are taken as they are; "
             "other problems get the best that the search finds"},
    {.key = "hop_pj", .type = LL_TYPE_NUMBER, AT(hop_j), .unit = "pJ", .min = 0, .max = 1, .otherwise = "0",
     .help = "energy of a bit from one element to the next, in pJ; 0: that of a wire over a square element of the "
             "area section, by the node; without these, none"},
    {.key = "counts", .type = LL_TYPE_CHOICE, AT(counting), .choices = countings, .otherwise = "leadline",
     .help = "what counts as an access, where descriptions leave it open: as here, or as in the tool that the description "
             "is of (see sim/array/nest.h)"},
    {.key = "gated", .type = LL_TYPE_BOOL, AT(gated), .otherwise = "false",
     .help = "whether elements and registers at rest do not leak"},
    {.key = "macs", .type = LL_TYPE_DTYPES, AT(macs), .required = true, .min = POSITIVE, .max = MOST_RATE,
     .help = "multiply-accumulates per element and cycle, by dtype"},
};
#undef AT

#define AT(member) .offset = offsetof(struct ll_unit, member)

static const struct ll_field conv_core_fields[] = {
    {.key = "channels", .type = LL_TYPE_WHOLE, AT(conv_core.channels), .required = true, .min = 1, .max = 65536,
     .help = "channels of a pixel that are multiplied and added up at once; those of a layer are rounded up to a multiple"},
    {.key = "kernels", .type = LL_TYPE_WHOLE, AT(conv_core.kernels), .required = true, .min = 1, .max = 65536,
     .help = "filters with which a pixel's channels are multiplied at once, rounded up likewise"},
    {.key = "multipliers", .type = LL_TYPE_WHOLE, AT(conv_core.multipliers), .min = 0, .max = MOST_UNITS,
     .otherwise = "0",
     .help = "multipliers, where they are not channels x kernels: what there is to multiply is then spread over them without "
             "rest; 0: channels x kernels"},
    {.key = "packing", .type = LL_TYPE_CHOICE, AT(conv_core.packing), .choices = packings, .otherwise = "none",
     .help = "what more becomes channels: nothing; the pixels of a stride, of every strided layer, whose filters then "
             "have zeros where the stride does not divide them; or, of images of few channels, the lines of a filter, "
             "and 2 or 4 of them together where these and as many strides are no more than `channels`"},
    {.key = "image_channels", .type = LL_TYPE_WHOLE, AT(conv_core.image_channels), .min = 1, .max = 65536,
     .otherwise = "4", .help = "the most channels of an image whose lines are packed; it and its filters then lie in memory densely"},
    {.key = "whole_taps", .type = LL_TYPE_BOOL, AT(conv_core.whole_taps), .otherwise = "true",
     .help = "whether taps of strides and lines that are packed take the time of whole ones"},
    {.key = "winograd", .type = LL_TYPE_CHOICE, AT(conv_core.winograd), .choices = winograds, .otherwise = "none",
     .help = "whether 3x3 filters of stride 1 are convolved by Winograd's F(2x2, 3x3), whose weights are 16/9 as large: "
             "never; 2.25 times as fast; or in blocks of 4x4 outputs and 4 channels, where that is faster"},
    {.key = "least_stripe", .type = LL_TYPE_WHOLE, AT(conv_core.least_stripe), .min = 1, .max = MOST_UNITS,
     .otherwise = "1",
     .help = "cycles, one a pixel, for which weights stay at least, since the next ones load as long"},
    {.key = "stripe", .type = LL_TYPE_WHOLE, AT(conv_core.stripe), .min = 0, .max = 1u << 30, .otherwise = "0",
     .help = "pixels for which weights stay at most, since so many sums are kept; then they are read again; 0: all"},
    {.key = "memory_channels", .type = LL_TYPE_WHOLE, AT(conv_core.memory_channels), .min = 1, .max = 65536,
     .otherwise = "1", .help = "a multiple to which memory rounds up the channels of images, filters and results"},
    {.key = "image_by_image", .type = LL_TYPE_BOOL, AT(conv_core.image_by_image), .otherwise = "false",
     .help = "whether the weights of a convolution come anew for each image of a batch; those of a GEMM do not"},
    {.key = "fill_cycles", .type = LL_TYPE_NUMBER, AT(conv_core.fill_cycles), .min = 0, .max = MOST_RATE,
     .otherwise = "0", .help = "cycles before the first result leaves the core"},
    {.key = "macs", .type = LL_TYPE_DTYPES, AT(conv_core.macs), .required = true, .min = POSITIVE, .max = MOST_RATE,
     .help = "multiply-accumulates per multiplier and cycle, by dtype"},
};

static const struct ll_field in_memory_fields[] = {
    {.key = "rows", .type = LL_TYPE_WHOLE, AT(in_memory.rows), .required = true, .min = 1, .max = 1u << 24,
     .help = "rows of cells, one for each element of k"},
    {.key = "columns", .type = LL_TYPE_WHOLE, AT(in_memory.columns), .required = true, .min = 1, .max = 1u << 24,
     .help = "columns of cells, of which a weight takes some"},
    {.key = "sets", .type = LL_TYPE_WHOLE, AT(in_memory.sets), .min = 1, .max = MOST_UNITS, .otherwise = "1",
     .help = "weights that lie behind each other at a place, of which one works at a time"},
    {.key = "cell_bits", .type = LL_TYPE_WHOLE, AT(in_memory.cell_bits), .min = 1, .max = 64, .otherwise = "1",
     .help = "bits of a weight in one cell"},
    {.key = "cells", .type = LL_TYPE_WHOLE, AT(in_memory.cells), .min = 1, .max = 64, .otherwise = "1",
     .help = "cells for each such part of a weight, as pairs for signed ones"},
    {.key = "dac_bits", .type = LL_TYPE_WHOLE, AT(in_memory.dac_bits), .min = 0, .max = 64, .otherwise = "1",
     .help = "bits of an input that come to a row in one slice; 0: an input comes as a number of pulses, 2^bits - 1 slices"},
    {.key = "rows_at_once", .type = LL_TYPE_WHOLE, AT(in_memory.rows_at_once), .min = 0, .max = 1u << 24,
     .otherwise = "0", .help = "rows that a column sums up at once, the others after them; 0: all"},
    {.key = "columns_per_adc", .type = LL_TYPE_WHOLE, AT(in_memory.columns_per_adc), .min = 0, .max = 1u << 24,
     .otherwise = "1", .help = "columns that share a converter, which serves them in turn; 0: none, as where sums are digital"},
    {.key = "converts", .type = LL_TYPE_CHOICE, AT(in_memory.converts), .choices = converting, .otherwise = "slices",
     .help = "what is converted: the sums of each slice, or, where these are added up before, the sums of all"},
    {.key = "pipelined", .type = LL_TYPE_BOOL, AT(in_memory.pipelined), .otherwise = "false",
     .help = "whether a slice is summed up while the one before is converted"},
    {.key = "slice_cycles", .type = LL_TYPE_NUMBER, AT(in_memory.slice_cycles), .min = POSITIVE, .max = 1e9,
     .otherwise = "1", .help = "cycles of a slice: driving the rows and summing up, and converting where `conversion_cycles` is 0"},
    {.key = "conversion_cycles", .type = LL_TYPE_NUMBER, AT(in_memory.conversion_cycles), .min = 0, .max = 1e9,
     .otherwise = "0", .help = "cycles of a conversion"},
    {.key = "write_cycles", .type = LL_TYPE_NUMBER, AT(in_memory.write_cycles), .min = 0, .max = 1e9, .otherwise = "0",
     .help = "cycles to write a row of cells, when weights come; meanwhile the array does not multiply"},
    {.key = "cell_pj", .type = LL_TYPE_NUMBER, AT(in_memory.cell_j), .unit = "pJ", .min = 0, .max = 1, .otherwise = "0",
     .help = "energy of a cell in a slice, in pJ"},
    {.key = "drive_pj", .type = LL_TYPE_NUMBER, AT(in_memory.drive_j), .unit = "pJ", .min = 0, .max = 1, .otherwise = "0",
     .help = "energy of driving a row (DAC) in a slice, in pJ; 0: of `dac_bits` of at least 2 as the node says"},
    {.key = "convert_pj", .type = LL_TYPE_NUMBER, AT(in_memory.convert_j), .unit = "pJ", .min = 0, .max = 1,
     .otherwise = "0", .help = "energy of a conversion, in pJ; 0: as `adc_bits` says"},
    {.key = "adc_bits", .type = LL_TYPE_NUMBER, AT(in_memory.adc_bits), .min = 0, .max = 20, .otherwise = "0",
     .help = "bits of a converter, of which energy and area follow with its rate and the node (Andrulis et al., 2024); 0: they "
             "do not"},
    {.key = "add_pj", .type = LL_TYPE_NUMBER, AT(in_memory.add_j), .unit = "pJ", .min = 0, .max = 1, .otherwise = "0",
     .help = "energy of shifting and adding what the columns of a weight give for a slice, in pJ"},
    {.key = "slice_pj", .type = LL_TYPE_NUMBER, AT(in_memory.slice_j), .unit = "pJ", .min = 0, .max = 1, .otherwise = "0",
     .help = "energy of an array in a slice, whatever part of it works, in pJ"},
    {.key = "write_pj", .type = LL_TYPE_NUMBER, AT(in_memory.write_j), .unit = "pJ", .min = 0, .max = 1, .otherwise = "0",
     .help = "energy of writing a cell, in pJ"},
    {.key = "weight_bits", .type = LL_TYPE_DTYPES, AT(in_memory.weight_bits), .required = true, .min = 1, .max = 64,
     .help = "bits of a weight that cells hold, by the dtypes that it multiplies"},
    {.key = "input_bits", .type = LL_TYPE_DTYPES, AT(in_memory.input_bits), .min = 1, .max = 64,
     .help = "bits of an input that come in slices, by dtype; when not given, as many as of a weight"},
};

#undef AT
const struct ll_field_table ll_fields_CONV_CORE = {
    TABLE("convolution core", conv_core_fields, struct ll_unit), .gemms_only = true};
const struct ll_field_table ll_fields_IN_MEMORY = {
    TABLE("in-memory unit", in_memory_fields, struct ll_unit), .gemms_only = true};
const struct ll_field_table ll_fields_ARRAY = {TABLE("array unit", array_fields, struct ll_unit), .gemms_only = true};
/* clang-format on */
