/* hook_mark.c: marks: what the database file looks like after a captured transaction, so that writes which were
 * not captured can be told by the next one.
 *
 * A mark is a third field in the log's row of sqlite_sequence, which every captured transaction writes
 * anyway. SQL does not see it, and SQLite does not keep it when it writes that row itself. Byte order is
 * big-endian.
 *
 *     offset  size
 *          0     1  format: 1
 *          1     1  MARK_* flags
 *          2     4  the change counter of page 1 once the transaction is committed
 *          6     4  first salt of the write-ahead log that it started with
 *         10     4  second salt
 *         14     4  the last frame before it
 *         18     4  iChange of the wal-index before it
 *         22     8  largest change_id of the log
 *         30     4  number of pages
 *         34     4  number of free pages
 *         38     4  schema cookie
 *
 * Without a write-ahead log every transaction counts the change counter up, whoever makes it. With one, the
 * frames behind those that were there before the mark's transaction must hold one commit, which wrote the
 * page with the mark. If the log is gone, what is left is page 1, which changes there only with the schema and
 * the number of pages. */
#include "sqlite/capture.h"

enum { MARK_FORMAT = 1, MARK_WAL = 1, MARK_MAY_RESTART = 2, MARK_AUTO_VACUUM = 4 };

static const char FURTHER[] = "the write-ahead log has further transactions";
static const char MOVED[] = "the change counter has moved";
static const char ANEW[] = "the write-ahead log was begun anew";

static Pager *pager_of(const sqlite3 *db)
{
    return sqlite3BtreePager(db->aDb[0].pBt);
}

bool weir_mark_is_possible(const sqlite3 *db)
{
    const Pager *const pager = pager_of(db);
    return !pager->tempFile && !pager->memDb;
}

bool weir_mark_has_writes(const sqlite3 *db)
{
    return pager_of(db)->eState >= PAGER_WRITER_CACHEMOD;
}

/* The database file as it was before the open transaction. */
typedef struct Place {
    bool is_wal;
    u32 counter;
    u32 salts[2];
    u32 frame;
    u32 change;
} Place;

static void place_get(const sqlite3 *db, Place *out)
{
    Pager *const pager = pager_of(db);
    *out = (Place){.is_wal = pagerUseWal(pager) != 0};
    if (!out->is_wal) {
        out->counter = sqlite3Get4byte((const u8 *)pager->dbFileVers);
        return;
    }
    out->counter = sqlite3Get4byte(db->aDb[0].pBt->pBt->pPage1->aData + 24);
    /* What spilled from the cache is in the connection's header of the log, not in the shared one. */
    WalIndexHdr header = pager->pWal->hdr;
    if (weir_mark_has_writes(db)) {
        volatile const WalIndexHdr *const shared =
            (volatile const WalIndexHdr *)pager->pWal->apWiData[0];
        header.mxFrame = shared->mxFrame;
        header.iChange = shared->iChange;
        header.aSalt[0] = shared->aSalt[0];
        header.aSalt[1] = shared->aSalt[1];
    }
    out->salts[0] = sqlite3Get4byte((const u8 *)&header.aSalt[0]);
    out->salts[1] = sqlite3Get4byte((const u8 *)&header.aSalt[1]);
    out->frame = header.mxFrame;
    out->change = header.iChange;
}

void weir_mark_make(const sqlite3 *db, i64 last_id, u8 *out)
{
    Pager *const pager = pager_of(db);
    const BtShared *const shared = db->aDb[0].pBt->pBt;
    const bool is_dirty = (shared->pPage1->pDbPage->flags & PGHDR_DIRTY) != 0;
    u8 flags = shared->autoVacuum ? MARK_AUTO_VACUUM : 0;
    Place place;
    place_get(db, &place);
    if (is_dirty || (!place.is_wal && !pager->changeCountDone)) {
        place.counter = sqlite3Get4byte((const u8 *)pager->dbFileVers) + 1;
    }
    if (place.is_wal) {
        flags |= MARK_WAL;
        flags |= pager->pWal->readLock == 0 ? MARK_MAY_RESTART : 0;
    }
    out[0] = MARK_FORMAT;
    out[1] = flags;
    sqlite3Put4byte(out + 2, place.counter);
    sqlite3Put4byte(out + 6, place.salts[0]);
    sqlite3Put4byte(out + 10, place.salts[1]);
    sqlite3Put4byte(out + 14, place.frame);
    sqlite3Put4byte(out + 18, place.change);
    weir_word_put(out + 22, (u64)last_id);
    const u8 *const page = shared->pPage1->aData;
    memcpy(out + 30, page + 28, 4);
    memcpy(out + 34, page + 36, 8);
}

