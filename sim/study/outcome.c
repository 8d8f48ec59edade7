/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/study/outcome.h"

#include "tracer/base/plain.h"

#include <assert.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void ll_outcome_release(struct ll_outcome *outcome)
{
    for (size_t i = 0; i < outcome->sheet_count; i++)
        free(outcome->sheets[i].cells);
    for (size_t i = 0; i < outcome->drawing_count; i++)
        ll_str_release(&outcome->drawings[i].svg);
    free(outcome->criteria);
    ll_arena_release(&outcome->arena);
    *outcome = (struct ll_outcome){0};
}

/* The text, or "" and failed. */
static const char *kept(struct ll_outcome *outcome, const char *text)
{
    outcome->failed |= text == NULL;
    return text ? text : "";
}

static const char *copied(struct ll_outcome *outcome, const char *text)
{
    return text ? kept(outcome, ll_copy_text(&outcome->arena, text, strlen(text))) : NULL;
}

struct ll_sheet *ll_sheet_new(struct ll_outcome *outcome, const char *name, const char *caption,
                              const struct ll_outcome_column *columns, size_t column_count)
{
    if (outcome->sheet_count == LL_MOST_SHEETS) {
        outcome->failed = true;
        return &outcome->sheets[LL_MOST_SHEETS - 1];
    }
    struct ll_sheet *sheet = &outcome->sheets[outcome->sheet_count++];
    *sheet = (struct ll_sheet){
        .name = copied(outcome, name), .caption = copied(outcome, caption), .outcome = outcome};
    sheet->columns = ll_copy(&outcome->arena, columns, column_count * sizeof *columns);
    outcome->failed |= sheet->columns == NULL;
    sheet->column_count = sheet->columns ? column_count : 0;
    return sheet;
}

static void put(struct ll_sheet *sheet, struct ll_cell cell)
{
    if (sheet->outcome->failed ||
        !ll_grow(&sheet->cells, &sheet->capacity, sheet->cell_count + 1, sizeof cell)) {
        sheet->outcome->failed = true;
        return;
    }
    assert(isnan(cell.number) || sheet->columns[sheet->cell_count % sheet->column_count].decimals >= 0);
    sheet->cells[sheet->cell_count++] = cell;
}

void ll_put_text(struct ll_sheet *sheet, const char *text)
{
    put(sheet, (struct ll_cell){.text = copied(sheet->outcome, text), .number = NAN});
}

void ll_put_number(struct ll_sheet *sheet, double number)
{
    put(sheet, (struct ll_cell){.number = number});
}

struct ll_str *ll_drawing_new(struct ll_outcome *outcome, const char *name, const char *caption)
{
    if (outcome->drawing_count == LL_MOST_DRAWINGS) {
        outcome->failed = true;
        return &outcome->drawings[LL_MOST_DRAWINGS - 1].svg;
    }
    struct ll_drawing *drawing = &outcome->drawings[outcome->drawing_count++];
    *drawing = (struct ll_drawing){.name = copied(outcome, name), .caption = copied(outcome, caption)};
    return &drawing->svg;
}

static const char *print(struct ll_outcome *outcome, const char *format, va_list arguments)
{
    char text[1024];
    ll_vsnprintf(text, sizeof text, format, arguments);
    return copied(outcome, text);
}

void ll_note(struct ll_outcome *outcome, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    if (outcome->note_count < LL_MOST_NOTES)
        outcome->notes[outcome->note_count++] = print(outcome, format, arguments);
    else
        outcome->failed = true;
    va_end(arguments);
}

static void add(struct ll_outcome *outcome, struct ll_criterion criterion, const char *claim,
                va_list arguments)
{
    criterion.claim = print(outcome, claim, arguments);
    criterion.measured = copied(outcome, criterion.measured);
    criterion.bound = copied(outcome, criterion.bound);
    if (!ll_grow(&outcome->criteria, &outcome->criterion_capacity, outcome->criterion_count + 1,
                 sizeof criterion)) {
        outcome->failed = true;
        return;
    }
    outcome->criteria[outcome->criterion_count++] = criterion;
}

/* A number and its unit, in a text of the arena. */
static const char *shown(struct ll_outcome *outcome, struct ll_measured_value measure, double value)
{
    return kept(outcome, ll_format(&outcome->arena, "%.*f%s", measure.decimals, value, measure.unit));
}

static struct ll_criterion compared(struct ll_outcome *outcome, struct ll_measured_value measure, bool holds,
                                    const char *bound)
{
    return (struct ll_criterion){.measured = shown(outcome, measure, measure.value),
                                 .bound = bound,
                                 .value = measure.value,
                                 .verdict = holds ? LL_PASS : LL_FAIL};
}

void ll_at_least(struct ll_outcome *outcome, struct ll_measured_value measure, double bound,
                 const char *claim, ...)
{
    va_list arguments;
    const char *text = kept(outcome, ll_format(&outcome->arena, ">= %s", shown(outcome, measure, bound)));
    va_start(arguments, claim);
    add(outcome, compared(outcome, measure, measure.value >= bound, text), claim, arguments);
    va_end(arguments);
}

void ll_at_most(struct ll_outcome *outcome, struct ll_measured_value measure, double bound, const char *claim,
                ...)
{
    va_list arguments;
    const char *text = kept(outcome, ll_format(&outcome->arena, "<= %s", shown(outcome, measure, bound)));
    va_start(arguments, claim);
    add(outcome, compared(outcome, measure, measure.value <= bound, text), claim, arguments);
    va_end(arguments);
}

void ll_between(struct ll_outcome *outcome, struct ll_measured_value measure, double low, double high,
                const char *claim, ...)
{
    va_list arguments;
    const char *text = shown(outcome, measure, low);
    if (low != high)
        text = kept(outcome, ll_format(&outcome->arena, "%s to %s", text, shown(outcome, measure, high)));
    va_start(arguments, claim);
    add(outcome, compared(outcome, measure, measure.value >= low && measure.value <= high, text), claim,
        arguments);
    va_end(arguments);
}

void ll_holds(struct ll_outcome *outcome, bool holds, const char *measured, const char *bound,
              const char *claim, ...)
{
    va_list arguments;
    va_start(arguments, claim);
    add(outcome,
        (struct ll_criterion){
            .measured = measured, .bound = bound, .value = NAN, .verdict = holds ? LL_PASS : LL_FAIL},
        claim, arguments);
    va_end(arguments);
}

void ll_inform(struct ll_outcome *outcome, const char *measured, const char *published, const char *claim,
               ...)
{
    va_list arguments;
    va_start(arguments, claim);
    add(outcome,
        (struct ll_criterion){.measured = measured, .bound = published, .value = NAN, .verdict = LL_INFO},
        claim, arguments);
    va_end(arguments);
}

size_t ll_count_verdicts(const struct ll_outcome *outcome, enum ll_verdict verdict)
{
    size_t count = 0;
    for (uint64_t i = 0; i < outcome->criterion_count; i++)
        count += outcome->criteria[i].verdict == verdict;
    return count;
}

const char *ll_verdict_name(enum ll_verdict verdict)
{
    static const char *const names[] = {
#define X(word) #word,
        LL_VERDICT_LIST(X)
#undef X
    };
    return names[verdict];
}
