/* SPDX-License-Identifier: Apache-2.0 */
/* The dumb twin of sim/scalesim: every matrix of addresses is written out, every set is a set, every word
 * that is stored lies in a line. Small layers only. Memory lives in the arena; when it runs out the test
 * dies. */
#ifndef LL_TESTS_SCALESIM_TWIN_H
#define LL_TESTS_SCALESIM_TWIN_H

#include "sim/scalesim/scalesim.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* Addresses, -1 where nothing is asked. */
struct twin_matrix {
    int rows, columns;
    int *at;
};

static inline void *twin_alloc(struct ll_arena *arena, size_t count, size_t size)
{
    void *memory = ll_alloc(arena, count, size);
    assert(memory);
    return memory;
}

static inline struct twin_matrix twin_matrix(struct ll_arena *arena, int rows, int columns)
{
    struct twin_matrix m = {rows, columns, twin_alloc(arena, (size_t)rows * (size_t)columns, sizeof(int))};
    for (int i = 0; i < rows * columns; i++)
        m.at[i] = -1;
    return m;
}

/* One of the operand matrices: ifmap m x k, filter k x n, ofmap m x n. */
static inline struct twin_matrix twin_operand(const struct ll_scalesim_layer *l,
                                              const struct ll_scalesim_folds *f,
                                              enum ll_scalesim_operand operand, struct ll_arena *arena)
{
    int m = (int)f->m, n = (int)f->n, k = (int)f->k, channels = (int)l->channels, in_w = (int)l->in_w;
    bool ifmap = operand == LL_SCALESIM_IFMAP, filter = operand == LL_SCALESIM_FILTER;
    struct twin_matrix matrix = twin_matrix(arena, filter ? k : m, ifmap ? k : n);
    for (int i = 0; i < matrix.rows; i++)
        for (int j = 0; j < matrix.columns; j++) {
            int h = i / (int)f->out_w * (int)l->stride_h + j / ((int)l->filter_w * channels);
            int w = i % (int)f->out_w * (int)l->stride_w + j % ((int)l->filter_w * channels) / channels;
            bool outside = ifmap && (h >= (int)l->in_h || w >= in_w);
            int image = (h * in_w + w) * channels + j % channels;
            matrix.at[i * matrix.columns + j] = outside ? -1 : ifmap ? image : filter ? j * k + i : i * n + j;
        }
    return matrix;
}

static inline struct twin_matrix twin_transpose(struct twin_matrix m, struct ll_arena *arena)
{
    struct twin_matrix t = twin_matrix(arena, m.columns, m.rows);
    for (int i = 0; i < m.rows; i++)
        for (int j = 0; j < m.columns; j++)
            t.at[j * t.columns + i] = m.at[i * m.columns + j];
    return t;
}

/* A block of rows x columns from this corner on, nothing where it reaches beyond the matrix. */
static inline struct twin_matrix twin_block(struct twin_matrix m, int row, int column, int rows, int columns,
                                            struct ll_arena *arena)
{
    struct twin_matrix b = twin_matrix(arena, rows, columns);
    for (int i = 0; i < rows && row + i < m.rows; i++)
        for (int j = 0; j < columns && column + j < m.columns; j++)
            b.at[i * columns + j] = m.at[(row + i) * m.columns + column + j];
    return b;
}

static inline struct twin_matrix twin_flip(struct twin_matrix m)
{
    for (int i = 0; i < m.rows / 2; i++)
        for (int j = 0; j < m.columns; j++) {
            int *a = &m.at[i * m.columns + j], *b = &m.at[(m.rows - 1 - i) * m.columns + j], kept = *a;
            *a = *b;
            *b = kept;
        }
    return m;
}

/* A block as it passes: `before` empty lines, column c another c lines late, `lines` in all; put below the
 * matrix so far. */
static inline void twin_append(struct twin_matrix *all, struct twin_matrix block, int before, int skew,
                               int lines)
{
    for (int i = 0; i < block.rows; i++)
        for (int j = 0; j < block.columns; j++) {
            assert(before + i + j * skew < lines);
            all->at[(all->rows + before + i + j * skew) * all->columns + j] = block.at[i * block.columns + j];
        }
    all->rows += lines;
}

