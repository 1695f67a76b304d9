/* cmd_completion.c: `laggard completion SHELL`: a script for the shell, made of the same tables as the help: commands, options, and
 * the values of those that have a fixed choice; and the names that some commands take as an argument. Everything else is a file. */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "agents/scheme.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/options.h"
#include "base/text.h"
#include "harness/commands.h"
#include "harness/doctor.h"
#include "results/plot.h"
#include "results/query.h"

static const char *const shell_names[] = {"bash", "zsh", "fish", NULL};
const struct option_table cmd_completion_table = {
    .command = "completion",
    .usage = "SHELL",
    .summary = "Prints a script that completes laggard's commands, options and names in SHELL: bash, zsh or fish.",
    .positional_minimum = 1,
    .positional_maximum = 1,
    .first_words = shell_names,
};

/* ---- words of the tables, a line each: some have blanks ---- */

static void add_word(struct text *words, const char *word)
{
    text_printf(words, "%s%s", words->length > 0 ? "\n" : "", word);
}

static void add_choices(const struct option_row *row, struct text *words)
{
    for (size_t i = 0; row->choices && row->choices[i]; i++)
        add_word(words, row->choices[i]);
}

static void queries(struct text *words)
{
    for (const struct canned_query *query = canned_queries; query->name; query++)
        add_word(words, query->name);
}

static void plots(struct text *words)
{
    for (const struct plot_kind *kind = plot_kinds; kind->name; kind++)
        add_word(words, kind->name);
}

static void schemes(struct text *words)
{
    for (int i = 0; i < scheme_count(); i++)
        add_word(words, scheme_at(i)->name);
}

static void checks(struct text *words)
{
    for (int i = 0; i < doctor_check_count(); i++)
        add_word(words, doctor_check_at(i)->name);
}

enum { EVERY_ARGUMENT = 100 };
static const struct names {
    const char *command;
    int position; /* of the argument, from 1 */
    void (*add)(struct text *words);
} names[] = {{"sql", 2, queries}, {"plot", 2, plots}, {"schemes", 1, schemes}, {"doctor", EVERY_ARGUMENT, checks}};
enum { NAMES = sizeof(names) / sizeof(names[0]) };

/* The names that an argument of this command is one of, and which argument; 0: none is. */
static int argument_names(const struct command *command, struct text *words)
{
    for (const char *const *word = command->options->first_words; word && *word; word++)
        add_word(words, *word);
    if (words->length > 0)
        return 1;
    for (int i = 0; i < NAMES; i++)
        if (strcmp(names[i].command, command->name) == 0) {
            names[i].add(words);
            return names[i].position;
        }
    return 0;
}

static const struct option_row *rows_of(const struct command *command)
{
    static const struct option_row none = {0};
    return command->options->rows ? command->options->rows : &none;
}

static void all_commands(struct text *words)
{
    for (int i = 0; i < command_count(); i++)
        add_word(words, command_at(i)->name);
}

/* Text within single quotes: 'it'\''s'. */
static void quote(struct text *out, const char *text)
{
    for (const char *c = text; *c; c++)
        text_printf(out, *c == '\'' ? "'\\''" : "%c", *c);
}

/* ---- bash ---- */

/* $'one\nother' */
static void bash_words(struct text *out, const struct text *words)
{
    text_add(out, "$'");
    for (const char *c = words->bytes ? words->bytes : ""; *c; c++)
        text_printf(out, *c == '\n' ? "\\n" : *c == '\'' || *c == '\\' ? "\\%c" : "%c", *c);
    text_add(out, "'");
}

static void bash_values(const struct command *command, struct text *out)
{
    for (const struct option_row *row = rows_of(command); row->name; row++) {
        if (row->type == OPTION_FLAG)
            continue;
        cleanup(text_free) struct text words = {0};
        add_choices(row, &words);
        text_printf(out, "        '%s --%s') ", command->name, row->name);
        text_add(out, "words=");
        bash_words(out, &words);
        text_add(out, row->choices ? " files=0 ;;\n" : " ;;\n");
    }
}

