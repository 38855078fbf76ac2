/* complete.c: completion of the word before the cursor, by asking the database. */
#include "shell/complete.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "shell/command.h"

enum { MOST_CHOICES = 200 };

static bool is_word_char(char c)
{
    return isalnum((unsigned char)c) || c == '_' || (unsigned char)c >= 0x80;
}

static void add_choice(Completion *completion, const char *text, size_t size)
{
    completion->choices = weir_shell_realloc(completion->choices, (completion->choice_count + 1) *
                                                                      sizeof *completion->choices);
    Text *const choice = &completion->choices[completion->choice_count++];
    *choice = (Text){0};
    weir_text_append(choice, text, size);
}

static void add_commands(Completion *completion, const Shell *shell, const char *word)
{
    for (size_t i = 0; i < weir_command_count(); i++) {
        const char *const name = weir_command_name(shell, i);
        if (name != NULL && strncasecmp(name, word, strlen(word)) == 0) {
            add_choice(completion, name, strlen(name));
        }
    }
}

/* Keywords in the case that is being typed; names as they are. */
static void add_names(Completion *completion, Shell *shell, const char *word)
{
    bool has_lower = false;
    for (const char *c = word; *c != '\0'; c++) {
        has_lower = has_lower || islower((unsigned char)*c);
    }
    Text sql = {0};
    shell->session.type->put_choices(&sql, word, has_lower, MOST_CHOICES);
    WeirError err;
    bool has_row = false;
    Rows result = {0};
    if (weir_session_execute(&shell->session, sql.data, NULL, &result, &err) == WEIR_OK) {
        while (weir_rows_next(result, &has_row, &err) == WEIR_OK && has_row) {
            size_t size = 0;
            const char *const name = weir_rows_text(result, 0, &size);
            if (name != NULL) {
                add_choice(completion, name, size);
            }
        }
    }
    weir_rows_free(result);
    weir_text_deinit(&sql);
}

static void find_common(Completion *completion)
{
    if (completion->choice_count == 0) {
        return;
    }
    const Text *const first = &completion->choices[0];
    size_t common = first->size;
    for (size_t i = 1; i < completion->choice_count; i++) {
        const Text *const choice = &completion->choices[i];
        size_t same = 0;
        while (same < common && same < choice->size && first->data[same] == choice->data[same]) {
            same++;
        }
        common = same;
    }
    while (common > 0 && common < first->size &&
           ((unsigned char)first->data[common] & 0xC0) == 0x80) {
        common--; /* not within a character */
    }
    completion->common_size = common;
}

void weir_complete(Shell *shell, const char *before, size_t size, Completion *out)
{
    *out = (Completion){0};
    size_t start = size;
    while (start > 0 && is_word_char(before[start - 1])) {
        start--;
    }
    const bool is_command = start == 1 && before[0] == '.';
    start = is_command ? 0 : start;
    out->word_size = size - start;
    if (out->word_size == 0) {
        return;
    }
    Text word = {0};
    weir_text_append(&word, before + start, out->word_size);
    if (is_command) {
        add_commands(out, shell, word.data);
    } else {
        add_names(out, shell, word.data);
    }
    weir_text_deinit(&word);
    find_common(out);
}

void weir_completion_deinit(Completion *completion)
{
    for (size_t i = 0; i < completion->choice_count; i++) {
        weir_text_deinit(&completion->choices[i]);
    }
    free(completion->choices);
    *completion = (Completion){0};
}
