/* harness/commands.h: the command table: one row and one cmd_*.c a command. */
#ifndef LAGGARD_HARNESS_COMMANDS_H
#define LAGGARD_HARNESS_COMMANDS_H

struct err;

struct command {
    const char *name, *summary;
    /* argv[0] is the command's name. 0, or a negative enum err_kind with a sentence in err, or the exit code of a program that it
     * ran. */
    int (*run)(int argc, char **argv, struct err *err);
};

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

#endif