static void bash_command(const struct command *command, struct text *out)
{
    cleanup(text_free) struct text words = {0}, valued = {0}, list = {0};
    const int argument = argument_names(command, &list);
    for (const struct option_row *row = rows_of(command); row->name; row++) {
        text_printf(&words, "--%s\n", row->name);
        if (row->type != OPTION_FLAG)
            text_printf(&valued, " --%s", row->name);
    }
    text_add(&words, "--help");
    text_printf(out, "        %s) valued='%s ' words=", command->name, valued.bytes ? valued.bytes : "");
    bash_words(out, &words);
    if (argument > 0) {
        text_printf(out, argument == EVERY_ARGUMENT ? " position=any names=" : " position=%d names=", argument);
        bash_words(out, &list);
    }
    text_add(out, " ;;\n");
}

static void write_bash(struct text *out)
{
    cleanup(text_free) struct text words = {0};
    all_commands(&words);
    text_add(&words, "\n--help\n--version");
    text_add(out, "# bash completion for laggard, printed by `laggard completion bash`\n"
                  "_laggard()\n{\n"
                  "    local word=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]} command=${COMP_WORDS[1]}\n"
                  "    local words='' valued='' names='' position=0 files=1 argument=1 i IFS=$'\\n'\n"
                  "    COMPREPLY=()\n"
                  "    if [ \"$COMP_CWORD\" = 1 ] || [ \"$COMP_CWORD $command\" = '2 help' ]; then\n");
    text_add(out, "        words=");
    bash_words(out, &words);
    text_add(out, "\n        COMPREPLY=($(compgen -W \"$words\" -- \"$word\"))\n        return\n    fi\n");
    text_add(out, "    case $command in\n");
    for (int i = 0; i < command_count(); i++)
        bash_command(command_at(i), out);
    text_add(out, "    esac\n"
                  "    for ((i = 2; i < COMP_CWORD; i++)); do # an option's value is no argument\n"
                  "        [[ ${COMP_WORDS[i]} == -* || $valued == *\" ${COMP_WORDS[i-1]} \"* ]] || argument=$((argument + 1))\n"
                  "    done\n"
                  "    [ $position = any ] || [ $argument = $position ] || names=''\n"
                  "    case \"$command $previous\" in\n");
    for (int i = 0; i < command_count(); i++)
        bash_values(command_at(i), out);
    text_add(out, "        *) [[ $word == -* ]] && files=0 || words=$names ;;\n"
                  "    esac\n"
                  "    COMPREPLY=($(compgen -W \"$words\" -- \"$word\"))\n"
                  "    [ $files = 0 ] || [ -n \"$words\" ] || COMPREPLY=($(compgen -f -- \"$word\"))\n"
                  "}\n"
                  "complete -o filenames -F _laggard laggard\n");
}

/* ---- zsh and fish: blanks between words, and a backslash before those within ---- */

static void blank_words(struct text *out, const struct text *words)
{
    for (const char *c = words->bytes ? words->bytes : ""; *c; c++)
        text_printf(out, *c == '\n' ? " " : *c == ' ' ? "\\ " : "%c", *c);
}

/* ---- zsh ---- */

/* A colon or a bracket would end the description. */
static void zsh_text(struct text *out, const char *text)
{
    for (const char *c = text; *c; c++)
        text_printf(out, strchr(":[]\\", *c) ? "\\%c" : *c == '\'' ? "'\\''" : "%c", *c);
}

static void zsh_option(const struct option_row *row, struct text *out)
{
    text_printf(out, " \\\n                '--%s[", row->name);
    zsh_text(out, row->help);
    text_add(out, "]");
    if (row->choices) {
        cleanup(text_free) struct text words = {0};
        add_choices(row, &words);
        text_printf(out, ":%s:(", row->value_name);
        blank_words(out, &words);
        text_add(out, ")");
    } else if (row->type != OPTION_FLAG) {
        text_printf(out, ":%s:_files", row->value_name);
    }
    text_add(out, "'");
}

