/* shrink.c: see shrink.h.
 *
 * One pass after the other leaves something out and keeps the smaller round if it still fails in
 * the same way; they are repeated until none helps or the time is over. */
#include "shrink.h"

#include "shrink_sql.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

typedef struct Shrinker {
    Case *best; /* owned */
    const Outcome *wanted;
    RunOptions options;
    double deadline;
    size_t try_count;
    size_t group; /* where the best round fails */
} Shrinker;

static double now_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static bool is_over(const Shrinker *shrinker)
{
    return now_seconds() > shrinker->deadline;
}

/* Takes ownership of the candidate; true if it fails as wanted and is the best now. */
static bool try_case(Shrinker *shrinker, Case *candidate)
{
    if (is_over(shrinker)) {
        case_free(candidate);
        return false;
    }
    Outcome outcome = {0};
    shrinker->try_count++;
    run_case_apart(candidate, &shrinker->options, &outcome);
    const bool is_good = outcome.is_failure && strcmp(outcome.kind, shrinker->wanted->kind) == 0;
    if (is_good) {
        shrinker->group = outcome.group;
        case_free(shrinker->best);
        shrinker->best = candidate;
    } else {
        case_free(candidate);
    }
    outcome_free(&outcome);
    return is_good;
}

static bool cut_end(Shrinker *shrinker)
{
    Case *candidate = case_clone(shrinker->best);
    while (candidate->group_count > shrinker->group + 1) {
        case_remove_group(candidate, candidate->group_count - 1);
    }
    if (candidate->group_count == shrinker->best->group_count) {
        case_free(candidate);
        return false;
    }
    return try_case(shrinker, candidate);
}

static bool cut_views(Shrinker *shrinker)
{
    bool is_better = false;
    for (size_t i = shrinker->best->view_count; i > 0; i--) {
        if (i > shrinker->best->view_count) {
            continue;
        }
        Case *candidate = case_clone(shrinker->best);
        case_remove_view(candidate, i - 1);
        is_better = try_case(shrinker, candidate) || is_better;
    }
    return is_better;
}

/* Leaves out runs of groups, long ones first. */
static bool cut_groups(Shrinker *shrinker)
{
    bool is_better = false;
    for (size_t len = shrinker->best->group_count / 2; len > 0; len /= 2) {
        for (size_t from = 0; from + len <= shrinker->best->group_count;) {
            Case *candidate = case_clone(shrinker->best);
            for (size_t i = 0; i < len; i++) {
                case_remove_group(candidate, from);
            }
            if (try_case(shrinker, candidate)) {
                is_better = true;
            } else {
                from += len;
            }
        }
    }
    return is_better;
}

static bool cut_statements(Shrinker *shrinker)
{
    bool is_better = false;
    for (size_t group = 0; group < shrinker->best->group_count; group++) {
        for (size_t i = shrinker->best->groups[group].count; i > 0; i--) {
            Case *candidate = case_clone(shrinker->best);
            group_remove(&candidate->groups[group], i - 1);
            is_better = try_case(shrinker, candidate) || is_better;
        }
    }
    return is_better;
}

static void remove_rows(Statement *statement, size_t from, size_t count)
{
    const size_t width = statement->column_count;
    for (size_t i = from * width; i < (from + count) * width; i++) {
        test_free(statement->cells[i]);
    }
    memmove(&statement->cells[from * width], &statement->cells[(from + count) * width],
            (statement->row_count - from - count) * width * sizeof *statement->cells);
    statement->row_count -= count;
}

static bool cut_rows_of(Shrinker *shrinker, size_t group, size_t index)
{
    bool is_better = false;
    size_t row_count = shrinker->best->groups[group].items[index].row_count;
    for (size_t len = row_count / 2; len > 0; len /= 2) {
        for (size_t from = 0; from + len <= row_count && row_count > len;) {
            Case *candidate = case_clone(shrinker->best);
            remove_rows(&candidate->groups[group].items[index], from, len);
            if (try_case(shrinker, candidate)) {
                is_better = true;
                row_count -= len;
            } else {
                from += len;
            }
        }
    }
    return is_better;
}

