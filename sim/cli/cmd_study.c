/* SPDX-License-Identifier: Apache-2.0 */
/* leadline study: judges studies, and writes their tables, figures and pages. */
#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/cli/commands.h"
#include "sim/cli/command.h"
#include "sim/cli/figure_file.h"
#include "sim/cli/html.h"
#include "sim/cli/load.h"
#include "sim/cli/quiet.h"
#include "sim/cli/study_recordings.h"
#include "sim/report/table.h"
#include "sim/study/study.h"

/* leadline study [ID...]: regenerates figures and tables of papers, and judges them. */

enum { MOST_STUDIES = 256 };

static int list_studies(bool as_json)
{
    struct ll_str out = {0};
    struct ll_json json = {.out = &out, .indent = true};
    struct ll_table *table = ll_table_new("study|of|what it shows");
    ll_json_open_document(&json, "studies", 1);
    ll_json_key(&json, "studies");
    ll_json_open_list(&json);
    for (size_t i = 0; i < ll_study_count(); i++) {
        const struct ll_study *study = ll_study_at(i);
        ll_json_open_object(&json);
        ll_json_put_text(&json, "id", study->id);
        ll_json_put_text(&json, "paper", study->paper);
        ll_json_put_text(&json, "title", study->title);
        ll_json_close_object(&json);
        ll_table_row(table, "%s|%s|%s", study->id, study->paper, study->title);
    }
    ll_json_close_list(&json);
    ll_json_close_object(&json);
    if (!as_json) {
        ll_str_release(&out);
        ll_table_top(table, ll_output_top());
        ll_table_print(table, ll_screen_width(), &out);
    }
    ll_table_free(table);
    return ll_print(&out);
}

/* The studies named, or all; their number, 0 after saying what is wrong. */
static size_t choose(const struct ll_args *args, const struct ll_study *chosen[MOST_STUDIES])
{
    const char *ids[MOST_STUDIES];
    size_t known = ll_study_count(), count = 0;
    for (size_t i = 0; i < known; i++) {
        ids[i] = ll_study_at(i)->id;
        if (ll_flag(args, "all"))
            chosen[count++] = ll_study_at(i);
    }
    if (count && args->word_count) {
        ll_cli_reject("--all runs every study; leave it out to name some");
        return 0;
    }
    for (size_t i = 0; i < args->word_count && i < MOST_STUDIES; i++) {
        chosen[count] = ll_study_find(args->words[i]);
        if (!chosen[count]) {
            ll_cli_reject_unknown("study", args->words[i], ids, known, "leadline study");
            return 0;
        }
        count++;
    }
    return count;
}

/* Whether what is asked for is for one of the studies at least. */
static bool is_of_use(const struct ll_args *args, const struct ll_study *const *chosen, size_t count)
{
    static const char *const of_compared[] = {"data", NULL}, *const of_surveys[] = {"whole", NULL};
    bool compares = false, experiments = false;
    for (size_t i = 0; i < count; i++) {
        struct ll_study_plan plan = {0};
        chosen[i]->plan(&plan);
        compares |= chosen[i]->compares;
        experiments |= plan.failed || plan.experiment_count > 0;
        ll_study_plan_release(&plan);
    }
    return (compares || ll_without(args, of_compared, "is for studies that compare with measured steps")) &&
           (experiments || ll_without(args, of_surveys, "is for studies of many points"));
}

/* A page of one study or of many, which are added as they are judged. */

/* {.path} to begin with. */
struct study_pages {
    const char *path; /* of the page; NULL: memory ran out */
    struct ll_page_content content;
    struct ll_json document, more;
};

