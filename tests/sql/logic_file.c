/* logic_file.c: see logic_file.h. Lines are read in order; a loop's lines are read again for each
 * of its values, with the value in place of ${NAME}. */
#include "logic_file.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { LOOPS_MAX = 8 };

typedef struct Loop {
    char *pattern; /* owned: ${NAME} */
    TextList values;
    size_t value;
    size_t start; /* index of its first line */
} Loop;

typedef struct Reader {
    TextList lines;
    size_t at;
    Loop loops[LOOPS_MAX];
    size_t loop_count;
    LogicFile *file;
    Text *error;
} Reader;

static void split_lines(const char *text, TextList *lines)
{
    while (*text != '\0') {
        const size_t len = strcspn(text, "\n");
        size_t kept = len;
        if (kept > 0 && text[kept - 1] == '\r') {
            kept--;
        }
        text_list_add_len(lines, text, kept);
        text += len + (text[len] == '\n' ? 1 : 0);
    }
}

static void split_words(const char *line, TextList *words)
{
    while (*line != '\0') {
        while (isspace((unsigned char)*line)) {
            line++;
        }
        size_t len = 0;
        while (line[len] != '\0' && !isspace((unsigned char)line[len])) {
            len++;
        }
        if (len > 0) {
            text_list_add_len(words, line, len);
        }
        line += len;
    }
}

/* The line with the values of all loops around it; the caller owns it. */
static char *expand_line(const Reader *reader, const char *line)
{
    char *current = test_copy(line);
    for (size_t i = 0; i < reader->loop_count; i++) {
        const Loop *loop = &reader->loops[i];
        Text text = {0};
        const char *at = current;
        const char *found = strstr(at, loop->pattern);
        while (found != NULL) {
            text_add_len(&text, at, (size_t)(found - at));
            text_add(&text, loop->values.items[loop->value]);
            at = found + strlen(loop->pattern);
            found = strstr(at, loop->pattern);
        }
        text_add(&text, at);
        test_free(current);
        current = text_take(&text);
    }
    return current;
}

static bool complain(Reader *reader, const char *complaint)
{
    text_addf(reader->error, "line %zu: %s", reader->at, complaint);
    return false;
}

static bool begin_loop(Reader *reader, const TextList *words)
{
    if (reader->loop_count == LOOPS_MAX || words->count < 3) {
        return complain(reader, "bad loop");
    }
    Loop *loop = &reader->loops[reader->loop_count];
    *loop = (Loop){.pattern = text_format("${%s}", words->items[1]), .start = reader->at};
    if (strcmp(words->items[0], "foreach") == 0) {
        for (size_t i = 2; i < words->count; i++) {
            text_list_add(&loop->values, words->items[i]);
        }
    } else {
        const long from = strtol(words->items[2], NULL, 10);
        const long to = words->count > 3 ? strtol(words->items[3], NULL, 10) : from;
        for (long i = from; i < to; i++) {
            char *value = text_format("%ld", i);
            text_list_add(&loop->values, value);
            test_free(value);
        }
    }
    if (loop->values.count == 0) {
        return complain(reader, "a loop without values");
    }
    reader->loop_count++;
    return true;
}

static bool end_loop(Reader *reader)
{
    if (reader->loop_count == 0) {
        return complain(reader, "endloop without a loop");
    }
    Loop *loop = &reader->loops[reader->loop_count - 1];
    loop->value++;
    if (loop->value < loop->values.count) {
        reader->at = loop->start;
        return true;
    }
    test_free(loop->pattern);
    text_list_free(&loop->values);
    reader->loop_count--;
    return true;
}

static bool is_blank(const char *line)
{
    return line[strspn(line, " \t")] == '\0';
}

/* SQL up to an empty line or "----", then the expected lines up to an empty line. */
static void read_body(Reader *reader, Record *record)
{
    Text sql = {0};
    while (reader->at < reader->lines.count && !is_blank(reader->lines.items[reader->at]) &&
           strcmp(reader->lines.items[reader->at], "----") != 0) {
        char *line = expand_line(reader, reader->lines.items[reader->at]);
        text_add(&sql, sql.len > 0 ? "\n" : "");
        text_add(&sql, line);
        test_free(line);
        reader->at++;
    }
    record->sql = text_take(&sql);
    if (reader->at == reader->lines.count || is_blank(reader->lines.items[reader->at])) {
        return;
    }
    record->has_expected = true;
    reader->at++;
    while (reader->at < reader->lines.count && reader->lines.items[reader->at][0] != '\0') {
        char *line = expand_line(reader, reader->lines.items[reader->at]);
        text_list_add(&record->expected, line);
        test_free(line);
        reader->at++;
    }
}

static bool read_record(Reader *reader)
{
    char *line = expand_line(reader, reader->lines.items[reader->at]);
    reader->at++;
    TextList words = {0};
    split_words(line, &words);
    test_free(line);
    bool is_good = true;
    const char *first = words.count == 0 ? "" : words.items[0];
    if (words.count == 0 || first[0] == '#') {
        text_list_free(&words);
    } else if (strcmp(first, "foreach") == 0 || strcmp(first, "loop") == 0) {
        is_good = begin_loop(reader, &words);
        text_list_free(&words);
    } else if (strcmp(first, "endloop") == 0) {
        is_good = end_loop(reader);
        text_list_free(&words);
    } else {
        Record record = {.kind = RECORD_DIRECTIVE, .line = reader->at, .words = words};
        if (strcmp(first, "statement") == 0) {
            record.kind = RECORD_STATEMENT;
            read_body(reader, &record);
        } else if (strcmp(first, "query") == 0) {
            record.kind = RECORD_QUERY;
            read_body(reader, &record);
        }
        LogicFile *file = reader->file;
        file->records = test_grow(file->records, file->count, &file->capacity, sizeof record);
        file->records[file->count] = record;
        file->count++;
    }
    return is_good;
}

bool logic_file_read(LogicFile *file, const char *path, Text *error)
{
    *file = (LogicFile){0};
    Text text = {0};
    Reader reader = {.file = file, .error = error};
    bool is_good = text_read_file(&text, path);
    if (!is_good) {
        text_addf(error, "cannot read %s", path);
    }
    split_lines(text_get(&text), &reader.lines);
    while (is_good && reader.at < reader.lines.count) {
        is_good = read_record(&reader);
    }
    if (is_good && reader.loop_count > 0) {
        is_good = complain(&reader, "a loop has no end");
    }
    for (size_t i = 0; i < reader.loop_count; i++) {
        test_free(reader.loops[i].pattern);
        text_list_free(&reader.loops[i].values);
    }
    text_list_free(&reader.lines);
    text_free(&text);
    return is_good;
}

void logic_file_free(LogicFile *file)
{
    for (size_t i = 0; i < file->count; i++) {
        text_list_free(&file->records[i].words);
        text_list_free(&file->records[i].expected);
        test_free(file->records[i].sql);
    }
    test_free(file->records);
    *file = (LogicFile){0};
}