static bool cut_rows(Shrinker *shrinker)
{
    bool is_better = false;
    for (size_t group = 0; group < shrinker->best->group_count; group++) {
        for (size_t i = 0; i < shrinker->best->groups[group].count; i++) {
            if (shrinker->best->groups[group].items[i].cells != NULL) {
                is_better = cut_rows_of(shrinker, group, i) || is_better;
            }
        }
    }
    return is_better;
}

static void remove_cell_column(Statement *statement, size_t column)
{
    size_t to = 0;
    for (size_t i = 0; i < statement->row_count * statement->column_count; i++) {
        if (i % statement->column_count == column) {
            test_free(statement->cells[i]);
        } else {
            statement->cells[to] = statement->cells[i];
            to++;
        }
    }
    statement->column_count--;
}

static bool cut_column(Shrinker *shrinker, size_t index, size_t column)
{
    Case *candidate = case_clone(shrinker->best);
    Table *table = &candidate->tables[index];
    table->column_count--;
    memmove(&table->columns[column], &table->columns[column + 1],
            (table->column_count - column) * sizeof table->columns[0]);
    table->has_index = table->has_index && column != 0;
    for (size_t group = 0; group < candidate->group_count; group++) {
        for (size_t i = 0; i < candidate->groups[group].count; i++) {
            Statement *statement = &candidate->groups[group].items[i];
            if (statement->cells != NULL && statement->table == index) {
                remove_cell_column(statement, column);
            }
        }
    }
    return try_case(shrinker, candidate);
}

static bool cut_columns(Shrinker *shrinker)
{
    bool is_better = false;
    for (size_t table = 0; table < shrinker->best->table_count; table++) {
        for (size_t i = shrinker->best->tables[table].column_count; i > 0; i--) {
            if (shrinker->best->tables[table].column_count > 1) {
                is_better = cut_column(shrinker, table, i - 1) || is_better;
            }
        }
    }
    return is_better;
}

static bool cut_table(Shrinker *shrinker, size_t index)
{
    Case *candidate = case_clone(shrinker->best);
    candidate->table_count--;
    memmove(&candidate->tables[index], &candidate->tables[index + 1],
            (candidate->table_count - index) * sizeof candidate->tables[0]);
    for (size_t group = 0; group < candidate->group_count; group++) {
        for (size_t i = candidate->groups[group].count; i > 0; i--) {
            Statement *statement = &candidate->groups[group].items[i - 1];
            if (statement->cells != NULL && statement->table == index) {
                group_remove(&candidate->groups[group], i - 1);
            } else if (statement->cells != NULL && statement->table > index) {
                statement->table--;
            }
        }
    }
    return try_case(shrinker, candidate);
}

static bool cut_tables(Shrinker *shrinker)
{
    bool is_better = false;
    for (size_t i = shrinker->best->table_count; i > 0; i--) {
        is_better = cut_table(shrinker, i - 1) || is_better;
    }
    return is_better;
}

static bool make_plain(Shrinker *shrinker)
{
    bool is_better = false;
    if (shrinker->best->is_file) {
        Case *candidate = case_clone(shrinker->best);
        candidate->is_file = false;
        is_better = try_case(shrinker, candidate) || is_better;
    }
    for (size_t i = 0; i < shrinker->best->table_count; i++) {
        if (shrinker->best->tables[i].has_index) {
            Case *candidate = case_clone(shrinker->best);
            candidate->tables[i].has_index = false;
            is_better = try_case(shrinker, candidate) || is_better;
        }
    }
    return is_better;
}