static void zsh_command(const struct command *command, struct text *out)
{
    cleanup(text_free) struct text list = {0};
    const int argument = argument_names(command, &list);
    text_printf(out, "        %s)\n            _arguments", command->name);
    for (const struct option_row *row = rows_of(command); row->name; row++)
        zsh_option(row, out);
    text_add(out, " \\\n                '--help[print the options]'");
    if (argument > 0) {
        text_printf(out, argument == EVERY_ARGUMENT ? " \\\n                '*:name:(" : " \\\n                '%d:name:(",
                    argument);
        blank_words(out, &list);
        text_add(out, ")'");
    }
    text_add(out, argument == EVERY_ARGUMENT ? " ;;\n" : " \\\n                '*:file:_files' ;;\n");
}

static void write_zsh(struct text *out)
{
    text_add(out, "#compdef laggard\n# zsh completion for laggard, printed by `laggard completion zsh`\n"
                  "_laggard()\n{\n"
                  "    local -a commands\n    commands=(\n");
    for (int i = 0; i < command_count(); i++) {
        text_printf(out, "        '%s:", command_at(i)->name);
        zsh_text(out, command_at(i)->summary);
        text_add(out, "'\n");
    }
    text_add(out, "    )\n"
                  "    if ((CURRENT == 2)) || [[ $CURRENT == 3 && $words[2] == help ]]; then\n"
                  "        _describe command commands\n"
                  "        return\n"
                  "    fi\n"
                  "    shift words\n"
                  "    ((CURRENT--))\n"
                  "    case $words[1] in\n");
    for (int i = 0; i < command_count(); i++)
        zsh_command(command_at(i), out);
    text_add(out, "    esac\n}\ncompdef _laggard laggard\n");
}

/* ---- fish ---- */

static void fish_command(const struct command *command, struct text *out)
{
    cleanup(text_free) struct text list = {0};
    static const char *const places[] = {"__fish_use_subcommand", "'__fish_seen_subcommand_from help'"};
    for (size_t p = 0; p < sizeof(places) / sizeof(places[0]); p++) {
        text_printf(out, "complete -c laggard -n %s -f -a %s -d '", places[p], command->name);
        quote(out, command->summary);
        text_add(out, "'\n");
    }
    for (const struct option_row *row = rows_of(command); row->name; row++) {
        text_printf(out, "complete -c laggard -n '__fish_seen_subcommand_from %s' -l %s", command->name, row->name);
        if (row->letter)
            text_printf(out, " -s %c", row->letter);
        if (row->choices) {
            cleanup(text_free) struct text words = {0};
            add_choices(row, &words);
            text_add(out, " -x -a '");
            blank_words(out, &words);
            text_add(out, "'");
        } else if (row->type != OPTION_FLAG) {
            text_add(out, " -r");
        }
        text_add(out, " -d '");
        quote(out, row->help);
        text_add(out, "'\n");
    }
    if (argument_names(command, &list) == 0)
        return;
    text_printf(out, "complete -c laggard -n '__fish_seen_subcommand_from %s' -a '", command->name);
    blank_words(out, &list);
    text_add(out, "'\n");
}

static void write_fish(struct text *out)
{
    text_add(out, "# fish completion for laggard, printed by `laggard completion fish`\n");
    for (int i = 0; i < command_count(); i++)
        fish_command(command_at(i), out);
}

/* In the order of shell_names. */
static void (*const writers[])(struct text *out) = {write_bash, write_zsh, write_fish};
enum { SHELLS = sizeof(writers) / sizeof(writers[0]) };
static_assert(SHELLS + 1 == sizeof(shell_names) / sizeof(shell_names[0]), "each shell has a name");

int cmd_completion(int argc, char **argv, struct err *err)
{
    char no_options;
    int words;
    int result = options_parse(&cmd_completion_table, argc, argv, &no_options, &words, err);
    if (result != 0)
        return result < 0 ? result : 0;
    for (int i = 0; i < SHELLS; i++)
        if (strcmp(shell_names[i], argv[0]) == 0) {
            cleanup(text_free) struct text out = {0};
            writers[i](&out);
            fputs(out.bytes, stdout);
            return 0;
        }
    const char *near = options_nearest(argv[0], shell_names, SHELLS);
    return err_set(err, ERR_USAGE, "completion: found '%s'%s%s%s are: bash, zsh, fish", argv[0],
                   near ? ", did you mean '" : ", allowed", near ? near : "", near ? "'? Allowed" : "");
}
