/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers and tables for people: numbers with prefixes, percentages, wrapped lines, and tables whose columns
 * line up. */
#include "sim/report/table.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tracer/base/str.h"

/* Three significant digits, never in exponent form, for values from 0.1 to 9999. */
static void three_digits(char *text, size_t size, double value)
{
    int decimals = value < 9.995 ? 2 : value < 99.95 ? 1 : 0;
    ll_snprintf(text, size, "%.*f", decimals, value);
}

const char *ll_format_si(struct ll_human *human, double value, const char *unit)
{
    static const char *const prefixes[] = {"p", "n", "u", "m", "", "k", "M", "G", "T", "P", "E"};
    enum { PLAIN = 4, LAST = sizeof prefixes / sizeof prefixes[0] - 1 };
    if (!isfinite(value) || value < 0) {
        snprintf(human->text, sizeof human->text, "-");
        return human->text;
    }
    if (value >= 999.5e18) { /* past the last prefix */
        ll_snprintf(human->text, sizeof human->text, "%.3g %s", value, unit);
        return human->text;
    }
    int which = PLAIN;
    for (; value >= 999.5 && which < LAST; which++)
        value /= 1000;
    for (; value > 0 && value < 0.9995 && which > 0; which--)
        value *= 1000;
    char digits[24];
    three_digits(digits, sizeof digits, value);
    snprintf(human->text, sizeof human->text, "%s %s%s", digits, value > 0 ? prefixes[which] : "", unit);
    return human->text;
}

const char *ll_format_count(struct ll_human *human, double value, const char *unit)
{
    char digits[24];
    struct ll_human groups;
    if (!isfinite(value) || value < 0 || value >= 999.5e12)
        return ll_format_si(human, value, unit);
    if (value > 0 && value < 0.9995)
        ll_snprintf(digits, sizeof digits, "%.3g", value);
    else if (value < 999.5)
        three_digits(digits, sizeof digits, value);
    else
        snprintf(digits, sizeof digits, "%s", ll_format_grouped(&groups, (unsigned long long)llround(value)));
    ll_snprintf(human->text, sizeof human->text, "%s%s%s", digits, *unit ? " " : "", unit);
    return human->text;
}

const char *ll_format_binary(struct ll_human *human, double bytes)
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    const char *sign = bytes < 0 ? "-" : "";
    bytes = fabs(bytes);
    int which = 0;
    double plain = bytes;
    for (; bytes >= 1023.5 && which < 6; which++)
        bytes /= 1024;
    char digits[24];
    if (bytes >= 1023.5) { /* past the last prefix */
        which = 0;
        ll_snprintf(digits, sizeof digits, "%.3g", plain);
    } else if (which == 0)
        ll_snprintf(digits, sizeof digits, "%.0f", bytes);
    else
        three_digits(digits, sizeof digits, bytes);
    snprintf(human->text, sizeof human->text, "%s%s %s", sign, digits, units[which]);
    return human->text;
}

const char *ll_format_percent(struct ll_human *human, double fraction)
{
    ll_snprintf(human->text, sizeof human->text, "%.1f %%", 100 * fraction);
    return human->text;
}

const char *ll_format_times(struct ll_human *human, double factor)
{
    int digits = 2;
    while (factor < 1 && digits < 6 && factor >= 1 - 0.5 * pow(10, -digits))
        digits++;
    bool rounding = factor >= 1 - 0.5e-6 && factor < 1;
    ll_snprintf(human->text, sizeof human->text, "%.*fx", rounding ? 2 : digits, factor);
    return human->text;
}

const char *ll_format_grouped(struct ll_human *human, unsigned long long count)
{
    char digits[24];
    snprintf(digits, sizeof digits, "%llu", count);
    size_t length = strlen(digits), used = 0;
    for (size_t i = 0; i < length; i++) {
        if (i && (length - i) % 3 == 0)
            human->text[used++] = ',';
        human->text[used++] = digits[i];
    }
    assert(used < sizeof human->text);
    human->text[used] = '\0';
    return human->text;
}

const char *ll_plural(unsigned long long count)
{
    return count == 1 ? "" : "s";
}

static void block_bar(struct ll_str *out, double fraction, unsigned width)
{
    static const char *const eighths[] = {" ",      "\u258F", "\u258E", "\u258D", "\u258C",
                                          "\u258B", "\u258A", "\u2589", "\u2588"};
    const int filled = (int)round(fraction * width * 8);
    for (int i = 0; i < (int)width; i++) {
        const int left = filled - 8 * i;
        ll_str_add(out, eighths[left < 0 ? 0 : left > 8 ? 8 : left]);
    }
    ll_str_add(out, "  ");
}

