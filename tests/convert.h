/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes imported into a trace, and traces exported to bytes, for tests. */
#ifndef LL_TESTS_CONVERT_H
#define LL_TESTS_CONVERT_H

#include "tracer/convert/convert.h"
#include "tracer/convert/wire.h"
#include "tracer/format/reader.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { CONVERT_CHOICES = 8, CONVERT_FILES = 4 };

/* What to import, and what became of it. */
struct conversion {
    ll_importer *importer;
    struct ll_input_file files[CONVERT_FILES];
    uint64_t file_count;
    struct ll_choice choices[CONVERT_CHOICES];
    uint64_t choice_count;
    bool allow_opaque;

    struct ll_diags diags, notes;
    struct ll_trace *trace; /* NULL when it was refused */
};

static inline void add_file(struct conversion *c, const char *path, const struct ll_str *bytes)
{
    c->files[c->file_count++] =
        (struct ll_input_file){.path = path, .bytes = (const uint8_t *)bytes->text, .size = bytes->length};
}

static inline void choose_so(struct conversion *c, const char *key, const char *value)
{
    c->choices[c->choice_count++] = (struct ll_choice){.key = key, .value = value};
}

static inline void convert(struct conversion *c)
{
    char path[] = "/tmp/leadline-convert-XXXXXX";
    int file = mkstemp(path);
    assert(file >= 0);
    close(file);
    unlink(path);
    struct ll_import import = {.inputs = c->files,
                               .input_count = c->file_count,
                               .choices = c->choices,
                               .choice_count = c->choice_count,
                               .allow_opaque = c->allow_opaque,
                               .output = path,
                               .diags = &c->diags,
                               .notes = &c->notes};
    enum ll_status status = LL_OK;
    bool done = ll_import_run(c->importer, &import);
    c->trace = done ? ll_trace_read(path, &c->diags, &status) : NULL;
    assert(!done || c->trace);
    assert(done == (access(path, F_OK) == 0)); /* nothing is left of what failed */
    unlink(path);
}

/* Frees all; the text that was exported, with ll_str_release. */
static inline void end_conversion(struct conversion *c)
{
    ll_trace_free(c->trace);
    ll_diags_release(&c->diags);
    ll_diags_release(&c->notes);
    *c = (struct conversion){0};
}

/* Whether some complaint, or some note, holds these words. */
static inline bool complained(const struct conversion *c, const char *words)
{
    for (size_t i = 0; i < c->diags.kept_count; i++)
        if (strstr(c->diags.kept[i].message, words))
            return true;
    for (size_t i = 0; i < c->notes.kept_count; i++)
        if (strstr(c->notes.kept[i].message, words))
            return true;
    return false;
}

static inline struct ll_str exported_with(ll_exporter *exporter, const struct ll_trace *trace,
                                          const struct ll_op_schedule *schedule, struct ll_choice *choice)
{
    FILE *file = tmpfile();
    struct ll_diags diags = {0};
    struct ll_str text = {0};
    char piece[4096];
    assert(file);
    struct ll_export export = {.trace = trace,
                               .schedule = schedule,
                               .choices = choice,
                               .choice_count = choice != NULL,
                               .file = fileno(file),
                               .diags = &diags};
    bool done = ll_export_run(exporter, &export);
    assert(done);
    rewind(file);
    for (size_t got; (got = fread(piece, 1, sizeof piece, file)) > 0;)
        ll_str_add_bytes(&text, piece, got);
    fclose(file);
    ll_diags_release(&diags);
    return text;
}

/* As somebody has simulated it; NULL: as recorded. */
static inline struct ll_str exported_as(ll_exporter *exporter, const struct ll_trace *trace,
                                        const struct ll_op_schedule *schedule)
{
    return exported_with(exporter, trace, schedule, NULL);
}

/* With one choice, unless its key is NULL. */
static inline struct ll_str exported_choosing(ll_exporter *exporter, const struct ll_trace *trace,
                                              const char *key, const char *value)
{
    struct ll_choice choice = {.key = key, .value = value};
    return exported_with(exporter, trace, NULL, key ? &choice : NULL);
}

static inline struct ll_str exported(ll_exporter *exporter, const struct ll_trace *trace)
{
    return exported_with(exporter, trace, NULL, NULL);
}

/* The FLOPs of all ops of a class. */
static inline double class_flops(const struct ll_trace *trace, enum ll_op_class op_class)
{
    double flops = 0;
    for (uint64_t i = 0; i < trace->op_count; i++) {
        const struct ll_op_signature *signature = &trace->signatures[trace->ops[i].signature];
        if (ll_op_class(signature->view.kind) == op_class)
            flops += (double)signature->flops;
    }
    return flops;
}

/* The n-th op of a kind as the rules see it; NULL when there are fewer. */
static inline const struct ll_op_view *op_of_kind(const struct ll_trace *trace, enum ll_op_kind kind,
                                                  unsigned n)
{
    for (uint64_t i = 0; i < trace->op_count; i++) {
        const struct ll_op_view *view = &trace->signatures[trace->ops[i].signature].view;
        if (view->kind == kind && n-- == 0)
            return view;
    }
    return NULL;
}

/* A text as the only file, and one choice, unless its key is NULL. */
static inline struct conversion import_choosing(ll_importer *importer, const char *text, const char *key,
                                                const char *value)
{
    struct ll_str bytes = {0};
    struct conversion c = {.importer = importer};
    ll_str_add(&bytes, text);
    add_file(&c, "a.txt", &bytes);
    if (key)
        choose_so(&c, key, value);
    convert(&c);
    ll_str_release(&bytes);
    return c;
}

/* A file of the checkout, which comes in whole. */
static inline struct conversion import_whole_file(ll_importer *importer, const char *path)
{
    static struct ll_arena arena;
    struct conversion c = {.importer = importer, .file_count = 1};
    assert_int_equal(ll_input_open(path, &arena, &c.files[0]), LL_OK);
    convert(&c);
    if (!c.trace)
        fail_msg("%s", c.diags.kept[0].message);
    return c;
}

#endif
