/* fuzz_sentence.h: what every refusal of a file must be: ERR_USAGE, a place in the file called t, all of it printable. */
#ifndef LAGGARD_TESTS_FUZZ_SENTENCE_H
#define LAGGARD_TESTS_FUZZ_SENTENCE_H

#include <stdio.h>

#include "harness/yaml_document.h"
#include "tests/fuzz/fuzz.h"

static inline void fuzz_check_sentence(struct fuzz *fuzz, const struct err *err)
{
    int line = 0, column = 0;
    FUZZ_CHECK(fuzz, err->kind == ERR_USAGE);
    FUZZ_CHECK(fuzz, sscanf(err->text, "t:%d:%d: ", &line, &column) == 2 && line >= 1 && column >= 1);
    for (const char *c = err->text; *c; c++)
        FUZZ_CHECK(fuzz, yaml_document_unprintable(c) == 0);
}

#endif