void ll_bar(struct ll_str *out, double fraction, unsigned width, enum ll_bar_cells bars)
{
    assert(width > 0);
    fraction = fmin(fmax(fraction, 0), 1);
    if (bars == LL_BAR_BLOCKS) {
        block_bar(out, fraction, width);
        return;
    }
    double filled = round(fraction * width);
    ll_str_add(out, "[");
    for (unsigned i = 0; i < width; i++)
        ll_str_add(out, i < filled ? "#" : "-");
    ll_str_add(out, "]");
}

/* Of one byte, or of two in UTF-8: U+0080 to U+009F. */
static size_t control_length(const unsigned char *at, size_t left)
{
    if (at[0] == 0x7F || (at[0] < ' ' && at[0] != '\n' && at[0] != '\t'))
        return 1;
    return left > 1 && at[0] == 0xC2 && at[1] >= 0x80 && at[1] < 0xA0 ? 2 : 0;
}

void ll_hide_controls(char *text, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        size_t control = control_length((const unsigned char *)text + i, length - i);
        memset(text + i, '?', control);
        i += control > 1;
    }
}

static bool is_mark(char byte)
{
    return byte >= *LL_MARK_END && byte <= *LL_MARK_PATH;
}

/* Characters, not bytes: UTF-8 continuation bytes do not count, nor do marks. */
static bool takes_room(char byte)
{
    return ((unsigned char)byte & 0xC0) != 0x80 && !is_mark(byte);
}

static size_t text_width(const char *text, size_t length)
{
    size_t width = 0;
    for (size_t i = 0; i < length; i++)
        width += takes_room(text[i]);
    return width;
}

/* A word, and behind a number its unit too: they stay on one line. */
static size_t unbroken(const char *text)
{
    size_t length = strcspn(text, " \n");
    if (text[0] >= '0' && text[0] <= '9' && text[length] == ' ')
        length += 1 + strcspn(text + length + 1, " \n");
    return length;
}

void ll_wrap_behind(struct ll_str *out, size_t characters, const char *text, unsigned indent, unsigned width)
{
    for (const char *word = text; *word;) {
        size_t length = unbroken(word);
        if (characters > indent && characters + 1 + text_width(word, length) > width) {
            ll_str_add(out, "\n");
            characters = 0;
        }
        int gap = characters ? 1 : (int)indent;
        ll_str_addf(out, "%*s", gap, "");
        ll_str_add_bytes(out, word, length);
        characters += (size_t)gap + text_width(word, length);
        word += length + (word[length] == ' ');
    }
    ll_str_add(out, "\n");
}

void ll_wrap(struct ll_str *out, const char *text, unsigned width)
{
    ll_wrap_behind(out, 0, text, 2, width);
}

void ll_end_line(struct ll_str *line, unsigned width, struct ll_str *out)
{
    ll_wrap(out, line->text ? line->text : "", width);
    ll_str_release(line);
}

/* Bytes of a text whose characters take this width at most. */
static size_t bytes_within(const char *text, size_t length, size_t width)
{
    size_t bytes = 0;
    for (size_t used = 0; bytes < length; bytes++) {
        used += takes_room(text[bytes]);
        if (used > width)
            break;
    }
    return bytes;
}

/* Where further lines of a line begin: behind its label, if it has one that ends before the middle of the
 * screen (two spaces or more follow it), else a little further in than the line itself. */
static unsigned hanging_indent(const char *line, size_t length, unsigned width)
{
    size_t lead = strspn(line, " "), indent = lead + 2;
    for (size_t i = lead; i + 2 < length && i < width / 2; i++)
        if (line[i] == ' ' && line[i + 1] == ' ' && line[i + 2] != ' ')
            indent = i + 2;
    return indent < width / 2 ? (unsigned)indent : 2;
}

/* Whether the line may break at this space: not behind a number, whose unit follows, nor behind an arrow. */
static bool may_break(const char *line, size_t space)
{
    size_t word = space;
    while (word > 0 && line[word - 1] != ' ')
        word--;
    bool is_number = line[word] >= '0' && line[word] <= '9', is_arrow = strncmp(line + word, "->", 2) == 0;
    return line[space] == ' ' && !is_number && !is_arrow;
}