/* page: the file of the study's own page, beside this one; NULL: this is it. */
static void pages_add(struct study_pages *all, const struct ll_study *study, const struct ll_study_plan *plan,
                      const struct ll_study_result *result, const char *page)
{
    if (!all->document.out) {
        all->document = (struct ll_json){.out = &all->content.document};
        all->more = (struct ll_json){.out = &all->content.more};
        ll_json_open_document(&all->document, "study", 1);
        ll_json_key(&all->document, "studies");
        ll_json_open_list(&all->document);
        ll_json_open_object(&all->more);
        ll_json_key(&all->more, "studies");
        ll_json_open_list(&all->more);
    }
    ll_present_json(study, plan, result, &all->document);
    ll_present_more_json(study, result, page, &all->more);
    ll_present_text(study, plan, result, 100, &all->content.plain);
}

/* Writes what was added, and releases it; false after saying what is wrong. */
static bool pages_write(const struct ll_args *args, struct study_pages *all, const char *title)
{
    ll_json_close_list(&all->document);
    ll_json_close_object(&all->document);
    ll_json_close_list(&all->more);
    ll_json_close_object(&all->more);
    bool written = all->path ? ll_write_page_to(args, all->path, "study", title, &all->content) == LL_DONE
                             : ll_cli_fail("memory ran out") == LL_DONE;
    ll_page_content_release(&all->content);
    return written;
}

/* FOLDER/ID.csv, or FOLDER/ID-NAME.csv for what has a name; a slash in the id becomes a dash. NULL when
 * memory ran out. */
static const char *path_of(struct ll_arena *arena, const char *folder, const struct ll_study *study,
                           const char *name, const char *ending)
{
    char *id = ll_copy_text(arena, study->id, strlen(study->id));
    for (char *slash = id; slash && (slash = strchr(slash, '/'));)
        *slash = '-';
    return id ? ll_format(arena, "%s/%s%s%s.%s", folder, id, name ? "-" : "", name ? name : "", ending)
              : NULL;
}

static bool write_text(struct ll_arena *arena, const char *folder, const struct ll_study *study,
                       const char *name, const char *ending, struct ll_str *text)
{
    const char *path = path_of(arena, folder, study, name, ending);
    if (path)
        return ll_write_file(path, text);
    ll_str_release(text);
    ll_cli_fail("memory ran out");
    return false;
}

static bool write_files(const struct ll_args *args, const char *folder, const struct ll_study *study,
                        const struct ll_study_plan *plan, const struct ll_study_result *result)
{
    struct ll_str text = {0};
    struct ll_json json = {.out = &text, .indent = true};
    bool written = true;
    for (size_t i = 0; i < result->table_count && written; i++) {
        ll_present_csv(&result->tables[i], &text);
        written = write_text(args->arena, folder, study, result->tables[i].name, "csv", &text);
    }
    for (size_t i = 0; i < result->figure_count && written; i++) {
        ll_str_add(&text, result->figures[i].svg.text ? result->figures[i].svg.text : "");
        written = write_text(args->arena, folder, study, result->figures[i].name, "svg", &text);
    }
    if (written) {
        struct study_pages one = {.path = path_of(args->arena, folder, study, NULL, "html")};
        pages_add(&one, study, plan, result, NULL);
        written = pages_write(args, &one, study->title);
    }
    if (written) {
        ll_present_json(study, plan, result, &json);
        written = write_text(args->arena, folder, study, NULL, "json", &text);
    }
    return written;
}

/* How often what failed is recorded anew, before it is said to fail: once at least, and not again when the
 * command has run so long, so that all studies end within a quarter of an hour. */
enum { REPETITIONS = 2 };
static const double repeating_s = 480;

/* What the studies have in common while they run one after the other. */
struct session {
    const struct ll_args *args;
    const char *folder;
    struct ll_library library;
    struct ll_library again[REPETITIONS]; /* what was recorded anew */
    double begin_s;                       /* when the first study began */
    struct ll_str text;                   /* for standard output */
    struct ll_json json;
    size_t verdicts[LL_SKIPPED + 1]; /* number of criteria by verdict */
    struct ll_str failing;           /* the studies with some that failed, ", " between them */
    struct study_pages index;        /* of --all, and of --html: the page with all of them */
    struct ll_measured_rows rows;    /* of --data */
    const char *const *ids;          /* of the chosen studies */
    struct ll_figure_files figures;  /* a kind is the number of an ID */
};

