/* results/schema_sql.c: takes schemas/results*.sql into the program as they are; the assembler reads the files (the Makefile names
 * them as prerequisites of this object). Paths are relative to the top of the tree, where the compiler runs. */
#include "results/schema_sql.h"

#define INCLUDE_TEXT(symbol, file)                                                                                                 \
    __asm__(".pushsection .rodata\n"                                                                                               \
            ".global " #symbol "\n"                                                                                                \
            ".type " #symbol ", %object\n" #symbol ":\n"                                                                           \
            ".incbin \"" file "\"\n"                                                                                               \
            ".byte 0\n"                                                                                                            \
            ".size " #symbol ", . - " #symbol "\n"                                                                                 \
            ".popsection\n")

INCLUDE_TEXT(schema_sql_tables, "schemas/results.sql");
INCLUDE_TEXT(schema_sql_gate, "schemas/results_gate.sql");
INCLUDE_TEXT(schema_sql_views, "schemas/results_views.sql");
INCLUDE_TEXT(schema_sql_columns, "schemas/results_columns.sql");
INCLUDE_TEXT(schema_sql_indexes, "schemas/results_indexes.sql");