/* The three demand matrices, [operand]. */
static inline void twin_demand(const struct ll_scalesim_config *c, const struct ll_scalesim_folds *f,
                               const struct twin_matrix *operands, struct twin_matrix *demand,
                               struct ll_arena *arena)
{
    int rows = (int)c->rows, columns = (int)c->columns, lines = (int)f->fold_lines, all = (int)f->lines;
    int t = (int)f->streamed, widths[] = {rows, columns, columns};
    bool os = c->dataflow == LL_OUTPUT_STATIONARY, is = c->dataflow == LL_INPUT_STATIONARY;
    struct twin_matrix by_k = twin_transpose(operands[LL_SCALESIM_IFMAP], arena);
    struct twin_matrix filter = operands[LL_SCALESIM_FILTER], by_n = twin_transpose(filter, arena);
    struct twin_matrix out = operands[LL_SCALESIM_OFMAP], out_by_n = twin_transpose(out, arena);
    if (is) {
        widths[LL_SCALESIM_IFMAP] = columns;
        widths[LL_SCALESIM_FILTER] = rows;
    }
    for (int i = 0; i < LL_SCALESIM_OPERANDS; i++) {
        demand[i] = twin_matrix(arena, all, widths[i]);
        demand[i].rows = 0;
    }
    for (int fc = 0; fc < (int)f->column_folds; fc++)
        for (int fr = 0; fr < (int)f->row_folds; fr++) {
            int r = fr * rows, col = fc * columns;
            if (os) {
                twin_append(&demand[0], twin_block(by_k, 0, r, t, rows, arena), 0, 1, lines);
                twin_append(&demand[1], twin_block(filter, 0, col, t, columns, arena), 0, 1, lines);
                twin_append(&demand[2], twin_flip(twin_block(out, r, col, rows, columns, arena)), t - 1, 1,
                            lines);
            } else if (is) {
                twin_append(&demand[0], twin_flip(twin_block(by_k, r, col, rows, columns, arena)), 0, 0,
                            lines);
                twin_append(&demand[1], twin_block(by_n, 0, r, t, rows, arena), rows, 1, lines);
                twin_append(&demand[2], twin_block(out_by_n, 0, col, t, columns, arena), 2 * rows - 1, 1,
                            lines);
            } else {
                twin_append(&demand[0], twin_block(operands[0], 0, r, t, rows, arena), rows, 1, lines);
                twin_append(&demand[1], twin_flip(twin_block(filter, r, col, rows, columns, arena)), 0, 0,
                            lines);
                twin_append(&demand[2], twin_block(out, 0, col, t, columns, arena), 2 * rows - 1, 1, lines);
            }
        }
}

/* Folds of `width` columns of a matrix, one below the other. */
static inline struct twin_matrix twin_stack(struct twin_matrix m, int width, struct ll_arena *arena)
{
    int folds = (m.columns + width - 1) / width;
    struct twin_matrix stack = twin_matrix(arena, folds * m.rows, width);
    stack.rows = 0;
    for (int i = 0; i < folds; i++)
        twin_append(&stack, twin_block(m, 0, i * width, m.rows, width, arena), 0, 0, m.rows);
    return stack;
}

static inline struct twin_matrix twin_diagonals(struct twin_matrix m, struct ll_arena *arena)
{
    struct twin_matrix list = twin_matrix(arena, 1, m.rows * m.columns);
    int count = 0;
    for (int diagonal = 0; diagonal < m.rows + m.columns; diagonal++)
        for (int row = diagonal; row >= 0; row--)
            if (row < m.rows && diagonal - row < m.columns)
                list.at[count++] = m.at[row * m.columns + diagonal - row];
    return list;
}

/* What is fetched in USER mode, in order. */
static inline struct twin_matrix twin_fetches(const struct ll_scalesim_config *c,
                                              enum ll_scalesim_operand operand,
                                              const struct twin_matrix *operands, struct ll_arena *arena)
{
    int rows = (int)c->rows, columns = (int)c->columns;
    struct twin_matrix ifmap = operands[LL_SCALESIM_IFMAP], filter = operands[LL_SCALESIM_FILTER];
    if (operand == LL_SCALESIM_IFMAP) {
        if (c->dataflow == LL_OUTPUT_STATIONARY)
            return twin_diagonals(twin_stack(twin_transpose(ifmap, arena), rows, arena), arena);
        if (c->dataflow == LL_WEIGHT_STATIONARY)
            return twin_diagonals(twin_stack(ifmap, rows, arena), arena);
        return twin_stack(twin_transpose(ifmap, arena), columns, arena);
    }
    if (c->dataflow == LL_OUTPUT_STATIONARY)
        return twin_diagonals(twin_stack(filter, columns, arena), arena);
    if (c->dataflow == LL_WEIGHT_STATIONARY)
        return twin_stack(filter, columns, arena);
    return twin_diagonals(twin_stack(twin_transpose(filter, arena), rows, arena), arena);
}

/* Sets of addresses; holds[set * addresses + address]. */
struct twin_sets {
    int addresses, count;
    bool *holds;
};

