/* scheme_object.c: loads shared objects with schemes; see scheme_object.h.
 *
 * Theory of operation. The file is hashed, loaded, and asked for its one symbol; everything is checked before the first row joins
 * the table, so that a refused object leaves nothing behind. Controller and agents do the same with the same file: an agent is told
 * the digest of what the controller loaded, and loads nothing else. It loads before its sandbox closes: later it could neither open
 * the file nor map code. */
#include "agents/scheme_object.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <nettle/sha2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agents/scheme.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/nearest_file.h"

enum { OBJECTS_MAX = 64, HEX_BYTES = 2 * SHA256_DIGEST_SIZE + 1 };
static struct {
    char *file;
    char sha256[HEX_BYTES];
} objects[OBJECTS_MAX];
static int object_count;

static void spell_digest(struct sha256_ctx *context, char hex[HEX_BYTES])
{
    uint8_t digest[SHA256_DIGEST_SIZE];
    sha256_digest(context, sizeof(digest), digest);
    for (size_t i = 0; i < sizeof(digest); i++)
        snprintf(hex + 2 * i, 3, "%02x", digest[i]);
}

static int hash_file(const char *file, const char *path, char hex[HEX_BYTES], struct err *err)
{
    cleanup(close_fd) int fd = open(file, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    struct stat status;
    if (fd < 0 || fstat(fd, &status) < 0)
        return err_set_errno(err, ERR_USAGE, errno, "cannot open the shared object '%s'%s", path,
                             errno == ENOENT ? nearest_file(path, ".so").text : "");
    if (!S_ISREG(status.st_mode))
        return err_set(err, ERR_USAGE, "'%s' is no file, a shared object with schemes is needed", path);
    struct sha256_ctx context;
    sha256_init(&context);
    uint8_t bytes[16384];
    ssize_t got;
    while ((got = read(fd, bytes, sizeof(bytes))) != 0) {
        if (got < 0 && errno != EINTR)
            return err_set_errno(err, ERR_USAGE, errno, "cannot read the shared object '%s'", path);
        if (got > 0)
            sha256_update(&context, (size_t)got, bytes);
    }
    spell_digest(&context, hex);
    return 0;
}

static bool good_name(const char *name)
{
    return name && *name && strlen(name) < 64 && strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-+") == strlen(name) &&
           strcmp(name, OUTSIDE_SCHEME) != 0;
}

static int check_row(const struct scheme *scheme, const char *path, struct err *err)
{
    if (!good_name(scheme->name))
        return err_set(
            err, ERR_USAGE,
            "'%s' has a scheme without a name that can be used: small letters, digits, + and - are allowed, and not '%s'", path,
            OUTSIDE_SCHEME);
    if (scheme_find(scheme->name))
        return err_set(err, ERR_USAGE, "'%s' has a scheme '%s', and there is one of that name already; another name is needed",
                       path, scheme->name);
    if (!scheme->summary || !scheme->source || !scheme->formula || !scheme->start || !scheme->spans_a_round)
        return err_set(err, ERR_USAGE, "'%s': scheme '%s' lacks one of summary, source, formula, start and spans_a_round", path,
                       scheme->name);
    if (scheme->param_count < 0 || scheme->param_count > SCHEME_PARAMS_MAX || scheme->family >= FAMILY_COUNT)
        return err_set(err, ERR_USAGE, "'%s': scheme '%s' has %d parameters of family %d, allowed are 0 to %d and 0 to %d", path,
                       scheme->name, scheme->param_count, (int)scheme->family, SCHEME_PARAMS_MAX, FAMILY_COUNT - 1);
    return 0;
}

static int check_export(const struct scheme_object_export *export, const char *path, struct err *err)
{
    if (!export)
        return err_set(err, ERR_USAGE,
                       "'%s' has no symbol '" SCHEME_OBJECT_SYMBOL "': SCHEME_OBJECT(&scheme, ...) of agents/scheme.h defines it",
                       path);
    if (export->version != SCHEME_INTERFACE_VERSION)
        return err_set(err, ERR_USAGE,
                       "'%s' was compiled for version %u of the scheme interface, this program has version %d; compile it with the "
                       "headers of this build",
                       path, export->version, SCHEME_INTERFACE_VERSION);
    if (export->scheme_bytes != sizeof(struct scheme) || export->setup_bytes != sizeof(struct scheme_setup))
        return err_set(err, ERR_USAGE,
                       "'%s' was compiled with other headers than this program's, though of the same version; compile it with the "
                       "headers of this build",
                       path);
    if (!export->schemes || !export->schemes[0])
        return err_set(err, ERR_USAGE, "'%s' has no scheme", path);
    int result = 0;
    for (int i = 0; export->schemes[i] && result == 0; i++) {
        result = check_row(export->schemes[i], path, err);
        for (int k = 0; k < i && result == 0; k++)
            if (strcmp(export->schemes[k]->name, export->schemes[i]->name) == 0)
                result = err_set(err, ERR_USAGE, "'%s' has two schemes '%s'", path, export->schemes[i]->name);
    }
    return result;
}

static int load(const char *file, const char *path, struct err *err)
{
    void *library = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    if (!library)
        return err_set(err, ERR_USAGE, "'%s' cannot be loaded as a shared object: %s", path, dlerror());
    const struct scheme_object_export *export = dlsym(library, SCHEME_OBJECT_SYMBOL);
    int result = check_export(export, path, err);
    for (int i = 0; result == 0 && export->schemes[i]; i++)
        if (!scheme_add(export->schemes[i]))
            return err_set(err, ERR_USAGE, "'%s' has more schemes than there is room for",
                           path); /* some are in the table: it stays */
    if (result < 0)
        dlclose(library);
    return result;
}

int scheme_object_load(const char *path, const char *sha256, struct scheme_object *object, struct err *err)
{
    cleanup(free_pointer) char *file = realpath(path, NULL);
    char hex[HEX_BYTES];
    if (!file)
        return err_set_errno(err, ERR_USAGE, errno, "cannot open the shared object '%s'%s", path,
                             errno == ENOENT ? nearest_file(path, ".so").text : "");
    int result = hash_file(file, path, hex, err);
    if (result < 0)
        return result;
    if (sha256 && strcmp(sha256, hex) != 0)
        return err_set(err, ERR_USAGE, "'%s' is another file than was asked for: its SHA-256 is %s, not %s", path, hex, sha256);
    int known = 0;
    while (known < object_count && strcmp(objects[known].file, file) != 0)
        known++;
    if (known < object_count && strcmp(objects[known].sha256, hex) != 0)
        return err_set(err, ERR_USAGE, "'%s' has changed since it was loaded; start again", path);
    if (known == OBJECTS_MAX)
        return err_set(err, ERR_USAGE, "'%s' is one shared object too many, allowed are %d", path, OBJECTS_MAX);
    if (known == object_count) {
        result = load(file, path, err);
        if (result < 0)
            return result;
        objects[known].file = steal_pointer(&file);
        memcpy(objects[known].sha256, hex, sizeof(hex));
        object_count++;
    }
    *object = (struct scheme_object){.path = path, .file = objects[known].file, .sha256 = objects[known].sha256};
    return 0;
}