/* Where a figure goes when the study's own one goes to `path`: beside it, as FILE-NAME.ending. NULL when
 * memory ran out. */
static const char *path_beside(struct ll_arena *arena, const char *path, const char *name)
{
    const char *ending = strrchr(path, '.');
    assert(ending); /* it says the format */
    return name ? ll_format(arena, "%.*s-%s%s", (int)(ending - path), path, name, ending) : path;
}

/* The figures of a study, as far as --figure asks for them. */
static bool write_figures(const struct session *session, const struct ll_study *study,
                          const struct ll_study_result *result)
{
    bool written = true;
    for (size_t f = 0; f < session->figures.count && written; f++) {
        const struct ll_figure_file *file = &session->figures.at[f];
        if (strcmp(session->ids[file->kind], study->id) != 0)
            continue;
        if (result->figure_count == 0) {
            ll_cli_fail("%s: %s came to no figure", file->path, study->id);
            return false;
        }
        for (size_t i = 0; i < result->figure_count && written; i++) {
            const char *name = result->figures[i].name;
            const char *path = path_beside(session->args->arena, file->path, name);
            struct ll_str svg = {0};
            if (!path)
                return ll_cli_fail("memory ran out") == LL_DONE;
            ll_str_add(&svg, result->figures[i].svg.text ? result->figures[i].svg.text : "");
            written = ll_figure_write(path, &svg);
            if (written && name)
                ll_cli_tell("%s: %s\n", study->id, path);
        }
    }
    return written;
}

/* The study's own page, as one beside it links to it; NULL where the page lies elsewhere. */
static const char *page_beside(const struct session *session, const struct ll_study *study)
{
    const char *page = ll_value(session->args, "html", NULL)
                           ? NULL
                           : path_of(session->args->arena, session->folder, study, NULL, "html");
    return page ? page + strlen(session->folder) + 1 : NULL;
}

static int show(struct session *session, const struct ll_study *study, const struct ll_study_plan *plan,
                const struct ll_study_result *result)
{
    size_t failed = ll_count_verdicts(result, LL_FAIL);
    if (failed)
        ll_str_addf(&session->failing, "%s%s", session->verdicts[LL_FAIL] ? ", " : "", study->id);
    for (enum ll_verdict v = LL_PASS; v <= LL_SKIPPED; v++)
        session->verdicts[v] += ll_count_verdicts(result, v);
    if (session->index.path)
        pages_add(&session->index, study, plan, result, page_beside(session, study));
    if (ll_flag(session->args, "json")) {
        ll_present_json(study, plan, result, &session->json);
        return LL_DONE;
    }
    ll_present_text(study, plan, result, ll_screen_width(), &session->text);
    ll_str_addf(&session->text, "\n%s\n\n",
                path_of(session->args->arena, session->folder, study, NULL, "html"));
    return ll_print(&session->text);
}

/* Judges what was brought. An exit status, after saying what is wrong. The result is to be released. */
static int judge(struct session *session, const struct ll_study *study, const struct ll_study_plan *plan,
                 const struct ll_brought *brought, struct ll_study_result *result)
{
    struct ll_arena arena = {0};
    struct ll_diags *diags = calloc(1, sizeof *diags);
    if (!diags)
        return ll_cli_fail("memory ran out");
    const struct ll_runs runs = {plan,
                                 brought->traces,
                                 (const struct ll_machine *const *)brought->machines,
                                 session->rows.at,
                                 session->rows.count,
                                 brought->experiments,
                                 &arena,
                                 diags,
                                 brought->losses,
                                 brought->noise};
    int status = LL_DONE;
    if (!ll_study_judge(study, &runs, result))
        status = diags->count ? LL_WRONG : ll_cli_fail("%s: memory ran out", study->id);
    ll_print_diags(diags);
    ll_diags_release(diags);
    free(diags);
    ll_arena_release(&arena);
    return status;
}

