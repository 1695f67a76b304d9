/* blas.c: the matrix product behind every model: OpenBLAS, loaded at run time, or the naive kernel; and, for those who need them,
 * functions of the LAPACK inside OpenBLAS.
 *
 * dlopen instead of linking: OpenBLAS doubles an agent's start, so only agents that compute gradients pay for it, and a host
 * without it still runs. The serial build is looked for first: agents share cores, and a thread pool in each would make them
 * disturb each other. */
#include <dlfcn.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agents/model_internal.h"
#include "base/cleanup.h"
#include "base/err.h"

/* CblasRowMajor, CblasNoTrans, CblasTrans of cblas.h, whose values every BLAS shares. */
enum { ROW_MAJOR = 101, NO_TRANSPOSE = 111, TRANSPOSE = 112 };
typedef void cblas_sgemm_function(int order, int transpose_a, int transpose_b, int m, int n, int k, float alpha, const float *a,
                                  int lda, const float *b, int ldb, float beta, float *c, int ldc);

static struct {
    void *library;
    cblas_sgemm_function *sgemm; /* NULL: the naive kernel */
    char description[128];
} loaded = {.description = "naive kernel"};

/* Debian's alternatives let the plain name point at a threaded build, so the serial build's own folder comes first. */
static void *open_library(void)
{
    static const char serial_pattern[] = "/usr/lib/*/openblas-serial/libopenblas.so.0";
    static const char *const names[] = {"libopenblas.so.0", "libopenblas.so"};
    void *library = NULL;
    cleanup(globfree) glob_t found = {0};
    if (glob(serial_pattern, 0, NULL, &found) == 0)
        for (size_t i = 0; i < found.gl_pathc && !library; i++) /* the folder of another architecture fails to load: try the next */
            library = dlopen(found.gl_pathv[i], RTLD_NOW | RTLD_LOCAL);
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]) && !library; i++)
        library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
    return library;
}

/* "OpenBLAS 0.3.21 DYNAMIC_ARCH NO_AFFINITY Haswell SINGLE_THREADED" becomes "OpenBLAS 0.3.21 Haswell". */
static void describe(void *library, char *text, size_t size)
{
    char *(*get_config)(void) = (char *(*)(void))dlsym(library, "openblas_get_config");
    char *(*get_corename)(void) = (char *(*)(void))dlsym(library, "openblas_get_corename");
    char version[32] = "";
    if (!get_config || sscanf(get_config(), "OpenBLAS %31s", version) != 1)
        strcpy(version, "of unknown version");
    snprintf(text, size, "OpenBLAS %s%s%s", version, get_corename ? " " : "", get_corename ? get_corename() : "");
}

/* Stays for the life of the process. */
static int load_library(struct err *err)
{
    if (loaded.library)
        return 0;
    setenv("OPENBLAS_NUM_THREADS", "1", 1); /* before the library starts its threads */
    void *library = open_library();
    if (!library)
        return err_set(err, ERR_HOST, "cannot load OpenBLAS (libopenblas.so.0): %s: run apt-get install libopenblas0-serial",
                       dlerror());
    void (*set_threads)(int) = (void (*)(int))dlsym(library, "openblas_set_num_threads");
    if (set_threads)
        set_threads(1);
    loaded.library = library;
    return 0;
}

blas_any_function *blas_function(const char *name, struct err *err)
{
    if (load_library(err) < 0)
        return NULL;
    blas_any_function *function = (blas_any_function *)dlsym(loaded.library, name);
    if (!function)
        err_set(err, ERR_HOST,
                "libopenblas.so.0 has no %s (built without CBLAS or LAPACK): run apt-get install libopenblas0-serial", name);
    return function;
}

int blas_load(const char **description, struct err *err)
{
    if (!loaded.sgemm) {
        cblas_sgemm_function *sgemm = (cblas_sgemm_function *)blas_function("cblas_sgemm", err);
        if (!sgemm)
            return -ERR_HOST;
        describe(loaded.library, loaded.description, sizeof(loaded.description));
        loaded.sgemm = sgemm;
    }
    *description = loaded.description;
    return 0;
}

const char *blas_description(void)
{
    return loaded.description;
}

void blas_sgemm(bool transpose_a, bool transpose_b, int m, int n, int k, float alpha, const float *a, int lda, const float *b,
                int ldb, float beta, float *c, int ldc)
{
    if (loaded.sgemm)
        loaded.sgemm(ROW_MAJOR, transpose_a ? TRANSPOSE : NO_TRANSPOSE, transpose_b ? TRANSPOSE : NO_TRANSPOSE, m, n, k, alpha, a,
                     lda, b, ldb, beta, c, ldc);
    else
        kernel_naive_sgemm(transpose_a, transpose_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
}
