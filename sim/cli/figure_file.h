/* SPDX-License-Identifier: Apache-2.0 */
/* Figures as files: the options --figure FILE and --kind KIND of every command that draws, and SVG, PNG or
 * PDF by the ending of the file.
 *
 * A command has LL_FIGURE_OPTIONS among its options, "figure" among those that it writes, and, where it draws
 * several figures in one run, "figure" and "kind" among those that may be repeated: each --figure then goes
 * with the --kind in its place. PNG and PDF are made by librsvg and cairo, in builds that found them. */
#ifndef LL_SIM_CLI_FIGURE_FILE_H
#define LL_SIM_CLI_FIGURE_FILE_H

#include "sim/cli/command.h"

/* `kinds` in words, for the help. */
#define LL_FIGURE_OPTIONS(kinds)                                                                             \
    {"figure", 0, "FILE", "draw to this file, whose ending says how: .svg, .png or .pdf"},                   \
    {                                                                                                        \
        "kind", 0, "KIND", "what --figure draws: " kinds                                                     \
    }

struct ll_figure_file {
    const char *path;
    size_t kind; /* its number among the kinds */
};

enum { LL_MOST_FIGURES = 16 };
struct ll_figure_files {
    struct ll_figure_file at[LL_MOST_FIGURES];
    size_t count;
};

/* What --figure and --kind ask for. Without --kind one figure is of the first kind. False after saying what
 * is wrong: an ending or a kind that there is not, a format that this build has not, a kind without its file.
 * Nothing is written. */
bool ll_figure_read(const struct ll_args *args, const char *const *kinds, size_t kind_count,
                    struct ll_figure_files *files);

/* Whether one of the files is to show this kind. Pure. */
bool ll_figure_wants(const struct ll_figure_files *files, size_t kind);

/* Writes a figure, SVG, in the format of the file's ending, and releases it. False after saying why not; then
 * what was there stays. */
bool ll_figure_write(const char *path, struct ll_str *svg);

#endif
