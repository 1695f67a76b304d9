/* results/digest.h: SHA-256 of bytes and of rows of numbers, as lower-case hexadecimal text. */
#ifndef LAGGARD_RESULTS_DIGEST_H
#define LAGGARD_RESULTS_DIGEST_H

#include <stddef.h>
#include <stdint.h>

enum { DIGEST_HEX_BYTES = 65 }; /* with the NUL */

struct digest;

struct digest *digest_new(void);                               /* out of memory ends the process */
void digest_cleanup(struct digest **digest);                   /* for cleanup() */
void digest_add_text(struct digest *digest, const char *text); /* its NUL included, so that "a" "bc" is not "ab" "c" */
void digest_add_integer(struct digest *digest, int64_t value); /* eight bytes, little-endian */
void digest_add_integers(struct digest *digest, const int64_t *values, size_t count);
void digest_add_real(struct digest *digest, double value);                 /* its bits, little-endian; one pattern for every NaN */
void digest_hex(struct digest *digest, char hex[static DIGEST_HEX_BYTES]); /* ends it: start again with digest_new() */

void digest_of_text(const char *text, char hex[static DIGEST_HEX_BYTES]); /* without the NUL: what sha256sum prints of the file */
int digest_of_file(const char *path, char hex[static DIGEST_HEX_BYTES]);  /* 0, or an errno; what is no regular file: EINVAL */
enum { DIGEST_BASE64_BYTES = 45 };                                        /* with the NUL */
void digest_base64_of_text(const char *text, char base64[static DIGEST_BASE64_BYTES]); /* the same, as policies of pages spell it */
void digest_spell(const uint8_t sha256[static 32], char hex[static DIGEST_HEX_BYTES]);

#endif