static void wrap_line(const char *line, size_t length, unsigned width, struct ll_str *out)
{
    unsigned indent = hanging_indent(line, length, width);
    for (size_t room = width; text_width(line, length) > room; room = width - indent) {
        size_t most = bytes_within(line, length, room), cut = most, lead = strspn(line, " ");
        while (cut > lead && !may_break(line, cut))
            cut--;
        if (cut <= lead)
            for (cut = most; cut > lead && line[cut] != ' ';)
                cut--;
        if (cut <= lead) /* a long word stays whole, so that it can be copied */
            cut = lead + strcspn(line + lead, " \n");
        ll_str_add_bytes(out, line, cut);
        cut += strspn(line + cut, " ");
        line += cut;
        length -= cut;
        if (length == 0)
            return;
        ll_str_addf(out, "\n%*s", (int)indent, "");
    }
    ll_str_add_bytes(out, line, length);
}

/* A mark, or the end of what it marks, as the terminal wants it. */
static const char *sgr_of(char mark)
{
    static const char *const codes[] = {"\x1b[0m",  "\x1b[2m",    "\x1b[1m",  "\x1b[1;35m",
                                        "\x1b[32m", "\x1b[1;31m", "\x1b[33m", "\x1b[36m"};
    assert(is_mark(mark));
    return codes[mark - *LL_MARK_END];
}

void ll_add_painted(char *text, bool colour, struct ll_str *out)
{
    bool marked = false;
    while (*text) {
        size_t length = 0;
        while (text[length] && text[length] != '\n' && !is_mark(text[length]))
            length++;
        ll_hide_controls(text, length);
        ll_str_add_bytes(out, text, length);
        text += length;
        if (!*text)
            break;
        bool ends = *text == '\n' || *text == *LL_MARK_END;
        if (colour && (marked || !ends))
            ll_str_add(out, ends ? sgr_of(*LL_MARK_END) : sgr_of(*text));
        marked = !ends;
        if (*text == '\n')
            ll_str_add(out, "\n");
        text++;
    }
}

/* A line of prose: bold where a mark says so, with what Markdown would take for its own made plain. */
static void markdown_line(char *line, size_t length, struct ll_str *out)
{
    bool strong = false;
    ll_str_add(out, line[0] == '#' || line[0] == '>' || line[0] == '-' || line[0] == '+' ? "\\" : "");
    for (size_t i = 0; i < length; i++) {
        if (is_mark(line[i])) {
            bool was = strong;
            strong = line[i] == *LL_MARK_VALUE || line[i] == *LL_MARK_FIND || line[i] == *LL_MARK_BAD;
            ll_str_add(out, was != strong ? "**" : "");
            continue;
        }
        ll_hide_controls(line + i, 1);
        ll_str_add(out, strchr("*<`[", line[i]) ? "\\" : "");
        ll_str_add_bytes(out, line + i, 1);
    }
    ll_str_add(out, strong ? "**" : "");
}

void ll_add_markdown(char *text, struct ll_str *out)
{
    bool blank = true; /* the line before */
    while (*text) {
        char *line = text + strspn(text, " ");
        size_t length = strcspn(line, "\n");
        char *next = line + length + (line[length] == '\n');
        bool table = line[0] == '|', goes_on = *next != '\n' && *next != '|' && *next != '\0';
        if (length > 0 || !blank) {
            if (table) {
                ll_hide_controls(line, length);
                ll_str_add_bytes(out, line, length);
            } else {
                markdown_line(line, length, out);
            }
            ll_str_add(out, length > 0 && !table && goes_on ? "  \n" : "\n");
        }
        blank = length == 0;
        text = next;
    }
}

void ll_wrap_all(const char *text, unsigned width, struct ll_str *out)
{
    assert(width > 0);
    while (*text) {
        size_t length = strcspn(text, "\n");
        wrap_line(text, length, width, out);
        text += length;
        if (*text)
            ll_str_add(out, "\n");
        text += *text != '\0';
    }
}

/* All cells lie in one text, rows ended by a newline, with ASCII's unit separator between cells; two passes
 * over it measure and print, and between them the columns are fitted to the screen. */

enum { MOST_COLUMNS = 16, GAP = 2, LEAST_WRAPPED = 16, LEAST_CUT = 12 };
#define SEPARATOR "\x1f"
static const char ellipsis[] = "...";

struct ll_table {
    struct ll_str cells;
    bool within_row;  /* cells of it have been added */
    const char *mark; /* of the row that comes; NULL: none */
    bool right[MOST_COLUMNS];
    unsigned spare[MOST_COLUMNS]; /* those with the largest number go first; 0: after all others */
    size_t column_count;
    uint64_t most; /* rows that are printed; 0: all */
};