/* Brings and judges once; what was brought is kept by the library alone. */
static int measure(struct session *session, struct ll_library *library, const struct ll_study *study,
                   const struct ll_study_plan *plan, bool *quiet, struct ll_study_result *result)
{
    struct ll_brought brought = {0};
    int status = ll_bring_plan(library, plan, session->args->arena, &brought);
    *quiet = brought.quiet;
    if (status == LL_DONE)
        status = judge(session, study, plan, &brought, result);
    ll_brought_release(&brought);
    return status;
}

/* Records and judges again, and joins what was found into the result. */
static int repeat(struct session *session, const struct ll_study *study, const struct ll_study_plan *plan,
                  bool quiet, struct ll_study_result *result)
{
    struct ll_study_result repetitions[REPETITIONS] = {{.failed = false}};
    size_t count = 0;
    int status = LL_DONE;
    while (count < REPETITIONS && status == LL_DONE &&
           (count == 0 || ll_quiet_mark().at_s - session->begin_s < repeating_s)) {
        bool quiet_too;
        ll_cli_tell("%s: once more, for some criteria do not hold\n", study->id);
        session->again[count].patience_s = session->library.patience_s;
        status = measure(session, &session->again[count], study, plan, &quiet_too, &repetitions[count]);
        quiet &= quiet_too;
        count++;
    }
    if (status == LL_DONE)
        ll_study_join(result, repetitions, count, quiet);
    for (size_t i = 0; i < count; i++)
        ll_study_result_release(&repetitions[i]);
    return status;
}

/* Of a study that --quick leaves out: its page and the rest say so, and that nothing was recorded. */
static int skip(struct session *session, const struct ll_study *study)
{
    const struct ll_study_plan nothing = {0};
    struct ll_study_result result = {.failed = false};
    int status = LL_FAILED;
    ll_criterion_skipped(&result, "it records workloads on this computer, which --quick leaves out",
                         "the study as a whole");
    if (result.failed)
        ll_cli_fail("memory ran out");
    else if (write_files(session->args, session->folder, study, &nothing, &result) &&
             write_figures(session, study, &result))
        status = show(session, study, &nothing, &result);
    ll_study_result_release(&result);
    return status;
}

static int run_planned(struct session *session, const struct ll_study *study,
                       const struct ll_study_plan *plan)
{
    struct ll_study_result result = {.failed = false};
    bool quiet = true;
    int status = measure(session, &session->library, study, plan, &quiet, &result);
    if (status == LL_DONE && ll_study_records(plan) && ll_count_verdicts(&result, LL_FAIL))
        status = repeat(session, study, plan, quiet, &result);
    if (status == LL_DONE && (!write_files(session->args, session->folder, study, plan, &result) ||
                              !write_figures(session, study, &result)))
        status = LL_FAILED;
    if (status == LL_DONE)
        status = show(session, study, plan, &result);
    ll_study_result_release(&result);
    return status;
}

static int run_study(struct session *session, const struct ll_study *study)
{
    struct ll_study_plan plan = {.whole = ll_flag(session->args, "whole")};
    const double begin_s = ll_quiet_mark().at_s;
    int status;
    study->plan(&plan);
    ll_cli_tell("%s: %s\n", study->id, study->title);
    if (plan.failed)
        status = ll_cli_fail("memory ran out");
    else if (ll_flag(session->args, "quick") && ll_study_records(&plan))
        status = skip(session, study);
    else
        status = run_planned(session, study, &plan);
    ll_study_plan_release(&plan);
    if (status == LL_DONE && ll_flag(session->args, "all"))
        ll_cli_tell("%s: %.1f s\n", study->id, ll_quiet_mark().at_s - begin_s);
    return status;
}

