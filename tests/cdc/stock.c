/* stock.c: SQLite as it is, which writes a database that somebody else captures.
 *
 *     cdc_stock DATABASE SQL... */
#include <sqlite3.h>

#include <stdio.h>

int main(int argument_count, char **arguments)
{
    sqlite3 *db = NULL;
    int rc = argument_count < 3 ? SQLITE_MISUSE : sqlite3_open(arguments[1], &db);
    for (int i = 2; rc == SQLITE_OK && i < argument_count; i++) {
        rc = sqlite3_exec(db, arguments[i], NULL, NULL, NULL);
    }
    if (rc != SQLITE_OK) {
        (void)fprintf(stderr, "cdc_stock: %s\n", sqlite3_errmsg(db));
    }
    (void)sqlite3_close(db);
    return rc != SQLITE_OK;
}
