/* header.c: the checkpoint counter in the database file.
 *
 * At offsets 4096 and 8192 of the file stand two headers, written in turn:
 *   0 u64 checksum of the other 4088 bytes     8 u64 iteration, one more than in the older header
 *
 * DuckDB holds a POSIX lock on the file, and POSIX drops a process's locks on a file when the process
 * closes *any* descriptor of it: opening and closing the file here would let a second process open
 * the database for writing. So the file is read through the descriptor that DuckDB has open itself,
 * found by its inode, with pread, which moves nothing. The descriptor may be closed and its number
 * given to another file at any time: what was read counts only if the number belongs to the
 * file before and after.
 *
 * A database may be detached, and its file attached again under another name, while the old name is
 * given to another file. Nothing in the file says so, but DuckDB has opened it anew. So the descriptor is
 * marked, by a setting that nothing uses: the signal that would be sent for input (F_SETSIG), which
 * regular files never have. An open file begins without, whatever its number. */
#include "wal/wal_priv.h"

#include "base/codec.h"
#include "wal/checksum.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { HEADER_BYTES = 4096, HEADERS_OFFSET = 4096, HEADER_COUNT = 2 };

static bool is_file(int descriptor, const struct stat *file)
{
    struct stat info;
    return fstat(descriptor, &info) == 0 && info.st_dev == file->st_dev &&
           info.st_ino == file->st_ino;
}

static bool is_readable(int descriptor)
{
    const int flags = fcntl(descriptor, F_GETFL);
    return flags >= 0 && (flags & O_PATH) == 0 && (flags & O_ACCMODE) != O_WRONLY;
}

static bool is_readable_file(int descriptor, const void *file)
{
    return is_file(descriptor, file) && is_readable(descriptor);
}

int weir_wal_find_descriptor(DescriptorTest test, const void *user)
{
    DIR *const list = opendir("/proc/self/fd");
    if (list == NULL) {
        return -1;
    }
    int found = -1;
    const struct dirent *entry = NULL;
    do {
        /* No other thread has this stream. */
        entry = readdir(list); /* cppcheck-suppress readdirCalled */
        char *end = NULL;
        const long number = entry == NULL ? -1 : strtol(entry->d_name, &end, 10);
        if (number >= 0 && end != entry->d_name && test((int)number, user)) {
            found = (int)number;
        }
    } while (entry != NULL && found < 0);
    closedir(list);
    return found;
}

/* The larger iteration of the headers that are whole. One may be half written: then the checkpoint
 * that writes it is not done, and the other one counts. */
static bool read_iteration(const uint8_t *headers, uint64_t *out)
{
    bool found = false;
    for (size_t i = 0; i < HEADER_COUNT; i++) {
        const uint8_t *const header = headers + i * HEADER_BYTES;
        const uint8_t *const content = header + sizeof(uint64_t);
        if (weir_load_u64(header) != weir_wal_checksum(content, HEADER_BYTES - sizeof(uint64_t))) {
            continue;
        }
        const uint64_t iteration = weir_load_u64(content);
        *out = found ? WEIR_MAX(*out, iteration) : iteration;
        found = true;
    }
    return found;
}

bool weir_wal_read_header(Wal *wal, FileState *out)
{
    struct stat file;
    if (stat(wal->path, &file) != 0) {
        (void)weir_wal_say(wal, "the database file cannot be examined (errno %d)", errno);
        return false;
    }
    if (!wal->descriptor_is_given && (wal->descriptor < 0 || !is_file(wal->descriptor, &file))) {
        wal->descriptor = weir_wal_find_descriptor(is_readable_file, &file);
    }
    if (wal->descriptor < 0) {
        (void)weir_wal_say(wal, "this process does not have the database file open");
        return false;
    }
    _Alignas(HEADER_BYTES) uint8_t headers[HEADER_COUNT * HEADER_BYTES]; /* for direct I/O */
    if (pread(wal->descriptor, headers, sizeof headers, HEADERS_OFFSET) !=
            (ssize_t)sizeof headers ||
        !is_file(wal->descriptor, &file)) {
        (void)weir_wal_say(wal, "the headers of the database file cannot be read");
        return false;
    }
    *out = (FileState){.device = (uint64_t)file.st_dev, .inode = (uint64_t)file.st_ino};
    if (!read_iteration(headers, &out->iteration)) {
        (void)weir_wal_say(wal, "the database file has no header that is understood; "
                                "it may be encrypted");
        return false;
    }
    return true;
}

enum { MARK_FIRST = 1, MARK_COUNT = 62 }; /* signal numbers */

bool weir_wal_is_marked(const Wal *wal)
{
    return wal->descriptor_is_given ||
           (wal->mark != 0 && fcntl(wal->descriptor, F_GETSIG) == wal->mark);
}

bool weir_wal_mark_descriptor(Wal *wal)
{
    if (weir_wal_is_marked(wal)) {
        return true;
    }
    wal->session++;
    wal->has_logged = wal->log.size > 0;          /* it may have been told otherwise this time */
    wal->mark = fcntl(wal->descriptor, F_GETSIG); /* another reader's is as good */
    if (wal->mark <= 0) {
        struct timespec now = {0};
        (void)clock_gettime(CLOCK_MONOTONIC, &now);
        wal->mark = MARK_FIRST + (int)((uint64_t)now.tv_nsec / 64 % MARK_COUNT);
        (void)fcntl(wal->descriptor, F_SETSIG, wal->mark);
    }
    if (!weir_wal_is_marked(wal)) {
        (void)weir_wal_say(wal, "the descriptor of the database file cannot be marked");
        return false;
    }
    return true;
}