/* Of several, whose verdicts stand far apart; in words that nobody looks for verdicts by. */
static int sum_up(struct session *session, size_t count)
{
    static const struct {
        enum ll_verdict verdict;
        const char *words;
    } rest[] = {{LL_EXPLAINED, "explained"},
                {LL_INCONCLUSIVE, "inconclusive"},
                {LL_INFO, "for information"},
                {LL_SKIPPED, "skipped"}};
    const size_t failed = session->verdicts[LL_FAIL];
    ll_str_addf(&session->text, "%zu stud%s: %zu criteri%s", count, count == 1 ? "y" : "ies",
                session->verdicts[LL_PASS], session->verdicts[LL_PASS] == 1 ? "on holds" : "a hold");
    for (size_t i = 0; i < sizeof rest / sizeof *rest; i++)
        if (session->verdicts[rest[i].verdict])
            ll_str_addf(&session->text, ", %zu %s", session->verdicts[rest[i].verdict], rest[i].words);
    if (failed)
        ll_str_addf(&session->text, ", %zu do%s not hold: %s", failed, failed == 1 ? "es" : "",
                    session->failing.text ? session->failing.text : "");
    ll_str_add(&session->text, "\n");
    return ll_print(&session->text);
}

/* Says how far a run of several studies is, and what an interrupt leaves. */
static void report_progress(const struct session *session, const struct ll_study *const *chosen, size_t done,
                            size_t count)
{
    static const double long_s = 120; /* the first studies say little of the others */
    struct ll_str rest = {0};
    struct ll_human left;
    const double passed_s = ll_quiet_mark().at_s - session->begin_s;
    for (size_t i = done; i < count; i++)
        ll_str_addf(&rest, " %s", chosen[i]->id);
    ll_on_interrupt(
        NULL, "%zu of %zu studies are done, with their files in %s; leadline study -o %s%.300s does the rest",
        done, count, session->folder, session->folder, rest.text ? rest.text : "");
    if (count > 1 && done < count && done > 0 && passed_s > long_s)
        ll_cli_tell("study %zu of %zu  about %s left\n", done + 1, count,
                    ll_format_si(&left, passed_s / (double)done * (double)(count - done), "s"));
    else if (count > 1 && done < count)
        ll_cli_tell("study %zu of %zu\n", done + 1, count);
    ll_str_release(&rest);
}

static int run_all(struct session *session, const struct ll_study *const *chosen, size_t count)
{
    int status = LL_DONE;
    bool as_json = ll_flag(session->args, "json");
    if (as_json) {
        ll_json_open_document(&session->json, "study", 1);
        ll_json_key(&session->json, "studies");
        ll_json_open_list(&session->json);
    }
    session->index.path = ll_value(session->args, "html", NULL);
    if (ll_flag(session->args, "all") && !session->index.path)
        session->index.path = ll_format(session->args->arena, "%s/index.html", session->folder);
    session->begin_s = ll_quiet_mark().at_s;
    for (size_t i = 0; i < count && status == LL_DONE; i++) {
        report_progress(session, chosen, i, count);
        status = run_study(session, chosen[i]);
    }
    if (ll_flag(session->args, "all") && status == LL_DONE)
        ll_cli_tell("all: %.1f s\n", ll_quiet_mark().at_s - session->begin_s);
    if (session->index.path && status == LL_DONE &&
        !pages_write(session->args, &session->index, "Figures and tables of papers"))
        status = LL_FAILED;
    if (!as_json && status == LL_DONE && count > 1)
        status = sum_up(session, count);
    if (!as_json || status != LL_DONE) {
        ll_str_release(&session->text);
        return status;
    }
    ll_json_close_list(&session->json);
    ll_json_close_object(&session->json);
    return ll_print(&session->text);
}

/* How long a run of the program waits for others to stop, all recordings together. */
static const double longest_wait_s = 60;

