/* case_file.c: see case_file.h. */
#include "case_file.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* One section: its words and its indented lines joined. */
typedef struct Section {
    TextList words;
    char *rest; /* owned; the first line behind its first word */
    Text body;
    size_t line;
} Section;

static void split_words(const char *line, TextList *words)
{
    while (*line != '\0') {
        line += strspn(line, " \t");
        const size_t len = strcspn(line, " \t");
        if (len > 0) {
            text_list_add_len(words, line, len);
        }
        line += len;
    }
}

/* Statements end with ';' at the end of a line, or with the section. */
static void split_statements(const char *body, TextList *statements)
{
    Text statement = {0};
    while (*body != '\0') {
        const size_t len = strcspn(body, "\n");
        const bool is_end = len > 0 && body[len - 1] == ';';
        text_add(&statement, statement.len > 0 ? "\n" : "");
        text_add_len(&statement, body, is_end ? len - 1 : len);
        if (is_end) {
            text_list_add(statements, statement.data);
            text_clear(&statement);
        }
        body += len + (body[len] == '\n' ? 1 : 0);
    }
    if (statement.len > 0) {
        text_list_add(statements, statement.data);
    }
    text_free(&statement);
}

static void split_rows(const char *body, TextList *rows)
{
    while (*body != '\0') {
        const size_t len = strcspn(body, "\n");
        text_list_add_len(rows, body, len);
        body += len + (body[len] == '\n' ? 1 : 0);
    }
}

static CaseView *find_view(CaseFile *file, const char *name)
{
    for (size_t i = 0; i < file->view_count; i++) {
        if (strcmp(file->views[i].name, name) == 0) {
            return &file->views[i];
        }
    }
    return NULL;
}

static bool complain(const CaseFile *file, const Section *section, const char *what, Text *error)
{
    text_addf(error, "%s:%zu: %s", file->path, section->line, what);
    return false;
}

static bool add_view(CaseFile *file, const Section *section, Text *error)
{
    if (file->view_count == CASE_VIEWS_MAX || section->words.count != 2) {
        return complain(file, section, "view NAME?", error);
    }
    CaseView *view = &file->views[file->view_count];
    *view = (CaseView){.name = test_copy(section->words.items[1]),
                       .sql = test_copy(text_get(&section->body))};
    file->view_count++;
    return true;
}

static bool add_note(CaseFile *file, const Section *section, Text *error)
{
    const TextList *words = &section->words;
    CaseView *view = words->count > 2 ? find_view(file, words->items[1]) : NULL;
    if (view == NULL) {
        return complain(file, section, "no such view", error);
    }
    if (strcmp(words->items[0], "near") == 0) {
        const size_t column = (size_t)strtoul(words->items[2], NULL, 10);
        view->is_near[column % CASE_COLUMNS_MAX] = true;
        return true;
    }
    Text reason = {0};
    for (size_t i = 3; i < words->count; i++) {
        text_addf(&reason, "%s%s", i > 3 ? " " : "", words->items[i]);
    }
    view->refusal = test_copy(words->items[2]);
    view->reason = text_take(&reason);
    return true;
}

static bool add_step(CaseFile *file, const Section *section, StepKind kind, Text *error)
{
    CaseStep step = {.kind = kind, .line = section->line};
    if (kind == STEP_EXPECT || kind == STEP_UNCHANGED) {
        const CaseView *view =
            section->words.count == 2 ? find_view(file, section->words.items[1]) : NULL;
        if (view == NULL) {
            return complain(file, section, "no such view", error);
        }
        step.view = (size_t)(view - file->views);
        split_rows(text_get(&section->body), &step.lines);
    } else {
        split_statements(text_get(&section->body), &step.lines);
    }
    file->steps = test_grow(file->steps, file->step_count, &file->step_capacity, sizeof step);
    file->steps[file->step_count] = step;
    file->step_count++;
    return true;
}

