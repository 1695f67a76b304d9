/* harness/commands.h: the command table: one row and one cmd_*.c a command. */
#ifndef LAGGARD_HARNESS_COMMANDS_H
#define LAGGARD_HARNESS_COMMANDS_H

struct err;
struct option_table;

struct command {
    const char *name, *summary;
    /* argv[0] is the command's name. 0, or a negative enum err_kind with a sentence in err, or the exit code of a program that it
     * ran. */
    int (*run)(int argc, char **argv, struct err *err);
    const struct option_table *options;
};
/* The table, in main.c. */
int command_count(void);
const struct command *command_at(int index);

int cmd_run(int argc, char **argv, struct err *err);
int cmd_verify(int argc, char **argv, struct err *err);
int cmd_plan(int argc, char **argv, struct err *err);
int cmd_exec(int argc, char **argv, struct err *err);
int cmd_enter(int argc, char **argv, struct err *err);
int cmd_schemes(int argc, char **argv, struct err *err);
int cmd_fields(int argc, char **argv, struct err *err);
int cmd_gate(int argc, char **argv, struct err *err);
int cmd_export(int argc, char **argv, struct err *err);
int cmd_report(int argc, char **argv, struct err *err);
int cmd_plot(int argc, char **argv, struct err *err);
int cmd_merge(int argc, char **argv, struct err *err);
int cmd_migrate(int argc, char **argv, struct err *err);
int cmd_sql(int argc, char **argv, struct err *err);
int cmd_baselines(int argc, char **argv, struct err *err);
int cmd_history(int argc, char **argv, struct err *err);
int cmd_doctor(int argc, char **argv, struct err *err);
int cmd_completion(int argc, char **argv, struct err *err);

extern const struct option_table cmd_run_table;
extern const struct option_table cmd_plan_table;
extern const struct option_table cmd_verify_table;
extern const struct option_table cmd_exec_table;
extern const struct option_table cmd_enter_table;
extern const struct option_table cmd_gate_table;
extern const struct option_table cmd_baselines_table;
extern const struct option_table cmd_history_table;
extern const struct option_table cmd_sql_table;
extern const struct option_table cmd_export_table;
extern const struct option_table cmd_report_table;
extern const struct option_table cmd_plot_table;
extern const struct option_table cmd_merge_table;
extern const struct option_table cmd_migrate_table;
extern const struct option_table cmd_schemes_table;
extern const struct option_table cmd_fields_table;
extern const struct option_table cmd_doctor_table;
extern const struct option_table cmd_completion_table;

#endif