/* Replaces a text by shorter versions as long as one fails as wanted. `find` gives the place. */
static bool cut_text(Shrinker *shrinker, char **(*find)(Case *, size_t, size_t), size_t a, size_t b)
{
    bool is_better = false;
    bool is_again = true;
    while (is_again && !is_over(shrinker)) {
        is_again = false;
        TextList candidates = {0};
        shrink_sql(*find(shrinker->best, a, b), &candidates);
        for (size_t i = 0; i < candidates.count && !is_again; i++) {
            Case *candidate = case_clone(shrinker->best);
            char **text = find(candidate, a, b);
            test_free(*text);
            *text = test_copy(candidates.items[i]);
            is_again = try_case(shrinker, candidate);
        }
        is_better = is_better || is_again;
        text_list_free(&candidates);
    }
    return is_better;
}

static char **find_view(Case *test, size_t index, size_t unused)
{
    (void)unused;
    return &test->views[index].sql;
}

static char **find_statement(Case *test, size_t group, size_t index)
{
    return &test->groups[group].items[index].sql;
}

/* With its columns compared by equality alone, a view may lose columns. */
static void loosen_view(Shrinker *shrinker, size_t index)
{
    for (size_t i = 0; i < shrinker->best->views[index].column_count; i++) {
        if (shrinker->best->views[index].columns[i].mode == COLUMN_NEAR) {
            return;
        }
    }
    Case *candidate = case_clone(shrinker->best);
    candidate->views[index].column_count = 0;
    try_case(shrinker, candidate);
}

static bool cut_texts(Shrinker *shrinker)
{
    bool is_better = false;
    for (size_t i = shrinker->best->view_count; i > 0; i--) {
        loosen_view(shrinker, i - 1);
        is_better = cut_text(shrinker, find_view, i - 1, 0) || is_better;
    }
    for (size_t group = 0; group < shrinker->best->group_count; group++) {
        for (size_t i = 0; i < shrinker->best->groups[group].count; i++) {
            if (shrinker->best->groups[group].items[i].cells == NULL) {
                is_better = cut_text(shrinker, find_statement, group, i) || is_better;
            }
        }
    }
    return is_better;
}

static bool cut_cells_of(Shrinker *shrinker, size_t group, size_t index)
{
    bool is_better = false;
    const Statement *statement = &shrinker->best->groups[group].items[index];
    const size_t count =
        statement->cells == NULL ? 0 : statement->row_count * statement->column_count;
    for (size_t i = 0; i < count && !is_over(shrinker); i++) {
        if (strcmp(shrinker->best->groups[group].items[index].cells[i], "NULL") == 0) {
            continue;
        }
        Case *candidate = case_clone(shrinker->best);
        char **cell = &candidate->groups[group].items[index].cells[i];
        test_free(*cell);
        *cell = test_copy("NULL");
        is_better = try_case(shrinker, candidate) || is_better;
    }
    return is_better;
}

static bool cut_cells(Shrinker *shrinker)
{
    bool is_better = false;
    for (size_t group = 0; group < shrinker->best->group_count; group++) {
        for (size_t i = 0; i < shrinker->best->groups[group].count; i++) {
            is_better = cut_cells_of(shrinker, group, i) || is_better;
        }
    }
    return is_better;
}

Case *shrink_case(const Case *test, const Outcome *outcome, const RunOptions *options,
                  double seconds)
{
    static bool (*const passes[])(Shrinker *) = {cut_end,   cut_views,  cut_groups,  cut_statements,
                                                 cut_rows,  cut_tables, cut_columns, make_plain,
                                                 cut_texts, cut_cells};
    Shrinker shrinker = {.best = case_clone(test),
                         .wanted = outcome,
                         .options = *options,
                         .deadline = now_seconds() + seconds,
                         .group = outcome->group};
    shrinker.options.is_quiet = true;
    if (shrinker.options.timeout_seconds > 20) {
        shrinker.options.timeout_seconds = 20;
    }
    bool is_better = true;
    while (is_better && !is_over(&shrinker)) {
        is_better = false;
        for (size_t i = 0; i < sizeof passes / sizeof passes[0]; i++) {
            is_better = passes[i](&shrinker) || is_better;
        }
    }
    printf("shrunk in %zu tries\n", shrinker.try_count);
    return shrinker.best;
}