/* The rows of all files that --data names. False after printing what is wrong with them. */
static bool read_data(const struct ll_args *args, struct ll_measured_rows *rows)
{
    const char *path;
    for (size_t i = 0; (path = ll_value_at(args, "data", i)); i++)
        if (!ll_read_rows(&path, 1, args->arena, rows))
            return false;
    return true;
}

static int run(const struct ll_args *args)
{
    const struct ll_study *chosen[2 * MOST_STUDIES];
    static const char *const of_running[] = {"output", "data",   "whole", "quick",
                                             "html",   "figure", "kind",  NULL};
    if (args->word_count == 0 && !ll_flag(args, "all"))
        return ll_without(args, of_running, "is for a study: name one, or --all")
                   ? list_studies(ll_flag(args, "json"))
                   : LL_WRONG;
    if (ll_flag(args, "quick") && ll_flag(args, "whole"))
        return ll_cli_reject("--quick takes samples, --whole all points: one of them");
    size_t count = choose(args, chosen);
    const char *ids[2 * MOST_STUDIES];
    struct ll_figure_files figures;
    for (size_t i = 0; i < count; i++)
        ids[i] = chosen[i]->id;
    if (count == 0 || !is_of_use(args, chosen, count) || !ll_figure_read(args, ids, count, &figures))
        return LL_WRONG;
    struct session session = {
        .args = args, .folder = ll_value(args, "output", "study"), .ids = ids, .figures = figures};
    session.json = (struct ll_json){.out = &session.text, .indent = true};
    session.library.patience_s = longest_wait_s;
    int status = LL_WRONG;
    if (read_data(args, &session.rows))
        status = ll_make_folder(session.folder) ? run_all(&session, chosen, count) : LL_FAILED;
    ll_str_release(&session.failing);
    ll_page_content_release(&session.index.content);
    ll_library_release(&session.library);
    for (size_t i = 0; i < REPETITIONS; i++)
        ll_library_release(&session.again[i]);
    free(session.rows.at);
    return status == LL_DONE && session.verdicts[LL_FAIL] ? LL_FAILED : status;
}

static const struct ll_option options[] = {
    {"output", 'o', "FOLDER", "folder for the files, created if missing (default: study)"},
    LL_FIGURE_OPTIONS(
        "ID, the study (default: the first that is named); what it has of further figures goes beside "
        "it, FILE-NAME"),
    {"all", 0, NULL, "run every study"},
    LL_HTML_OPTION("figures beside the published ones, criteria"),
    {"data", 0, "DATA.csv", "measured steps in place of the installed ones (P2, P7, P8); may be repeated"},
    {"quick", 0, NULL, "leave out studies that record workloads on this computer; they are SKIPPED"},
    {"whole", 0, NULL, "simulate all points of a study, not only a sample; takes minutes"},
    {0},
};

const struct ll_command ll_command_study = {
    .name = "study",
    .rows = "studies/tables/rows|studies",
    .synopsis = "[ID...]",
    .summary = "regenerate figures and tables of papers, and judge them",
    .examples = "  leadline study\n"
                "  leadline study F3 F4 -o figures\n"
                "  leadline study P8 --figure P8.pdf\n",
    .details = "Without an ID, lists the studies. A study writes ID.csv, ID.html, ID.json, one of a figure "
               "ID.svg; further tables are in ID-NAME.csv. --all writes index.html, all figures beside their "
               "criteria. It prints its tables and whether each criterion holds: PASS, FAIL, EXPLAINED (not "
               "what the paper prints, with arithmetic that shows why), INCONCLUSIVE (a measurement differs "
               "too much), INFO (beside what is published, with the reason why it is not judged) or SKIPPED. "
               "FAIL makes the status 1.\n",
    .options = options,
    .repeated = (const char *const[]){"data", "figure", "kind", NULL},
    .writes = (const char *const[]){"output", "html", "figure", NULL},
    .reads = (const char *const[]){"data", NULL},
    .most_words = MOST_STUDIES,
    .run = run,
};
