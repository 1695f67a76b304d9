/* results/schema_sql.h: the texts of schemas/results*.sql, built into the program. NUL-terminated. */
#ifndef LAGGARD_RESULTS_SCHEMA_SQL_H
#define LAGGARD_RESULTS_SCHEMA_SQL_H

extern const char schema_sql_tables[], schema_sql_views[], schema_sql_columns[], schema_sql_gate[], schema_sql_indexes[];

#endif