static bool add_section(CaseFile *file, const Section *section, Text *error)
{
    const char *word = section->words.count == 0 ? "" : section->words.items[0];
    const char *body = text_get(&section->body);
    if (strcmp(word, "story") == 0) {
        test_free(file->story);
        file->story = test_copy(section->rest);
    } else if (strcmp(word, "ways") == 0) {
        for (size_t i = 1; i < section->words.count; i++) {
            text_list_add(&file->ways, section->words.items[i]);
        }
    } else if (strcmp(word, "settings") == 0) {
        split_statements(body, &file->settings);
    } else if (strcmp(word, "tables") == 0) {
        split_statements(body, &file->tables);
    } else if (strcmp(word, "rows") == 0) {
        split_statements(body, &file->rows);
    } else if (strcmp(word, "view") == 0) {
        return add_view(file, section, error);
    } else if (strcmp(word, "refused") == 0 || strcmp(word, "near") == 0) {
        return add_note(file, section, error);
    } else if (strcmp(word, "change") == 0) {
        return add_step(file, section, STEP_CHANGE, error);
    } else if (strcmp(word, "alone") == 0) {
        return add_step(file, section, STEP_ALONE, error);
    } else if (strcmp(word, "expect") == 0) {
        return add_step(file, section, STEP_EXPECT, error);
    } else if (strcmp(word, "unchanged") == 0) {
        return add_step(file, section, STEP_UNCHANGED, error);
    } else {
        return complain(file, section, "unknown section", error);
    }
    return true;
}

/* Takes the lines of the next section from *at; false at the end. */
static bool next_section(const char **at, size_t *line, Section *section)
{
    bool is_started = false;
    while (**at != '\0') {
        const char *start = *at;
        const size_t len = strcspn(start, "\n");
        const bool is_indented = isspace((unsigned char)start[0]) != 0;
        const size_t indent = strspn(start, " \t");
        const bool is_empty = indent >= len;
        if (is_started && !is_indented && !is_empty && start[0] != '#') {
            return true;
        }
        *at += len + (start[len] == '\n' ? 1 : 0);
        *line += 1;
        if (is_empty || start[0] == '#') {
            continue;
        }
        if (is_indented) {
            text_add(&section->body, section->body.len > 0 ? "\n" : "");
            text_add_len(&section->body, start + indent, len - indent);
        } else {
            char *first = test_copy_len(start, len);
            split_words(first, &section->words);
            const char *rest = first + strcspn(first, " ");
            section->rest = test_copy(rest + strspn(rest, " "));
            section->line = *line;
            is_started = true;
            test_free(first);
        }
    }
    return is_started;
}

bool case_file_read(CaseFile *file, const char *path, Text *error)
{
    *file = (CaseFile){.path = test_copy(path), .story = test_copy("")};
    Text text = {0};
    bool is_good = text_read_file(&text, path);
    if (!is_good) {
        text_addf(error, "cannot read %s", path);
    }
    const char *at = text_get(&text);
    size_t line = 0;
    bool is_more = is_good;
    while (is_good && is_more) {
        Section section = {0};
        is_more = next_section(&at, &line, &section);
        is_good = !is_more || add_section(file, &section, error);
        text_list_free(&section.words);
        text_free(&section.body);
        test_free(section.rest);
    }
    text_free(&text);
    return is_good;
}

void case_file_free(CaseFile *file)
{
    for (size_t i = 0; i < file->view_count; i++) {
        test_free(file->views[i].name);
        test_free(file->views[i].sql);
        test_free(file->views[i].refusal);
        test_free(file->views[i].reason);
    }
    for (size_t i = 0; i < file->step_count; i++) {
        text_list_free(&file->steps[i].lines);
    }
    test_free(file->steps);
    test_free(file->path);
    test_free(file->story);
    text_list_free(&file->ways);
    text_list_free(&file->settings);
    text_list_free(&file->tables);
    text_list_free(&file->rows);
    *file = (CaseFile){0};
}
