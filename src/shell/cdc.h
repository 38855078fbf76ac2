/* cdc.h: weir cdc, the commands for change logs of SQLite databases. */
#ifndef WEIR_SHELL_CDC_H
#define WEIR_SHELL_CDC_H

#include <sqlite3.h>

#include "cdc/log.h"
#include "shell/options.h"
#include "shell/shell.h"

/* Runs the command of the options; failures are told and counted as those of statements are. */
void weir_cdc_command(Shell *shell, const Options *options);
void weir_cdc_help(void);

/* cdc_tail.c: shows the changes behind that one, and waits for more if it is to follow. */
typedef struct TailSpec {
    sqlite3_int64 since;
    bool is_following;
    bool is_json;
} TailSpec;
WeirStatus weir_cdc_tail(Shell *shell, sqlite3 *db, CdcLog *log, TailSpec spec, WeirError *err);

/* cdc_time.c: a point in time, as seconds since 1970: a date, or how long before now. False if text is
 * neither. */
bool weir_cdc_time_parse(const char *text, sqlite3_int64 now, sqlite3_int64 *out);
void weir_cdc_time_put(Text *text, sqlite3_int64 seconds, bool is_json);

/* cdc_print.c: the images of a change. {0} may be read into again and again; the fields point into the
 * change. */
typedef struct CdcImages {
    CdcRecord before;
    CdcRecord after;
    CdcRecord updates;
} CdcImages;

WeirStatus weir_cdc_images_read(CdcImages *images, const CdcChange *change, WeirError *err);
void weir_cdc_images_deinit(CdcImages *images);

/* A change as text, on a line without its end: + t 1: id=1, name='ann'; and the same as
 * members of a JSON object, without its braces. */
void weir_cdc_put_text(Text *line, const CdcChange *change, const CdcImages *images);
void weir_cdc_put_json(Output *output, const CdcChange *change, const CdcImages *images);

#endif
