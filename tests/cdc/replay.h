/* replay.h: what a log must be: well formed, and enough to go from the first state to the last and back. */
#ifndef CDC_REPLAY_H
#define CDC_REPLAY_H

#include "decode.h"

/* Ids rise; a transaction's records bear the id of its first; each ends with one COMMIT record. Returns 0 if
 * so, else says in `problem` what is wrong. */
int replay_check_rules(sqlite3 *db, const char *log, Text *problem);
/* Applies the log of `db` to `target`, a copy of the first state without triggers. Each image before a
 * change must be the row as it is in `target`, and the updates what differs. */
int replay_forward(sqlite3 *target, sqlite3 *db, const char *log, Text *problem);
/* The same from a copy of the last state to the first; the log holds no DDL. */
int replay_backward(sqlite3 *target, sqlite3 *db, const char *log, Text *problem);
/* All rows of the user's tables as text. */
void replay_dump(sqlite3 *db, Text *out);

#endif
