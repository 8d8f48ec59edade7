/* SPDX-License-Identifier: Apache-2.0 */
/* The ways in which an external program's calls can be seen, from the mildest on. */
#ifndef LL_TRACER_BINARY_COVERAGE_H
#define LL_TRACER_BINARY_COVERAGE_H

#include <stdbool.h>

#include "tracer/base/arena.h"
#include "tracer/base/diag.h"
#include "tracer/base/json.h"
#include "tracer/record/elf.h"

/* Where programs and libraries lie, found by the rules of the shell, of the kernel and of the loader. */

/* What the environment says; each may be NULL. */
struct ll_file_search {
    const char *path;         /* PATH */
    const char *library_path; /* LD_LIBRARY_PATH */
    const char *preload;      /* LD_PRELOAD */
};

/* The next part of a list, up to one of the separators; *list moves behind it, and is NULL after the last. In
 * the arena; NULL at the end or when memory ran out. */
const char *ll_next_part(struct ll_arena *arena, const char **list, const char *separators);

/* The file that a command names, as execvp finds it; NULL when there is none that may be run. */
const char *ll_find_program(struct ll_arena *arena, const char *name, const char *path);

/* A program and all that the loader will load with it before main: its own libraries, theirs, and so on, each
 * found where the loader finds it. What the program opens while it runs (dlopen) is not known before. */

struct ll_format_binary {
    const char *path;
    const struct ll_elf *elf;
    size_t loader; /* the binary that asked first; of the program, itself */
};

struct ll_missing {
    const char *name;
    size_t loader;
};

/* All in the arena. The program is the first; the rest stand in the order in which they are loaded. */
struct ll_closure {
    struct ll_format_binary *binaries;
    size_t count;
    struct ll_missing *missing; /* libraries that are nowhere: the program will not start */
    size_t missing_count;
    const char *script; /* the file that was named, when it is one that another program reads; or NULL */
};

/* `program` is a path or a name to be found in search->path. LL_NO_FILE when it is nowhere, LL_FORBIDDEN or
 * LL_IS_FOLDER when it is a path of what may not be run, LL_CANNOT_READ when it is no program of a format
 * that we know, LL_READ_FAILED when a disk or the like refused a part of a binary, LL_NO_MEMORY. */
enum ll_status ll_closure_read(struct ll_arena *arena, const char *program,
                               const struct ll_file_search *search, struct ll_closure *closure);

#define LL_MECHANISM_LIST(X)                                                                                 \
    X(PRELOAD, "preload", "the loader finds wrappers before the libraries (LD_PRELOAD)")                     \
    X(AUDIT, "audit", "the loader binds calls between libraries to wrappers, too (LD_AUDIT)")                \
    X(PATCH, "patch", "addresses that libraries keep in tables are rewritten")                               \
    X(ENTRY, "entry", "as patch, and each routine is made to begin with a jump to its wrapper")              \
    X(PROBE, "probe", "breakpoints, for programs into which nothing can be loaded")

enum ll_mechanism {
#define X(word, name, help) LL_MECHANISM_##word,
    LL_MECHANISM_LIST(X)
#undef X
        LL_MECHANISM_COUNT
};

enum ll_reach {
#define LL_REACH(word, sentence, preload, audit, patch, entry, probe) LL_REACH_##word,
#include "tracer/binary/reach.def"
    LL_REACH_COUNT
};

/* As options and reports spell it; static storage. */
const char *ll_mechanism_name(enum ll_mechanism mechanism);

/* Whether there is a mechanism of this name. */
bool ll_mechanism_find(const char *name, enum ll_mechanism *mechanism);

/* Its name in output, as reach.def has it. */
const char *ll_reach_word(enum ll_reach reach);

/* Whether the mechanism sees calls that are made so. */
bool ll_reach_seen(enum ll_reach reach, enum ll_mechanism mechanism);

/* What of a program's calls would be seen, told before it runs: which binary reaches which of the routines we
 * know how, which binary offers them, and by which mechanism all of it is seen. */

/* One way from a binary to a routine. */
struct ll_symbol_route {
    uint32_t binary; /* of the closure */
    uint32_t symbol; /* of the names asked for */
    enum ll_reach reach;
};

/* That a binary defines a routine for others. */
struct ll_offer {
    uint32_t binary, symbol;
};

struct ll_coverage {
    const struct ll_closure *closure; /* the binaries that were looked at */
    const char *const *names;         /* the routines that were looked for */
    struct ll_symbol_route *routes;   /* by binary, then in the order of its symbols */
    size_t route_count;
    struct ll_offer *offers; /* which binaries define which routines */
    size_t offer_count;
    bool is_static, stripped; /* the program */
    bool closed;              /* the loader lets nobody into it (AT_SECURE): it is set-user-ID or the like */
    size_t opening_count;     /* binaries that may open libraries while they run (dlopen) */
    enum ll_mechanism mechanism; /* the mildest that sees all routes */
    bool possible;               /* false: no mechanism sees any of them */
};

/* All in the arena but the closure and the names (as the loader knows them: "cblas_dgemm"), which must live
 * as long. LL_NO_MEMORY. */
enum ll_status ll_coverage_find(struct ll_arena *arena, const struct ll_closure *closure,
                                const char *const *names, size_t name_count, struct ll_coverage *coverage);

/* How many routes a mechanism sees. */
size_t ll_coverage_seen(const struct ll_coverage *coverage, enum ll_mechanism mechanism);

/* The report for a mechanism: what is seen, what is not, and the cure. */
void ll_coverage_text(struct ll_str *out, const struct ll_coverage *coverage, enum ll_mechanism mechanism);
void ll_coverage_json(struct ll_json *json, const struct ll_coverage *coverage, enum ll_mechanism mechanism);

/* What a program must be started with, so that a mechanism sees its calls. */

enum { LL_LAUNCH_SETTINGS = 6, LL_LAUNCH_PREFIX = 2 };

struct ll_launch {
    const char *settings[LL_LAUNCH_SETTINGS]; /* NAME=VALUE for its environment, ended by NULL */
    const char *prefix[LL_LAUNCH_PREFIX];     /* words before its command line, ended by NULL */
};

/* `tools` is the folder with our libraries, `rings` the one that ll_ring_create was given; entries that only
 * files know are written there, and a link where LD_PRELOAD cannot hold the name of `tools`. What LD_PRELOAD
 * and LD_AUDIT name already stays, behind ours. Texts live in the arena. LL_NO_MEMORY, or why a file could
 * not be written. */
enum ll_status ll_launch_prepare(struct ll_arena *arena, const struct ll_coverage *coverage,
                                 enum ll_mechanism mechanism, const char *tools, const char *rings,
                                 struct ll_launch *launch);

#endif