i64 weir_mark_last_id(const u8 *mark)
{
    const u64 high = sqlite3Get4byte(mark + 22);
    return (i64)(high << 32 | sqlite3Get4byte(mark + 26));
}

/* What the frames behind one are. */
typedef struct Tail {
    bool is_one_commit;
    bool has_page; /* the page that was looked for is among them */
} Tail;

static int read_tail(Wal *wal, u32 base, u32 last, Pgno wanted, Tail *out)
{
    u8 header[WAL_FRAME_HDRSIZE];
    u32 last_page = 0;
    *out = (Tail){.is_one_commit = last > base};
    for (u32 frame = last; out->is_one_commit && frame > base; frame--) {
        const int rc = sqlite3OsRead(wal->pWalFd, header, WAL_FRAME_HDRSIZE,
                                     walFrameOffset(frame, wal->szPage));
        if (rc != SQLITE_OK) {
            return rc;
        }
        const u32 page = sqlite3Get4byte(header);
        out->has_page = out->has_page || page == wanted;
        if (frame == last) {
            last_page = page;
        } else if (sqlite3Get4byte(header + 4) != 0) {
            /* The last frame may be repeated to fill a sector. */
            out->is_one_commit = wal->padToSectorBoundary && page == last_page;
        }
    }
    return SQLITE_OK;
}

static int check_log(Wal *wal, const u8 *mark, Pgno page, const Place *now, const char **reason)
{
    const bool was_wal = (mark[1] & MARK_WAL) != 0;
    const bool is_same = was_wal && sqlite3Get4byte(mark + 6) == now->salts[0] &&
                         sqlite3Get4byte(mark + 10) == now->salts[1];
    const bool is_next = was_wal && sqlite3Get4byte(mark + 6) + 1 == now->salts[0];
    const u32 base = sqlite3Get4byte(mark + 14);
    if ((is_same || is_next) && now->change > sqlite3Get4byte(mark + 18) + 1) {
        *reason = FURTHER;
        return SQLITE_OK;
    }
    if (now->frame == 0) {
        return SQLITE_OK;
    }
    /* The mark's transaction may have begun the log anew, or begun it: then it is the first, and is
     * known by the page of the mark, because the salts were made when it was written. */
    const bool may_be_first =
        was_wal && (base == 0 || (is_next && (mark[1] & MARK_MAY_RESTART) != 0));
    if (!is_same && !may_be_first) {
        *reason = ANEW;
        return SQLITE_OK;
    }
    Tail tail;
    const int rc = read_tail(wal, is_same ? base : 0, now->frame, page, &tail);
    if (rc == SQLITE_OK && !tail.is_one_commit) {
        *reason = FURTHER;
    } else if (rc == SQLITE_OK && !tail.has_page) {
        *reason = ANEW;
    }
    return rc;
}

/* An empty log: page 1 is as the file has it, whatever the open transaction makes of it. */
static int check_file(Pager *pager, const u8 *mark, const char **reason)
{
    u8 header[44];
    const int rc = sqlite3OsRead(pager->fd, header, sizeof header, 0);
    if (rc != SQLITE_OK) {
        return rc;
    }
    const u32 counted = sqlite3Get4byte(header + 24) - sqlite3Get4byte(mark + 2);
    /* With auto-vacuum the last step of a commit may change page 1 after the mark is made. */
    const bool is_vague = (mark[1] & MARK_AUTO_VACUUM) != 0;
    if (counted > (is_vague ? 1 : 0)) {
        *reason = MOVED;
    } else if (!is_vague &&
               (memcmp(mark + 30, header + 28, 4) != 0 || memcmp(mark + 34, header + 36, 8) != 0)) {
        *reason = "the size of the database or its schema has changed";
    }
    return SQLITE_OK;
}

int weir_mark_check(const sqlite3 *db, const u8 *mark, Pgno page, const char **reason)
{
    Place now;
    *reason = NULL;
    if (mark[0] != MARK_FORMAT) {
        *reason = "the mark is of another version of this library";
        return SQLITE_OK;
    }
    place_get(db, &now);
    if (!now.is_wal) {
        const bool is_vague = (mark[1] & MARK_WAL) != 0 && (mark[1] & MARK_AUTO_VACUUM) != 0;
        if (now.counter - sqlite3Get4byte(mark + 2) > (is_vague ? 1 : 0)) {
            *reason = MOVED;
        }
        return SQLITE_OK;
    }
    Pager *const pager = pager_of(db);
    const int rc = check_log(pager->pWal, mark, page, &now, reason);
    return rc == SQLITE_OK && *reason == NULL && now.frame == 0 ? check_file(pager, mark, reason)
                                                                : rc;
}