/* A table on a screen. */
struct fit {
    size_t width[MOST_COLUMNS];
    bool shown[MOST_COLUMNS], filled[MOST_COLUMNS]; /* filled: some cell below the heading is */
    bool hidden[MOST_COLUMNS];                      /* filled, but there is no room */
    uint64_t left_out;                              /* rows */
    bool wrapped;                                   /* the last column goes on in further lines */
    size_t last, before_last;                       /* the last column that is shown, and where it begins */
};

struct ll_table *ll_table_new(const char *headings)
{
    struct ll_table *table = calloc(1, sizeof *table);
    if (!table)
        return NULL;
    ll_str_add(&table->cells, LL_MARK_KEY);
    for (const char *p = headings; p && table->column_count < MOST_COLUMNS;) {
        size_t column = table->column_count++;
        for (; *p == '>' || *p == '?'; p++) {
            table->right[column] |= *p == '>';
            table->spare[column] += *p == '?';
        }
        const char *end = strchr(p, '|');
        ll_str_add_bytes(&table->cells, p, end ? (size_t)(end - p) : strlen(p));
        ll_str_add(&table->cells, end ? SEPARATOR : "");
        p = end ? end + 1 : NULL;
    }
    ll_table_end_row(table);
    assert(table->column_count > 0 && table->column_count <= MOST_COLUMNS);
    return table;
}

/* Cells that have been added behind so many bytes. */
static void clean(struct ll_table *table, size_t from)
{
    if (table->cells.failed)
        return;
    for (char *cell = table->cells.text + from; *cell;) {
        size_t length = strcspn(cell, SEPARATOR);
        for (size_t i = 0; i < length; i++)
            cell[i] = cell[i] == '\n' || cell[i] == '\t' ? ' ' : cell[i];
        ll_hide_controls(cell, length);
        cell += length + (cell[length] != '\0');
    }
}

static void add_cells(struct ll_table *table, const char *format, va_list arguments)
{
    if (table->mark)
        ll_str_add(&table->cells, table->mark);
    table->mark = NULL;
    size_t from = table->cells.length;
    ll_str_addv(&table->cells, format, arguments);
    clean(table, from);
}

void ll_table_mark(struct ll_table *table, const char *mark)
{
    if (table) {
        assert(!table->within_row && is_mark(mark[0]) && !mark[1]);
        table->mark = mark;
    }
}

void ll_table_row(struct ll_table *table, const char *format, ...)
{
    struct ll_str cells = {0};
    va_list arguments;
    if (!table)
        return;
    assert(!table->within_row); /* the row before was ended */
    ll_str_add(&cells, format);
    for (char *p = cells.failed ? NULL : cells.text; p && (p = strchr(p, '|'));)
        *p = *SEPARATOR;
    va_start(arguments, format);
    add_cells(table, cells.failed ? "" : cells.text, arguments);
    va_end(arguments);
    ll_table_end_row(table);
    ll_str_release(&cells);
}

void ll_table_cell(struct ll_table *table, const char *format, ...)
{
    va_list arguments;
    if (!table)
        return;
    ll_str_add(&table->cells, table->within_row ? SEPARATOR : "");
    table->within_row = true;
    va_start(arguments, format);
    add_cells(table, format, arguments);
    va_end(arguments);
}

void ll_table_end_row(struct ll_table *table)
{
    if (!table)
        return;
    ll_str_add(&table->cells, "\n");
    table->within_row = false;
}

static void pad(struct ll_str *out, size_t count)
{
    while (count--)
        ll_str_add(out, " ");
}

/* How much of a text goes into a line: all that is left, or the words that fit, or what fits of the first. */
static size_t line_length(const char *text, size_t length, size_t width)
{
    size_t most = bytes_within(text, length, width);
    if (most == length)
        return length;
    for (size_t i = most; i > 0; i--)
        if (text[i] == ' ')
            return i;
    return most;
}

/* The last cell of a row, in as many lines as it needs. */
static void print_wrapped(const struct fit *fit, const char *text, size_t length, struct ll_str *out)
{
    for (;;) {
        size_t part = line_length(text, length, fit->width[fit->last]);
        ll_str_add_bytes(out, text, part);
        if (part == length)
            return;
        part += text[part] == ' ';
        text += part;
        length -= part;
        ll_str_add(out, "\n");
        pad(out, fit->before_last);
    }
}

