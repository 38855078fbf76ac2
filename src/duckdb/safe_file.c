/* safe_file.c: every part of a path is opened relative to the one before it, and no link is followed, so that
 * nobody can change what the path means between a check and its use. */
#include "duckdb/safe_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

enum { WRITE_ATTEMPTS = 16, PART_MAX = 240, READ_BLOCK = 1 << 14 };

/* Where the last part of a path stands. */
typedef struct Place {
    int directory; /* owned, if it is not AT_FDCWD */
    char name[PART_MAX + 1];
} Place;

static Status refuse(const char *path, const char *why, Error *err)
{
    weir_error_set(err, WEIR_ERR_ARGUMENT, "path \"%s\" %s", path, why);
    weir_error_hint(err, "give a path relative to the working directory, below it and without "
                         "links");
    return err->code;
}

static Status io_failed(const char *path, const char *what, Error *err)
{
    const int number = errno;
    if (number == ELOOP || number == EMLINK) {
        return refuse(path, "leads over a symbolic link", err);
    }
    return weir_error_set(err, WEIR_ERR_IO, "cannot %s %s (errno %d)", what, path, number);
}

static void place_close(Place *place)
{
    if (place->directory != AT_FDCWD) {
        (void)close(place->directory);
        place->directory = AT_FDCWD;
    }
}

static Status check_part(const char *path, const char *part, size_t size, Error *err)
{
    if (size == 0) {
        return refuse(path, path[0] == '/' ? "is absolute" : "has an empty part", err);
    }
    if ((size == 1 && part[0] == '.') || (size == 2 && part[0] == '.' && part[1] == '.')) {
        return refuse(path, "has a part that is . or ..", err);
    }
    return size > PART_MAX ? refuse(path, "has a part that is too long", err) : WEIR_OK;
}

/* Steps into the directory that place->name calls. A link is no directory here. */
static Status place_enter(Place *place, const char *path, Error *err)
{
    struct stat info;
    const int next =
        openat(place->directory, place->name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (next < 0 && errno == ENOTDIR &&
        fstatat(place->directory, place->name, &info, AT_SYMLINK_NOFOLLOW) == 0 &&
        S_ISLNK(info.st_mode)) {
        return refuse(path, "leads over a symbolic link", err);
    }
    if (next < 0) {
        return io_failed(path, "reach", err);
    }
    place_close(place);
    place->directory = next;
    return WEIR_OK;
}

static Status place_find(Place *place, const char *path, Error *err)
{
    const char *part = path;
    Status status = WEIR_OK;
    *place = (Place){.directory = AT_FDCWD};
    for (;;) {
        const size_t size = strcspn(part, "/");
        WEIR_CHECK(check_part(path, part, size, err));
        memcpy(place->name, part, size);
        place->name[size] = '\0';
        if (part[size] == '\0') {
            return WEIR_OK;
        }
        WEIR_CHECK(place_enter(place, path, err));
        part += size + 1;
    }
done:
    place_close(place);
    return status;
}

/* ---- writing ---------------------------------------------------------------------------------- */

/* A new file beside the one that is meant; *name = what it is called. */
static int open_temporary(const Place *place, char *name, size_t name_size)
{
    for (int i = 0; i < WRITE_ATTEMPTS; i++) {
        (void)snprintf(name, name_size, ".%.200s.%ld.%d", place->name, (long)getpid(), i);
        const int file = openat(place->directory, name,
                                O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
        if (file >= 0 || errno != EEXIST) {
            return file;
        }
    }
    return -1;
}

static bool write_all(int file, const char *bytes, size_t size)
{
    size_t done = 0;
    while (done < size) {
        const ssize_t count = write(file, bytes + done, size - done);
        if (count < 0 && errno != EINTR) {
            return false;
        }
        done += count < 0 ? 0 : (size_t)count;
    }
    return fsync(file) == 0;
}

/* So that the new name survives too. Not every file system can do it. */
static void sync_directory(const Place *place)
{
    const int directory =
        place->directory == AT_FDCWD ? open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    (void)fsync(directory < 0 ? place->directory : directory);
    if (directory >= 0) {
        (void)close(directory);
    }
}

static Status write_at(const Place *place, const char *path, const char *bytes, size_t size,
                       Error *err)
{
    char temporary[PART_MAX + 64];
    const int file = open_temporary(place, temporary, sizeof temporary);
    if (file < 0) {
        return io_failed(path, "write beside", err);
    }
    Status status = write_all(file, bytes, size) ? WEIR_OK : io_failed(path, "write", err);
    if (close(file) != 0 && status == WEIR_OK) {
        status = io_failed(path, "write", err);
    }
    if (status == WEIR_OK &&
        renameat(place->directory, temporary, place->directory, place->name) != 0) {
        status = io_failed(path, "replace", err);
    }
    if (status != WEIR_OK) {
        (void)unlinkat(place->directory, temporary, 0);
        return status;
    }
    sync_directory(place);
    return WEIR_OK;
}

Status weir_safe_file_write(const char *path, const char *bytes, size_t size, Error *err)
{
    Place place;
    WEIR_TRY(place_find(&place, path, err));
    const Status status = write_at(&place, path, bytes, size, err);
    place_close(&place);
    return status;
}

/* ---- reading ---------------------------------------------------------------------------------- */

static Status read_all(int file, const char *path, size_t limit, Buf *out, Error *err)
{
    char block[READ_BLOCK];
    for (;;) {
        const ssize_t count = read(file, block, sizeof block);
        if (count == 0) {
            return weir_buf_status(out, err);
        }
        if (count < 0 && errno != EINTR) {
            return io_failed(path, "read", err);
        }
        if (count > 0 && out->size + (size_t)count > limit) {
            return weir_error_set(err, WEIR_ERR_LIMIT, "%s has more than %zu bytes", path, limit);
        }
        weir_buf_append(out, block, count < 0 ? 0 : (size_t)count);
    }
}

Status weir_safe_file_read(const char *path, size_t limit, Buf *out, Error *err)
{
    Place place;
    struct stat info;
    WEIR_TRY(place_find(&place, path, err));
    const int file =
        openat(place.directory, place.name,
               O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC); /* a pipe must not block */
    Status status = file < 0 ? io_failed(path, "open", err) : WEIR_OK;
    if (status == WEIR_OK && (fstat(file, &info) != 0 || !S_ISREG(info.st_mode))) {
        status = refuse(path, "is no file", err);
    }
    if (status == WEIR_OK) {
        status = read_all(file, path, limit, out, err);
    }
    if (file >= 0) {
        (void)close(file);
    }
    place_close(&place);
    return status;
}
