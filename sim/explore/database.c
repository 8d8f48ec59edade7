/* SPDX-License-Identifier: Apache-2.0 */
/* What lies under a sweep's database: the lock of the only writer, SQLite behind a narrow interface, and the
 * check that a file is a database of ours. The last section merges databases. */
#define _GNU_SOURCE
#define _POSIX_C_SOURCE 200809L
#include "sim/explore/database.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sim/explore/sweep.h"
#include "sim/machine/node.h"
#include "sim/report/table.h"
#include "tracer/base/diag.h"
#include "tracer/base/file.h"
#include "tracer/base/str.h"

/* An empty file beside the database, and an advisory lock on it: not on the database itself, whose locks
 * SQLite keeps, and which --fresh makes anew. Who gives the lock back removes the file; so who has got one
 * looks whether it is still that of the path, and else tries again. */

struct ll_lock {
    struct ll_str path; /* of the lock */
    int file;
};

static bool is_of_the_path(const struct ll_lock *lock)
{
    struct stat ours, there;
    return fstat(lock->file, &ours) == 0 && stat(lock->path.text, &there) == 0 &&
           ours.st_ino == there.st_ino && ours.st_dev == there.st_dev;
}

/* 0, or the number of the error. A file system without such locks is one where nobody has one. */
static int take(struct ll_lock *lock)
{
    for (;;) {
        lock->file = open(lock->path.text, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
        if (lock->file < 0)
            return errno;
        if (flock(lock->file, LOCK_EX | LOCK_NB) != 0)
            return errno == EWOULDBLOCK ? EWOULDBLOCK : 0;
        if (is_of_the_path(lock))
            return 0;
        close(lock->file);
    }
}

/* What no database can be: its pages are read and written in any order; a pipe would keep us waiting. */
static bool is_pipe_or_device(const char *path)
{
    struct stat there;
    return stat(path, &there) == 0 && !S_ISREG(there.st_mode) && !S_ISDIR(there.st_mode);
}

struct ll_lock *ll_lock_take(const char *path, enum ll_status *status, struct ll_diags *diags)
{
    struct ll_lock *lock = calloc(1, sizeof *lock);
    int error = ENOMEM;
    if (lock) {
        lock->file = -1;
        ll_str_addf(&lock->path, "%s.lock", path);
        error = lock->path.failed ? ENOMEM : is_pipe_or_device(path) ? ENOTBLK : take(lock);
    }
    *status = error == 0 || error == EWOULDBLOCK ? LL_OK : ll_status_of(error, LL_CANNOT_WRITE);
    if (error == 0)
        return lock;
    ll_complain(diags, (struct ll_place){.file = path}, "%s",
                *status == LL_OK ? "another sweep is writing to it" : ll_status_text(*status));
    if (lock && lock->file >= 0)
        close(lock->file);
    if (lock)
        ll_str_release(&lock->path);
    free(lock);
    return NULL;
}

void ll_lock_release(struct ll_lock *lock)
{
    if (!lock)
        return;
    unlink(lock->path.text);
    close(lock->file);
    ll_str_release(&lock->path);
    free(lock);
}

struct ll_query {
    sqlite3_stmt *statement;
    struct ll_database *database;
    struct ll_query *next;
};

struct ll_database {
    sqlite3 *handle;
    struct ll_query *queries;
    char trouble[400];
    bool has_trouble;
};

enum {
    PRIMARY = 0xff,      /* of a result code of SQLite; the rest says more of it */
    BUSY_MS = 10000,     /* another program reads or writes: how long who writes waits for it */
    BUSY_READ_MS = 3000, /* and who only reads */
    STOP_STEPS = 10000   /* steps of SQLite's machine between looks whether to stop */
};

/* Who has a lock on a file, as the kernel lists them: its number is 0 when nobody is known. A lock is looked
 * for by the file's number alone: some file systems show another device than they lock. */
static unsigned long holder_of(const char *path)
{
    struct stat there;
    FILE *locks = stat(path, &there) == 0 ? fopen("/proc/locks", "re") : NULL;
    char line[200];
    unsigned long found = 0;
    while (locks && !found && fgets(line, sizeof line, locks)) {
        unsigned long holder, inode;
        if (sscanf(line, "%*u: %*s %*s %*s %lu %*x:%*x:%lu", &holder, &inode) == 2 && inode == there.st_ino &&
            holder != (unsigned long)getpid())
            found = holder;
    }
    if (locks)
        fclose(locks);
    return found;
}

/* With the name of the program, where there is one to be seen. */
static void tell_who_locks(struct ll_database *database)
{
    struct ll_str log = {0};
    char path[40], name[64] = "";
    const char *file = sqlite3_db_filename(database->handle, "main");
    unsigned long holder = file ? holder_of(file) : 0;
    if (file && !holder) { /* in write-ahead mode the locks are beside it */
        ll_str_addf(&log, "%s-shm", file);
        holder = log.failed ? 0 : holder_of(log.text);
        ll_str_release(&log);
    }
    snprintf(path, sizeof path, "/proc/%lu/comm", holder);
    FILE *comm = holder ? fopen(path, "re") : NULL;
    if (comm && fgets(name, sizeof name, comm))
        name[strcspn(name, "\n")] = 0;
    if (comm)
        fclose(comm);
    if (holder)
        ll_snprintf(database->trouble, sizeof database->trouble, "it is locked by process %lu%s%s%s", holder,
                    *name ? " (" : "", name, *name ? ")" : "");
    else
        ll_snprintf(database->trouble, sizeof database->trouble, "it is locked by another program");
}

/* Keeps the first trouble; false when there is one. */
static bool check(struct ll_database *database, int code)
{
    if (code == SQLITE_OK || code == SQLITE_DONE || code == SQLITE_ROW)
        return true;
    if ((code & PRIMARY) == SQLITE_NOMEM || code == SQLITE_IOERR_NOMEM)
        ll_note_no_memory();
    if (database->has_trouble)
        return false;
    const char *text = database->handle ? sqlite3_errmsg(database->handle) : sqlite3_errstr(code);
    if ((code & PRIMARY) == SQLITE_BUSY)
        tell_who_locks(database);
    else
        ll_snprintf(database->trouble, sizeof database->trouble, "%s", text);
    database->has_trouble = true;
    return false;
}

static bool is_there(const char *path, const char *ending)
{
    struct ll_str name = {0};
    struct stat there;
    ll_str_addf(&name, "%s%s", path, ending);
    bool found = name.failed || stat(name.text, &there) == 0;
    ll_str_release(&name);
    return found;
}

/* Byte 18 of a database says whether it has a log, which stands beside it while anybody writes (SQLite:
 * Database file format, 1.3.3). Without one nothing is to come, but just to read SQLite would make it and
 * leave it there, and fail where it cannot. */
static bool misses_its_log(const char *path)
{
    enum { VERSION_AT = 18, HAS_LOG = 2 };
    FILE *file = fopen(path, "rb");
    bool has_log = file && fseek(file, VERSION_AT, SEEK_SET) == 0 && getc(file) == HAS_LOG;
    if (file)
        fclose(file);
    return has_log && !is_there(path, "-wal");
}

/* A path as the URI of a file that nobody changes. */
static void add_unchanging(struct ll_str *uri, const char *path)
{
    ll_str_add(uri, *path == '/' ? "file://" : "file:");
    for (; *path; path++)
        ll_str_addf(uri, strchr("%?#", *path) ? "%%%02X" : "%c", (unsigned char)*path);
    ll_str_add(uri, "?immutable=1");
}

static int open_to_read(const char *path, sqlite3 **handle)
{
    struct ll_str uri = {0};
    if (!misses_its_log(path))
        return sqlite3_open_v2(path, handle, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX, NULL);
    add_unchanging(&uri, path);
    int code = uri.failed
                   ? SQLITE_NOMEM
                   : sqlite3_open_v2(uri.text, handle,
                                     SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_URI, NULL);
    ll_str_release(&uri);
    return code;
}

struct ll_database *ll_database_open(const char *path, bool writing)
{
    struct ll_database *database = calloc(1, sizeof *database);
    int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX;
    if (!database)
        return NULL;
    if (check(database, writing ? sqlite3_open_v2(path, &database->handle, flags, NULL)
                                : open_to_read(path, &database->handle))) {
        sqlite3_busy_timeout(database->handle, writing ? BUSY_MS : BUSY_READ_MS);
        sqlite3_db_config(database->handle, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
    }
    return database;
}

static int is_stopped(void *stop)
{
    return *(const volatile sig_atomic_t *)stop != 0;
}

/* What runs from now on ends in trouble soon after *stop was set, as by the handler of a signal. */
static void database_heed(struct ll_database *database, const volatile sig_atomic_t *stop)
{
    if (!database->handle)
        return; /* there was no memory for it, as every query will say */
    sqlite3_progress_handler(database->handle, STOP_STEPS, stop ? is_stopped : NULL, (void *)stop);
}

bool ll_database_close(struct ll_database *database)
{
    if (!database)
        return true;
    for (struct ll_query *query = database->queries, *next; query; query = next) {
        next = query->next;
        sqlite3_finalize(query->statement);
        free(query);
    }
    bool closed = sqlite3_close(database->handle) == SQLITE_OK && !database->has_trouble;
    free(database);
    return closed;
}

void ll_database_remove(const char *path)
{
    static const char *const endings[] = {"", "-wal", "-shm", "-journal"};
    char name[4096 + 16]; /* also where there is no memory */
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++)
        if (snprintf(name, sizeof name, "%s%s", path, endings[i]) < (int)sizeof name)
            remove(name);
}

const char *ll_database_trouble(struct ll_database *database)
{
    bool has_trouble = database->has_trouble;
    database->has_trouble = false;
    return has_trouble ? database->trouble : NULL;
}

bool ll_database_busy(struct ll_database *database)
{
    return sqlite3_errcode(database->handle) == SQLITE_BUSY;
}

static bool database_keeps_out(struct ll_database *database)
{
    switch (sqlite3_errcode(database->handle) & PRIMARY) {
    case SQLITE_OK:
    case SQLITE_ROW:
    case SQLITE_DONE:
    case SQLITE_ERROR:
    case SQLITE_CORRUPT:
    case SQLITE_FORMAT:
    case SQLITE_NOTADB:
        return false;
    default:
        return true;
    }
}

bool ll_database_run(struct ll_database *database, const char *sql)
{
    return check(database,
                 database->handle ? sqlite3_exec(database->handle, sql, NULL, NULL, NULL) : SQLITE_NOMEM);
}

struct ll_query *ll_query_new(struct ll_database *database, const char *sql)
{
    struct ll_query *query = calloc(1, sizeof *query);
    if (!query || !database->handle) {
        check(database, SQLITE_NOMEM);
        free(query);
        return NULL;
    }
    if (!check(database, sqlite3_prepare_v3(database->handle, sql, -1, SQLITE_PREPARE_PERSISTENT,
                                            &query->statement, NULL))) {
        free(query);
        return NULL;
    }
    query->database = database;
    query->next = database->queries;
    database->queries = query;
    return query;
}

void ll_query_text(struct ll_query *query, int parameter, const char *text)
{
    assert(parameter > 0);
    check(query->database, sqlite3_bind_text(query->statement, parameter, text, -1, SQLITE_STATIC));
}

void ll_query_number(struct ll_query *query, int parameter, double number)
{
    assert(parameter > 0);
    check(query->database, sqlite3_bind_double(query->statement, parameter, number)); /* NaN becomes NULL */
}

void ll_query_count(struct ll_query *query, int parameter, uint64_t count)
{
    assert(parameter > 0);
    check(query->database, sqlite3_bind_int64(query->statement, parameter, (sqlite3_int64)count));
}

bool ll_query_next(struct ll_query *query)
{
    int code = sqlite3_step(query->statement);
    if (code == SQLITE_ROW)
        return true;
    check(query->database, code);
    sqlite3_reset(query->statement);
    return false;
}

bool ll_query_run(struct ll_query *query)
{
    while (ll_query_next(query))
        ;
    return !query->database->has_trouble;
}

void ll_query_reset(struct ll_query *query)
{
    sqlite3_reset(query->statement);
}

int ll_query_columns(const struct ll_query *query)
{
    return sqlite3_column_count(query->statement);
}

const char *ll_query_name(const struct ll_query *query, int column)
{
    assert(column >= 0 && column < sqlite3_column_count(query->statement));
    return sqlite3_column_name(query->statement, column);
}

const char *ll_cell_text(const struct ll_query *query, int column)
{
    assert(column >= 0 && column < sqlite3_column_count(query->statement));
    bool is_null = sqlite3_column_type(query->statement, column) == SQLITE_NULL;
    const char *text = (const char *)sqlite3_column_text(query->statement, column);
    if (!text && !is_null)
        check(query->database, SQLITE_NOMEM);
    return text;
}

/* A column takes any text, whatever type it is declared of. */
static void refuse_cell(const struct ll_query *query, int column)
{
    struct ll_database *database = query->database;
    if (!database->has_trouble)
        ll_snprintf(database->trouble, sizeof database->trouble,
                    "the database is damaged: in column `%s` stands what is no number",
                    sqlite3_column_name(query->statement, column));
    database->has_trouble = true;
}

double ll_cell_number(const struct ll_query *query, int column)
{
    assert(column >= 0 && column < sqlite3_column_count(query->statement));
    int type = sqlite3_column_type(query->statement, column);
    if (type == SQLITE_INTEGER || type == SQLITE_FLOAT)
        return sqlite3_column_double(query->statement, column);
    if (type != SQLITE_NULL)
        refuse_cell(query, column);
    return NAN;
}

uint64_t ll_cell_count(const struct ll_query *query, int column)
{
    assert(column >= 0 && column < sqlite3_column_count(query->statement));
    int type = sqlite3_column_type(query->statement, column);
    if (type != SQLITE_INTEGER && type != SQLITE_NULL)
        refuse_cell(query, column);
    return (uint64_t)sqlite3_column_int64(query->statement, column);
}

/* What a file is, before anybody takes it for a database of ours. */

static enum ll_status try_reading(const char *path)
{
    if (is_pipe_or_device(path))
        return LL_IS_DEVICE;
    FILE *file = fopen(path, "rb");
    if (!file)
        return ll_status_of(errno, LL_CANNOT_OPEN);
    errno = 0;
    getc(file);
    enum ll_status status = ferror(file) ? ll_status_of(errno, LL_CANNOT_READ) : LL_OK;
    fclose(file);
    return status;
}

/* How many of our names there are; and whether they are ordinary tables, each with its key, and nothing runs
 * beside what is asked: then every question ends, in a time that follows from the size of the file. */
#define LL_TABLES                                                                                            \
    "('provenance', 'workloads', 'parameters', 'choices', 'objectives', 'points', 'results', 'base')"
static const char tables_sql[] =
    "SELECT (SELECT count(*) FROM sqlite_master WHERE name IN " LL_TABLES "),"
    " (SELECT count(*) FROM sqlite_master WHERE type = 'table' AND rootpage > 0 AND name IN " LL_TABLES
    ") = 8"
    " AND NOT EXISTS (SELECT 1 FROM sqlite_master WHERE type = 'trigger')"
    " AND (SELECT count(*) FROM sqlite_master AS m JOIN pragma_table_info(m.name) AS c WHERE m.type = 'table'"
    " AND (m.name, c.name, c.pk) IN (VALUES ('provenance', 'name', 1), ('workloads', 'id', 1),"
    " ('parameters', 'id', 1), ('choices', 'parameter', 1), ('choices', 'id', 2), ('objectives', 'id', 1),"
    " ('points', 'number', 1), ('results', 'point', 1), ('results', 'workload', 2), ('base', 'workload', 1)))"
    " = 10";

bool ll_store_check(const char *path, struct ll_diags *diags)
{
    enum { TABLES = 8 };
    struct ll_place place = {.file = path};
    enum ll_status status = try_reading(path);
    if (status != LL_OK)
        return ll_complain(diags, place, "%s", ll_status_text(status));
    struct ll_database *database = ll_database_open(path, false);
    struct ll_query *query = database ? ll_query_new(database, tables_sql) : NULL;
    bool read = query && ll_query_next(query);
    bool ours = read && ll_cell_count(query, 0) == TABLES, right = ours && ll_cell_count(query, 1);
    bool kept_out = !database || database_keeps_out(database);
    const char *trouble = database ? ll_database_trouble(database) : "memory ran out";
    if (!read && kept_out)
        ll_complain(diags, place, "%s", trouble);
    else if (!ours)
        ll_complain(diags, place, "this is not the database of a sweep%s%s", trouble ? ": " : "",
                    trouble ? trouble : "");
    else if (!right)
        ll_complain(diags, place, "the database is damaged: its tables are not those that a sweep makes");
    ll_database_close(database);
    return right;
}

bool ll_store_discardable(const char *path, struct ll_diags *diags)
{
    struct stat there;
    if (lstat(path, &there) != 0)
        return true;
    if (is_pipe_or_device(path))
        return ll_complain(diags, (struct ll_place){.file = path}, "%s", ll_status_text(LL_IS_DEVICE));
    struct ll_database *database = ll_database_open(path, false);
    struct ll_query *query =
        database ? ll_query_new(database, "SELECT count(*) = 0 OR total(name = 'provenance') > 0"
                                          " FROM sqlite_master")
                 : NULL;
    bool discardable = query && ll_query_next(query) && ll_cell_count(query, 0) == 1;
    const char *trouble = !database                      ? "memory ran out"
                          : database_keeps_out(database) ? ll_database_trouble(database)
                                                         : NULL;
    if (!discardable)
        ll_complain(diags, (struct ll_place){.file = path}, "%s",
                    trouble ? trouble
                            : "no database of a sweep, and nothing else is discarded; -o names another file");
    ll_database_close(database);
    return discardable;
}

/* Joining databases: those of processes that swept together, and those of shards. Points that several
 * databases have must agree to the last bit. */

/* How long the output's path is without its ending. */
static int stem_length(const char *output)
{
    const char *dot = strrchr(output, '.');
    return (int)(dot && !strchr(dot, '/') ? (size_t)(dot - output) : strlen(output));
}

const char *ll_part_path(const char *output, unsigned rank, struct ll_arena *arena)
{
    return ll_format(arena, "%.*s.part%u.db", stem_length(output), output, rank);
}

static bool merge_is_there(const char *path)
{
    return access(path, F_OK) == 0;
}

static bool store_join(const char *path, const char *const *parts, size_t count,
                       const volatile sig_atomic_t *stop, uint64_t *points, struct ll_diags *diags);

bool ll_part_begin(const char *output, const char *part, struct ll_diags *diags)
{
    uint64_t points;
    return !merge_is_there(output) || store_join(part, &output, 1, NULL, &points, diags);
}

/* Whether a process was killed before it could say whose part this is. */
static bool is_blank(const char *path)
{
    struct ll_database *database = ll_database_open(path, false);
    struct ll_query *query = database ? ll_query_new(database, "SELECT count(*) FROM sqlite_master") : NULL;
    bool blank = query && ll_query_next(query) && ll_cell_count(query, 0) == 0;
    ll_database_close(database);
    return blank;
}

/* The output and its parts as far as they are there, the output first: it tells what the others must agree
 * with. */
static const char **list_files(const char *output, struct ll_arena *arena, size_t *count)
{
    const char **files = ll_alloc(arena, LL_MOST_PARTS + 1, sizeof *files);
    *count = 0;
    if (files && merge_is_there(output))
        files[(*count)++] = output;
    for (unsigned rank = 0; files && rank < LL_MOST_PARTS; rank++) {
        const char *part = ll_part_path(output, rank, arena);
        if (!part)
            return NULL;
        if (merge_is_there(part) && is_blank(part))
            ll_database_remove(part);
        else if (merge_is_there(part))
            files[(*count)++] = part;
    }
    return files;
}

bool ll_parts_join(const char *output, bool fresh, struct ll_arena *arena, struct ll_diags *diags)
{
    size_t count = 0;
    uint64_t points;
    const char **files = list_files(output, arena, &count);
    if (!files)
        return ll_complain(diags, (struct ll_place){.file = output}, "memory ran out");
    bool has_parts = count > 1 || (count == 1 && files[0] != output);
    if (!fresh && has_parts && !store_join(output, files, count, NULL, &points, diags))
        return false;
    for (size_t i = 0; fresh && i < count; i++)
        if (!ll_store_discardable(files[i], diags))
            return false;
    for (size_t i = 0; i < count; i++)
        if (fresh || files[i] != output)
            ll_database_remove(files[i]);
    return true;
}

/* The first part is copied, the others are attached one after the other and their rows put in. All of it
 * beside the file that is to be, which is there when it is whole. */

struct merging {
    struct ll_database *database;
    const char *path;       /* what is to be */
    const char *unfinished; /* what is written */
    const volatile sig_atomic_t *stop;
    struct ll_diags *diags;
};

static bool trouble(struct merging *m, const char *file)
{
    const char *text = m->database ? ll_database_trouble(m->database) : NULL;
    return ll_complain(m->diags, (struct ll_place){.file = file}, "%s", text ? text : "memory ran out");
}

static bool run_with(struct merging *m, const char *file, const char *sql, const char *value)
{
    struct ll_query *query = ll_query_new(m->database, sql);
    if (query)
        ll_query_text(query, 1, value);
    return (query && ll_query_run(query)) || trouble(m, file);
}

/* The single value of a query, LL_NO_FIT on trouble. */
static uint64_t count_of(struct merging *m, const char *sql)
{
    struct ll_query *query = ll_query_new(m->database, sql);
    uint64_t count = query && ll_query_next(query) ? ll_cell_count(query, 0) : UINT64_MAX;
    if (query)
        ll_query_reset(query);
    return count;
}

/* An empty file, which SQLite takes for none: its folder may be missing, and the system says so best. */
static bool make_file(struct merging *m)
{
    ll_database_remove(m->unfinished);
    FILE *made = fopen(m->unfinished, "wb");
    return (made && fclose(made) == 0) ||
           ll_complain(m->diags, (struct ll_place){.file = m->path}, "%s", strerror(errno));
}

static bool open_database(struct merging *m, const char *path, bool writing)
{
    m->database = ll_database_open(path, writing);
    if (m->database)
        database_heed(m->database, m->stop);
    return m->database != NULL;
}

static bool copy_first(struct merging *m, const char *part)
{
    if (!make_file(m))
        return false;
    bool right = open_database(m, part, false) && count_of(m, "SELECT count(*) FROM points") != UINT64_MAX
                     ? run_with(m, part, "VACUUM INTO ?1", m->unfinished)
                     : trouble(m, part);
    ll_database_close(m->database);
    m->database = NULL;
    return right && (open_database(m, m->unfinished, true) || trouble(m, m->path));
}

/* Also of points that only one of them has. */
static bool rests_on_the_same(struct merging *m, const char *part)
{
    static const char sql[] = "WITH names (name, called) AS (VALUES "
#define X(name, called) "('" name "', '" called "'), "
        LL_BASIS_LIST(X)
#undef X
            "('', ''))"
            "SELECT group_concat(called, ', ') FROM (SELECT called || ' (' || coalesce(b.value, 'unknown')"
            " || ' instead of ' || coalesce(a.value, 'unknown') || ')' AS called FROM names"
            " LEFT JOIN provenance AS a USING (name) LEFT JOIN part.provenance AS b USING (name)"
            " WHERE a.value IS NOT b.value UNION ALL"
            " SELECT 'the workload `' || a.name || '`' FROM workloads AS a LEFT JOIN part.workloads AS b "
            "USING (id) WHERE a.hash IS NOT b.hash)";
    struct ll_query *query = ll_query_new(m->database, sql);
    if (!query || !ll_query_next(query))
        return trouble(m, part);
    const char *differing = ll_cell_text(query, 0);
    if (differing)
        ll_complain(m->diags, (struct ll_place){.file = part},
                    "was evaluated with something else than the first file: %s", differing);
    ll_query_reset(query);
    return !differing;
}

/* Points of both, result by result: what was computed elsewhere came out alike, to the last bit. */
static bool has_the_same_results(struct merging *m, const char *part)
{
    uint64_t differ = count_of(m, "SELECT count(*) FROM (SELECT * FROM part.results WHERE point IN"
                                  " (SELECT point FROM main.results) EXCEPT SELECT * FROM main.results)");
    if (differ == UINT64_MAX)
        return trouble(m, part);
    return differ == 0 ||
           ll_complain(m->diags, (struct ll_place){.file = part},
                       "%llu result%s of points that are in the files before, too, %s not "
                       "what stands there",
                       (unsigned long long)differ, ll_plural(differ), differ == 1 ? "is" : "are");
}

/* The rows of the first go on under the columns and numbers of what stands there. */
static bool has_the_same_tables(struct merging *m, const char *part)
{
    static const char *const same[] = {
        "SELECT count(*) FROM part.sqlite_master AS b LEFT JOIN main.sqlite_master AS a USING (name)"
        " WHERE name IN ('points', 'results') AND a.sql IS NOT b.sql",
        "SELECT count(*) FROM (SELECT id, path, target FROM part.parameters"
        " EXCEPT SELECT id, path, target FROM main.parameters)",
        "SELECT count(*) FROM (SELECT * FROM part.choices EXCEPT SELECT * FROM main.choices)",
        "SELECT count(*) FROM (SELECT id, text, name, most FROM part.objectives"
        " EXCEPT SELECT id, text, name, most FROM main.objectives)",
        "SELECT (SELECT count(*) FROM part.choices) <> (SELECT count(*) FROM main.choices)"};
    for (size_t i = 0; i < sizeof same / sizeof *same; i++) {
        uint64_t differ = count_of(m, same[i]);
        if (differ == UINT64_MAX)
            return trouble(m, part);
        if (differ > 0)
            return ll_complain(
                m->diags, (struct ll_place){.file = part},
                "the database is damaged, or the first one is: they say that they are of the same "
                "sweep, but their parameters, values, objectives or columns differ");
    }
    return true;
}

static bool check_part(struct merging *m, const char *part)
{
    struct ll_place place = {.file = part};
    uint64_t others =
        count_of(m, "SELECT count(*) FROM provenance AS a JOIN part.provenance AS b USING (name)"
                    " WHERE name = '" LL_FACT_SPACE "' AND a.value = b.value");
    if (others == UINT64_MAX)
        return trouble(m, part);
    if (others != 1)
        return ll_complain(m->diags, place, "holds the results of another sweep than the first file");
    if (!rests_on_the_same(m, part) || !has_the_same_tables(m, part))
        return false;
    uint64_t differ = count_of(m, "SELECT count(*) FROM points AS a JOIN part.points AS b USING (number)"
                                  " WHERE a.key <> b.key");
    if (differ == UINT64_MAX)
        return trouble(m, part);
    if (differ > 0)
        return ll_complain(m->diags, place,
                           "%llu point%s evaluated of other traces, another base machine or "
                           "by another program than in the files before",
                           (unsigned long long)differ, differ == 1 ? " was" : "s were");
    return has_the_same_results(m, part);
}

static bool add_part(struct merging *m, const char *part)
{
    if (!run_with(m, part, "ATTACH ?1 AS part", part))
        return false;
    bool right = check_part(m, part);
    if (right &&
        !ll_database_run(m->database, "BEGIN; INSERT OR IGNORE INTO points SELECT * FROM part.points;"
                                      "INSERT OR IGNORE INTO results SELECT * FROM part.results;"
                                      "INSERT OR REPLACE INTO provenance SELECT * FROM part.provenance AS b"
                                      " WHERE b.name GLOB '" LL_FACT_FINISHED "*' AND (b.value = 'yes' OR"
                                      " b.name NOT IN (SELECT name FROM provenance));"
                                      "COMMIT"))
        right = trouble(m, part);
    return right && (ll_database_run(m->database, "DETACH part") || trouble(m, part));
}

/* Of all parts; *points is how many there are then. */
static bool write_all(struct merging *m, const char *const *parts, size_t count, uint64_t *points)
{
    bool right = copy_first(m, parts[0]);
    for (size_t i = 1; right && i < count; i++)
        right = add_part(m, parts[i]);
    *points = right ? count_of(m, "SELECT count(*) FROM points") : 0;
    if (right && *points == UINT64_MAX)
        right = trouble(m, m->path);
    if (!ll_database_close(m->database) && right)
        right = ll_complain(m->diags, (struct ll_place){.file = m->path}, "not all of it could be written");
    if (right && m->stop && *m->stop)
        right = ll_complain(m->diags, (struct ll_place){.file = m->path}, "interrupted");
    return right;
}

/* Joins databases of one space into a file, written beside and then moved to its place, where it may
 * replace one of them. False after complaints: they are of different spaces, their results rest on different
 * things, two have different results of one point, or *stop (NULL: nobody stops it) was set on the way; then
 * all is as it was. *points is how many there are. */
static bool store_join(const char *path, const char *const *parts, size_t count,
                       const volatile sig_atomic_t *stop, uint64_t *points, struct ll_diags *diags)
{
    struct ll_arena arena = {0};
    struct merging m = {.path = path, .stop = stop, .diags = diags};
    struct ll_place place = {.file = path};
    bool right = true;
    for (size_t i = 0; i < count; i++)
        right &= ll_store_check(parts[i], diags);
    const char *target = ll_path_target(&arena, path);
    m.unfinished = target ? ll_format(&arena, "%s.unfinished", target) : NULL;
    right = right && (m.unfinished || ll_complain(diags, place, "memory ran out"));
    bool begun = right;
    right = right && write_all(&m, parts, count, points);
    if (right && rename(m.unfinished, target) != 0)
        right = ll_complain(diags, place, "%s", strerror(errno));
    if (begun && !right)
        ll_database_remove(m.unfinished);
    ll_arena_release(&arena);
    return right;
}

bool ll_store_merge(const char *path, const char *const *parts, size_t count,
                    const volatile sig_atomic_t *stop, uint64_t *points, struct ll_diags *diags)
{
    if (access(path, F_OK) == 0)
        return ll_complain(diags, (struct ll_place){.file = path},
                           "the file is there already; merge into a new one");
    bool sound = true;
    for (size_t i = 0; i < count; i++)
        sound &= ll_store_is_sound(parts[i], diags);
    return sound && store_join(path, parts, count, stop, points, diags);
}