/* A cell that is wider than its column loses its middle: long names often differ at their ends. */
static void print_cut(const char *text, size_t length, size_t width, struct ll_str *out)
{
    const size_t dots = sizeof ellipsis - 1, all = text_width(text, length);
    if (all <= width || width <= dots) {
        ll_str_add_bytes(out, text, length);
        return;
    }
    const size_t begin = (width - dots + 1) / 2, end = width - dots - begin;
    const size_t tail = bytes_within(text, length, all - end);
    ll_str_add_bytes(out, text, bytes_within(text, length, begin));
    ll_str_add(out, ellipsis);
    ll_str_add_bytes(out, text + tail, length - tail);
}

static void print_cell(const struct ll_table *table, const struct fit *fit, size_t column, const char *text,
                       size_t length, struct ll_str *out)
{
    assert(column < table->column_count);
    size_t width = text_width(text, length);
    size_t room = fit->width[column] > width ? fit->width[column] - width : 0;
    if (column)
        pad(out, GAP);
    if (table->right[column])
        pad(out, room);
    if (column == fit->last && fit->wrapped) {
        print_wrapped(fit, text, length, out);
        return;
    }
    print_cut(text, length, fit->width[column], out);
    if (!table->right[column])
        pad(out, room);
}

/* Cells that are empty at the end of a row leave no spaces behind. */
static void end_row(struct ll_str *out)
{
    while (out->length && out->text[out->length - 1] == ' ')
        out->length--;
    ll_str_add(out, "\n");
}

void ll_table_top(struct ll_table *table, uint64_t most)
{
    if (table)
        table->most = most;
}

/* Prints what is shown when out is given, else widens the columns to what they hold. */
static void walk(const struct ll_table *table, struct fit *fit, struct ll_str *out)
{
    size_t column = 0;
    uint64_t row = 0; /* 0: the heading */
    fit->left_out = 0;
    for (const char *p = table->cells.text; p && *p;) {
        size_t length = strcspn(p, SEPARATOR "\n");
        bool last = p[length] == '\n', heading = row == 0;
        if (table->most && row > table->most) {
            p += strcspn(p, "\n");
            p += *p == '\n';
            fit->left_out++;
            continue;
        }
        if (column < table->column_count) {
            size_t width = text_width(p, length);
            fit->filled[column] |= !heading && length > 0;
            if (out && fit->shown[column])
                print_cell(table, fit, column, p, length, out);
            else if (!out && width > fit->width[column])
                fit->width[column] = width;
        }
        if (last && out)
            end_row(out);
        column = last ? 0 : column + 1;
        row += last;
        p += length + (p[length] != '\0');
    }
}

/* Where the last column begins, and how wide all are. */
static size_t lay_out(const struct ll_table *table, struct fit *fit)
{
    size_t width = 0;
    for (size_t i = 0; i < table->column_count; i++)
        if (fit->shown[i]) {
            fit->last = i;
            fit->before_last = width + (i ? GAP : 0);
            width = fit->before_last + fit->width[i];
        }
    return width;
}

/* The column that a narrow screen does without next: of those with most `?` the last one; none of those
 * without where `any` is false, and never the first. 0 where there is no such column. */
static size_t next_to_hide(const struct ll_table *table, const struct fit *fit, bool any)
{
    size_t next = 0;
    for (size_t i = 1; i < table->column_count; i++)
        if (fit->shown[i] && (any || table->spare[i] > 0) &&
            (next == 0 || table->spare[i] >= table->spare[next]))
            next = i;
    return next;
}

static void hide(struct fit *fit, size_t column)
{
    assert(column > 0 && column < MOST_COLUMNS);
    fit->shown[column] = false;
    fit->hidden[column] = fit->filled[column];
}

/* Takes from the widest columns of text, the widest first, until the table fits or all are as narrow as names
 * may be cut. */
static size_t cut_names(const struct ll_table *table, struct fit *fit, size_t screen)
{
    size_t width = lay_out(table, fit);
    while (width > screen) {
        size_t widest = MOST_COLUMNS;
        for (size_t i = 0; i < table->column_count; i++)
            if (fit->shown[i] && !table->right[i] && fit->width[i] > LEAST_CUT &&
                (widest == MOST_COLUMNS || fit->width[i] > fit->width[widest]))
                widest = i;
        if (widest == MOST_COLUMNS)
            break;
        fit->width[widest]--;
        width = lay_out(table, fit);
    }
    return width;
}

