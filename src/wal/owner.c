/* owner.c: is the log at its path the one that DuckDB writes?
 *
 * A file that is renamed or removed while DuckDB has it open is still written to. Then what stands at the
 * path, or that nothing stands there, says nothing. DuckDB's descriptor shows it: it is of a file that has
 * the log's name and no directory entry, or of the one that was at the path before, in the same
 * generation of the log (a checkpoint closes it). Looking through all descriptors costs a system call each, so it is
 * done only where the log's file is not known already: at a mark, and in a log's absence if the directory
 * has changed since. */
#include "wal/wal_priv.h"

#include <stdio.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum {
    LINK_BYTES = 4096 + 16,
    NANOSECONDS = 1000000000,
    CLOCK_TICK = NANOSECONDS / 10, /* of times in a file system, at most */
};

static const char DELETED[] = " (deleted)";

typedef struct LostLog {
    const char *name; /* the log's, without its directory */
    uint64_t device;
    uint64_t at_path; /* inode; 0 = nothing is there */
    uint64_t before;  /* what was there before; 0 = unknown */
} LostLog;

static const char *base_name(const char *path)
{
    const char *const slash = strrchr(path, '/');
    return slash == NULL ? path : slash + 1;
}

static bool has_deleted_name(int descriptor, const char *name)
{
    char path[64];
    char link[LINK_BYTES];
    const int written = snprintf(path, sizeof path, "/proc/self/fd/%d", descriptor);
    const ssize_t size = written > 0 ? readlink(path, link, sizeof link - 1) : -1;
    if (size < 0) {
        return false;
    }
    link[size] = '\0';
    const char *const last = base_name(link);
    const size_t length = strlen(name);
    return strncmp(last, name, length) == 0 && strcmp(last + length, DELETED) == 0;
}

static bool is_lost_log(int descriptor, const void *user)
{
    const LostLog *const lost = user;
    struct stat info;
    if (fstat(descriptor, &info) != 0 || !S_ISREG(info.st_mode) ||
        (uint64_t)info.st_dev != lost->device || (uint64_t)info.st_ino == lost->at_path) {
        return false;
    }
    return (lost->before != 0 && (uint64_t)info.st_ino == lost->before) ||
           (info.st_nlink == 0 && has_deleted_name(descriptor, lost->name));
}

/* When the directory of the log last changed, in nanoseconds; 0 if that cannot be told, or may not show a
 * change that is to come, since it was a moment ago. */
static int64_t settled_directory_time(const Wal *wal)
{
    char path[LINK_BYTES];
    const size_t length = (size_t)(base_name(wal->log_path) - wal->log_path);
    struct stat info;
    struct timespec now = {0};
    if (length + sizeof "." > sizeof path) {
        return 0;
    }
    memcpy(path, wal->log_path, length);
    memcpy(path + length, ".", sizeof ".");
    if (stat(path, &info) != 0 || clock_gettime(CLOCK_REALTIME, &now) != 0) {
        return 0;
    }
    const int64_t changed = (int64_t)info.st_mtim.tv_sec * NANOSECONDS + info.st_mtim.tv_nsec;
    const int64_t passed = (int64_t)now.tv_sec * NANOSECONDS + now.tv_nsec - changed;
    return passed > CLOCK_TICK ? changed : 0;
}

bool weir_wal_owns_log(Wal *wal, const FileState *file)
{
    if (wal->descriptor_is_given) {
        return true; /* the writer is another process */
    }
    const bool is_there = wal->log.size > 0;
    const int64_t directory_time = is_there ? 0 : settled_directory_time(wal);
    if (!is_there && directory_time != 0 && directory_time == wal->absent_since) {
        return true;
    }
    const LostLog lost = {
        .name = base_name(wal->log_path),
        .device = file->device,
        .at_path = is_there ? wal->log.inode : 0,
        .before = wal->log_iteration == file->iteration ? wal->log_inode : 0,
    };
    wal->absent_since = 0;
    if (weir_wal_find_descriptor(is_lost_log, &lost) >= 0) {
        (void)weir_wal_say(wal, "the log was renamed or removed while DuckDB writes it");
        return false;
    }
    wal->absent_since = directory_time;
    if (is_there) {
        wal->log_inode = wal->log.inode;
        wal->log_iteration = file->iteration;
    }
    return true;
}