struct twin_reader {
    bool user;
    struct twin_sets sets;
    int set_words, in_set;   /* both modes */
    int start, active, step; /* USER: the active sets, cyclically */
    long finish, fill_lines, half_lines, prefetches;
    int oldest, end; /* CALC: sets [oldest, end) are the window */
    long first_request, change, fetched;
};

static inline void twin_open_user(struct twin_reader *reader, struct twin_matrix fetches, int addresses,
                                  int words, int bandwidth, struct ll_arena *arena)
{
    int total = fetches.rows * fetches.columns, half = words / 2;
    reader->user = true;
    reader->set_words = (words + 99) / 100;
    reader->sets.addresses = addresses;
    int most = total / reader->set_words + 1;
    reader->sets.holds = twin_alloc(arena, (size_t)most * (size_t)addresses, sizeof(bool));
    for (int i = 0, in_set = 0; i < total; i++) {
        if (fetches.at[i] < 0)
            continue;
        reader->sets.holds[reader->sets.count * addresses + fetches.at[i]] = true;
        reader->sets.count += ++in_set == reader->set_words;
        in_set %= reader->set_words;
    }
    reader->sets.count++;
    int half_sets = (half + reader->set_words - 1) / reader->set_words;
    int rest = reader->sets.count > half_sets ? reader->sets.count - half_sets : 0;
    reader->active = rest ? half_sets : reader->sets.count;
    reader->step = rest < half_sets ? rest : half_sets;
    reader->half_lines = (half + bandwidth - 1) / bandwidth;
    reader->fill_lines = (total + bandwidth - 1) / bandwidth;
    if (reader->fill_lines > reader->half_lines)
        reader->fill_lines = reader->half_lines;
    reader->finish = -1;
}

static inline bool twin_hits(const struct twin_reader *reader, int address)
{
    for (int i = 0; i < reader->active; i++)
        if (reader->sets.holds[(reader->start + i) % reader->sets.count * reader->sets.addresses + address])
            return true;
    return false;
}

static inline long twin_read_user(struct twin_reader *reader, const int *line, int width, long cycle)
{
    long offset = 1;
    for (int i = 0; i < width; i++)
        while (line[i] >= 0 && !twin_hits(reader, line[i])) {
            reader->start = (reader->start + reader->step) % reader->sets.count;
            reader->finish += reader->half_lines + 1;
            reader->prefetches++;
            if (reader->finish > cycle + offset)
                offset = reader->finish - cycle;
        }
    return cycle + offset;
}

static inline void twin_open_calc(struct twin_reader *reader, struct twin_matrix demand, int addresses,
                                  int words, struct ll_arena *arena)
{
    reader->set_words = words / 100;
    reader->sets.addresses = addresses;
    int most = demand.rows * demand.columns / reader->set_words + 2;
    reader->sets.holds = twin_alloc(arena, (size_t)most * (size_t)addresses, sizeof(bool));
    reader->first_request = reader->change = -1;
}

static inline long twin_read_calc(struct twin_reader *reader, const int *line, int width, long cycle)
{
    for (int i = 0; i < width; i++) {
        if (line[i] < 0)
            continue;
        if (reader->first_request < 0)
            reader->first_request = cycle;
        bool hit = false;
        for (int set = reader->oldest; set <= reader->end; set++)
            hit = hit || reader->sets.holds[set * reader->sets.addresses + line[i]];
        if (hit)
            continue;
        reader->sets.holds[reader->end * reader->sets.addresses + line[i]] = true;
        reader->fetched++;
        if (++reader->in_set < reader->set_words)
            continue;
        reader->in_set = 0;
        if (++reader->end - reader->oldest == 50) {
            reader->oldest = reader->end;
            reader->change = cycle;
        }
    }
    return cycle + 1;
}

static inline struct ll_scalesim_port twin_close(const struct twin_reader *reader, int bandwidth)
{
    if (reader->user)
        return (struct ll_scalesim_port){
            -reader->fill_lines, reader->finish,
            (uint64_t)(reader->fill_lines + reader->prefetches * reader->half_lines) * (uint64_t)bandwidth,
            0};
    int sets = reader->change < 0 ? reader->end + (reader->in_set > 0) : 50;
    long fill = (sets * reader->set_words + 9) / 10;
    return (struct ll_scalesim_port){reader->change < 0 ? -fill : reader->first_request - fill,
                                     reader->change < 0 ? -1 : reader->change + 1, (uint64_t)reader->fetched,
                                     0};
}

/* The write buffer: how many words lie in each line. */
struct twin_writer {
    int words, bandwidth, *lines, count, drained, in_line;
    long free, drain_end, first;
    uint64_t written;
};

static inline void twin_flush(struct twin_writer *writer)
{
    if (writer->in_line)
        writer->lines[writer->count++] = writer->in_line;
    writer->in_line = 0;
}