static void fit_to(const struct ll_table *table, struct fit *fit, unsigned screen)
{
    for (size_t i = 0; i < table->column_count; i++)
        fit->shown[i] = fit->filled[i] || !table->spare[i];
    size_t width = lay_out(table, fit);
    for (size_t i; width > screen && (i = next_to_hide(table, fit, false)) > 0; width = lay_out(table, fit))
        hide(fit, i);
    if (width > screen && !table->right[fit->last] && fit->before_last + LEAST_WRAPPED <= screen) {
        fit->width[fit->last] = screen - fit->before_last;
        fit->wrapped = true;
        return;
    }
    struct fit cut = *fit;
    for (size_t i; cut_names(table, &cut, screen) > screen && (i = next_to_hide(table, fit, true)) > 0;
         cut = *fit)
        hide(fit, i);
    *fit = cut;
}

/* Behind a table that lacks columns for want of room: which. */
static void name_hidden(const struct ll_table *table, const struct fit *fit, unsigned screen,
                        struct ll_str *out)
{
    struct ll_str line = {0};
    size_t indent = strspn(table->cells.text + 1, " "), column = 0;
    for (const char *p = table->cells.text + 1; column < table->column_count; column++) {
        size_t length = strcspn(p, SEPARATOR "\n");
        if (fit->hidden[column] && length > 0)
            ll_str_addf(&line, "%s%.*s",
                        line.length ? ", " : "hidden for want of room: ", (int)(length - strspn(p, " ")),
                        p + strspn(p, " "));
        p += length + 1;
    }
    if (line.length > 0 && !line.failed)
        ll_wrap_behind(out, 0, line.text, (unsigned)indent, screen);
    out->failed |= line.failed;
    ll_str_release(&line);
}

/* A cell without spaces around it, marks, and what would end it. */
static void markdown_cell(const char *text, size_t length, struct ll_str *out)
{
    ll_str_add(out, " ");
    for (size_t i = 0, begun = 0; i < length; i++) {
        begun |= text[i] != ' ' && !is_mark(text[i]);
        if (!begun || is_mark(text[i]))
            continue;
        ll_str_add(out, text[i] == '|' ? "\\" : "");
        ll_str_add_bytes(out, text + i, 1);
    }
    ll_str_add(out, " |");
}

static void markdown_rule(const struct ll_table *table, const struct fit *fit, struct ll_str *out)
{
    ll_str_add(out, "|");
    for (size_t i = 0; i < table->column_count; i++)
        if (fit->shown[i])
            ll_str_add(out, table->right[i] ? " ---: |" : " --- |");
    ll_str_add(out, "\n");
}

/* Every column that has something in it, of any width. */
static void print_markdown(const struct ll_table *table, struct ll_str *out)
{
    struct fit fit = {0};
    walk(table, &fit, NULL);
    for (size_t i = 0; i < table->column_count; i++)
        fit.shown[i] = fit.filled[i] || !table->spare[i];
    ll_str_add(out, out->length ? "\n" : "");
    const char *p = table->cells.text;
    for (uint64_t row = 0; *p && (!table->most || row <= table->most); row++) {
        ll_str_add(out, "|");
        size_t column = 0;
        for (bool last = false; !last; column++) {
            size_t length = strcspn(p, SEPARATOR "\n");
            last = p[length] == '\n';
            if (column < table->column_count && fit.shown[column])
                markdown_cell(p, length, out);
            p += length + 1;
        }
        for (; column < table->column_count; column++) /* a row may be short */
            ll_str_add(out, fit.shown[column] ? "  |" : "");
        ll_str_add(out, "\n");
        if (row == 0)
            markdown_rule(table, &fit, out);
    }
    ll_str_add(out, "\n");
    if (fit.left_out > 0)
        ll_str_addf(out, "... %" PRIu64 " more\n", fit.left_out);
}

void ll_table_print(const struct ll_table *table, unsigned width, struct ll_str *out)
{
    struct fit fit = {0};
    if (!table || table->cells.failed)
        return;
    if (width == LL_MARKDOWN_WIDTH) {
        print_markdown(table, out);
        return;
    }
    walk(table, &fit, NULL);
    fit_to(table, &fit, width);
    walk(table, &fit, out);
    if (fit.left_out > 0)
        ll_str_addf(out, "%*s... %" PRIu64 " more\n", (int)strspn(table->cells.text + 1, " "), "",
                    fit.left_out);
    name_hidden(table, &fit, width, out);
}

void ll_table_free(struct ll_table *table)
{
    if (!table)
        return;
    ll_str_release(&table->cells);
    free(table);
}
