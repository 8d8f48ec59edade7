/* SPDX-License-Identifier: Apache-2.0 */
/* leadline study [ID...]: regenerates figures and tables of papers, and judges them. */
#include "sim/cli/command.h"
#include "sim/cli/data.h"
#include "sim/cli/evidence.h"
#include "sim/report/table.h"
#include "sim/study/present.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_STUDIES = 256 };

static int list_studies(bool as_json)
{
    struct ll_str out = {0};
    struct ll_json json = {.out = &out, .indent = true};
    struct ll_table *table = ll_table_new("study|of|what it shows");
    ll_json_open_object(&json);
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
        ll_wrong("--all runs every study; leave it out to name some");
        return 0;
    }
    for (size_t i = 0; i < args->word_count && i < MOST_STUDIES; i++) {
        chosen[count] = ll_study_find(args->words[i]);
        if (!chosen[count]) {
            ll_unknown("study", args->words[i], ids, known, "leadline study");
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
    bool compares = false, surveys = false;
    for (size_t i = 0; i < count; i++) {
        struct ll_study_plan plan = {0};
        chosen[i]->plan(&plan);
        compares |= chosen[i]->compares;
        surveys |= plan.failed || plan.survey_count > 0;
        ll_study_plan_release(&plan);
    }
    return (compares || ll_without(args, of_compared, "is for studies that compare with measured steps")) &&
           (surveys || ll_without(args, of_surveys, "is for studies that survey many points"));
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
    ll_failed("memory ran out");
    return false;
}

static bool write_files(const struct ll_args *args, const char *folder, const struct ll_study *study,
                        const struct ll_study_plan *plan, const struct ll_outcome *outcome)
{
    struct ll_str text = {0};
    struct ll_json json = {.out = &text, .indent = true};
    bool written = true;
    for (size_t i = 0; i < outcome->sheet_count && written; i++) {
        ll_present_csv(&outcome->sheets[i], &text);
        written = write_text(args->arena, folder, study, outcome->sheets[i].name, "csv", &text);
    }
    for (size_t i = 0; i < outcome->drawing_count && written; i++) {
        ll_str_add(&text, outcome->drawings[i].svg.text ? outcome->drawings[i].svg.text : "");
        written = write_text(args->arena, folder, study, outcome->drawings[i].name, "svg", &text);
    }
    if (written) {
        ll_present_html(study, plan, outcome, &text);
        written = write_text(args->arena, folder, study, NULL, "html", &text);
    }
    if (written) {
        ll_present_json(study, plan, outcome, &json);
        written = write_text(args->arena, folder, study, NULL, "json", &text);
    }
    return written;
}

/* What the studies have in common while they run one after the other. */
struct session {
    const struct ll_args *args;
    const char *folder;
    struct ll_library library;
    struct ll_str text; /* for standard output */
    struct ll_json json;
    size_t passed, failed;        /* criteria */
    struct ll_str failing;        /* the studies with some that failed, ", " between them */
    struct ll_measured_rows rows; /* of --data */
};

static int show(struct session *session, const struct ll_study *study, const struct ll_study_plan *plan,
                const struct ll_outcome *outcome)
{
    size_t failed = ll_count_verdicts(outcome, LL_FAIL);
    if (failed)
        ll_str_addf(&session->failing, "%s%s", session->failed ? ", " : "", study->id);
    session->failed += failed;
    session->passed += ll_count_verdicts(outcome, LL_PASS);
    if (ll_flag(session->args, "json")) {
        ll_present_json(study, plan, outcome, &session->json);
        return LL_DONE;
    }
    ll_present_text(study, plan, outcome, ll_screen_width(), &session->text);
    ll_str_addf(&session->text, "\n%s\n\n",
                path_of(session->args->arena, session->folder, study, NULL, "html"));
    return ll_print(&session->text);
}

static int judge(struct session *session, const struct ll_study *study, const struct ll_study_plan *plan,
                 const struct ll_brought *brought, struct ll_diags *diags)
{
    struct ll_arena arena = {0};
    struct ll_outcome outcome = {0};
    const struct ll_evidence evidence = {plan,
                                         brought->traces,
                                         (const struct ll_machine *const *)brought->machines,
                                         session->rows.at,
                                         session->rows.count,
                                         brought->surveys,
                                         &arena,
                                         diags,
                                         brought->losses};
    int status = LL_DONE;
    if (!ll_study_judge(study, &evidence, &outcome))
        status = diags->count ? LL_WRONG : ll_failed("%s: memory ran out", study->id);
    else if (!write_files(session->args, session->folder, study, plan, &outcome))
        status = LL_FAILED;
    else
        status = show(session, study, plan, &outcome);
    ll_print_diags(diags);
    ll_outcome_release(&outcome);
    ll_arena_release(&arena);
    return status;
}

static int run_study(struct session *session, const struct ll_study *study)
{
    struct ll_study_plan plan = {.whole = ll_flag(session->args, "whole")};
    struct ll_brought brought = {0};
    struct ll_diags *diags = calloc(1, sizeof *diags);
    study->plan(&plan);
    fprintf(stderr, "%s: %s\n", study->id, study->title);
    int status = plan.failed || !diags ? ll_failed("memory ran out")
                                       : ll_bring(&session->library, &plan, session->args->arena, &brought);
    if (status == LL_DONE)
        status = judge(session, study, &plan, &brought, diags);
    if (diags)
        ll_diags_release(diags);
    free(diags);
    ll_brought_release(&brought);
    ll_study_plan_release(&plan);
    return status;
}

/* Of several, whose verdicts stand far apart; in words that nobody looks for verdicts by. */
static int sum_up(struct session *session, size_t count)
{
    ll_str_addf(&session->text, "%zu studies: %zu criteria hold", count, session->passed);
    if (session->failed)
        ll_str_addf(&session->text, ", %zu do%s not: %s", session->failed, session->failed == 1 ? "es" : "",
                    session->failing.text ? session->failing.text : "");
    ll_str_add(&session->text, "\n");
    return ll_print(&session->text);
}

static int run_all(struct session *session, const struct ll_study *const *chosen, size_t count)
{
    int status = LL_DONE;
    bool as_json = ll_flag(session->args, "json");
    if (as_json) {
        ll_json_open_object(&session->json);
        ll_json_put_count(&session->json, "schema", 1);
        ll_json_key(&session->json, "studies");
        ll_json_open_list(&session->json);
    }
    for (size_t i = 0; i < count && status == LL_DONE; i++)
        status = run_study(session, chosen[i]);
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
    static const char *const of_running[] = {"output", "data", "whole", NULL};
    if (args->word_count == 0 && !ll_flag(args, "all"))
        return ll_without(args, of_running, "is for a study: name one, or --all")
                   ? list_studies(ll_flag(args, "json"))
                   : LL_WRONG;
    size_t count = choose(args, chosen);
    if (count == 0 || !is_of_use(args, chosen, count))
        return LL_WRONG;
    struct session session = {.args = args, .folder = ll_value(args, "output", "study")};
    session.json = (struct ll_json){.out = &session.text, .indent = true};
    int status = LL_WRONG;
    if (read_data(args, &session.rows))
        status = ll_make_folder(session.folder) ? run_all(&session, chosen, count) : LL_FAILED;
    ll_str_release(&session.failing);
    ll_library_release(&session.library);
    free(session.rows.at);
    return status == LL_DONE && session.failed ? LL_FAILED : status;
}

static const struct ll_option options[] = {
    {"output", 'o', "FOLDER", "folder for the files, created if missing (default: study)"},
    {"all", 0, NULL, "run every study"},
    {"data", 0, "DATA.csv",
     "measured steps to compare with instead of the installed ones (P2, P7, P8); may be repeated"},
    {"whole", 0, NULL, "simulate all points that a study surveys, not only a sample; takes minutes"},
    {0},
};

const struct ll_command ll_command_study = {
    .name = "study",
    .synopsis = "[ID...]",
    .summary = "regenerate figures and tables of papers, and judge them",
    .examples = "  leadline study\n"
                "  leadline study F3 F4 -o figures\n",
    .details = "Without an ID, lists the studies. A study writes ID.csv, ID.html and ID.json, one of a "
               "figure ID.svg, "
               "too; further tables are in files ID-NAME.csv. It prints its tables and whether each of its "
               "criteria holds: PASS, FAIL, or INFO beside what is published but not judged, "
               "such as what was fitted. The exit status is 1 when one does not.\n",
    .options = options,
    .repeated = (const char *const[]){"data", NULL},
    .writes = (const char *const[]){"output", NULL},
    .reads = (const char *const[]){"data", NULL},
    .most_words = MOST_STUDIES,
    .run = run,
};