static inline void twin_drain(struct twin_writer *writer, long cycle)
{
    int lines = (writer->words / 2 + writer->bandwidth - 1) / writer->bandwidth;
    if (lines > writer->count - writer->drained)
        lines = writer->count - writer->drained;
    assert(lines > 0);
    writer->first = writer->written ? writer->first : cycle;
    writer->drained += lines;
    int words = (lines - 1) * writer->bandwidth + writer->lines[writer->drained - 1];
    writer->written += (uint64_t)words;
    writer->free += words;
    writer->drain_end = cycle + lines - 1;
}

static inline long twin_write(struct twin_writer *writer, const int *line, int width, long cycle)
{
    for (int i = 0; i < width; i++) {
        if (line[i] < 0)
            continue;
        writer->free--;
        if (++writer->in_line == writer->bandwidth)
            twin_flush(writer);
        if (cycle < writer->drain_end) {
            if (writer->free <= 0)
                cycle = writer->drain_end;
        } else if (writer->free < writer->words - writer->words / 2) {
            twin_flush(writer);
            twin_drain(writer, cycle);
        }
    }
    return cycle;
}

static inline bool twin_asks(const int *line, int width)
{
    for (int i = 0; i < width; i++)
        if (line[i] >= 0)
            return true;
    return false;
}

static inline void twin_note(struct ll_scalesim_port *port, long cycle)
{
    if (port->start_cycle < 0)
        port->start_cycle = cycle;
    port->stop_cycle = cycle;
}

/* Cycles, stalls and ports without bandwidths; words at the SRAM's side are left at zero. */
static inline struct ll_scalesim_result twin_run(const struct ll_scalesim_config *c,
                                                 const struct ll_scalesim_layer *l)
{
    struct ll_arena arena = {0};
    struct ll_scalesim_folds f = ll_scalesim_fold(c, l);
    struct twin_matrix operands[LL_SCALESIM_OPERANDS], demand[LL_SCALESIM_OPERANDS];
    struct twin_reader readers[2] = {{0}};
    int bandwidth = c->user_bandwidth ? (int)c->words_per_cycle : (int)c->columns;
    int words = (int)(1024 * c->buffer_kB[LL_SCALESIM_OFMAP]);
    for (enum ll_scalesim_operand i = 0; i < LL_SCALESIM_OPERANDS; i++)
        operands[i] = twin_operand(l, &f, i, &arena);
    twin_demand(c, &f, operands, demand, &arena);
    for (enum ll_scalesim_operand i = 0; i < 2; i++) {
        int addresses = (int)(i ? f.k * f.n : l->in_h * l->in_w * l->channels);
        int buffer = (int)(1024 * c->buffer_kB[i]);
        if (c->user_bandwidth)
            twin_open_user(&readers[i], twin_fetches(c, i, operands, &arena), addresses, buffer, bandwidth,
                           &arena);
        else
            twin_open_calc(&readers[i], demand[i], addresses, buffer, &arena);
    }
    struct twin_writer writer = {.words = words, .bandwidth = bandwidth, .free = words};
    writer.lines = twin_alloc(&arena, (size_t)(demand[2].rows * demand[2].columns + 1), sizeof(int));
    struct ll_scalesim_result result = {0};
    for (int i = 0; i < LL_SCALESIM_OPERANDS; i++)
        result.sram[i].start_cycle = -1;
    for (int line = 0; line < demand[0].rows; line++) {
        long cycle = line + (long)result.stall_cycles, longest = 0;
        for (int i = 0; i < LL_SCALESIM_OPERANDS; i++) {
            int width = demand[i].columns;
            const int *asked = &demand[i].at[line * width];
            long served = i == LL_SCALESIM_OFMAP ? twin_write(&writer, asked, width, cycle)
                          : c->user_bandwidth    ? twin_read_user(&readers[i], asked, width, cycle)
                                                 : twin_read_calc(&readers[i], asked, width, cycle);
            long waits = served - cycle - (i != LL_SCALESIM_OFMAP);
            longest = waits > longest ? waits : longest;
            if (twin_asks(asked, width))
                twin_note(&result.sram[i], served);
            if (i == LL_SCALESIM_OFMAP)
                result.total_cycles = served;
        }
        result.stall_cycles += longest;
    }
    twin_flush(&writer);
    for (long cycle = result.total_cycles; writer.drained < writer.count; cycle = writer.drain_end + 1)
        twin_drain(&writer, cycle);
    for (int i = 0; i < 2; i++)
        result.dram[i] = twin_close(&readers[i], bandwidth);
    result.dram[LL_SCALESIM_OFMAP] =
        (struct ll_scalesim_port){writer.first, writer.drain_end, writer.written, 0};
    ll_arena_release(&arena);
    return result;
}

#endif
