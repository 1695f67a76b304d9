/* log.h: what goes to standard error: errors, warnings, and for whoever works on laggard itself, how long its steps took. Never
 * used on a measured path. */
#ifndef LAGGARD_BASE_LOG_H
#define LAGGARD_BASE_LOG_H

enum log_level { LOG_ERROR, LOG_WARNING, LOG_DEBUG };

void log_set_level(enum log_level level); /* default LOG_WARNING */
/* As the environment variable LAGGARD_LOG says: error, warning or debug; unset: stays. Another word is warned of. */
void log_follow_environment(void);
void log_set_prefix(const char *prefix); /* "laggard" or "laggard-agent w3"; kept by reference */
/* One line, whatever the arguments hold: control characters are replaced. */
void log_message(enum log_level level, const char *format, ...) __attribute__((format(printf, 2, 3)));
#define log_error(...) log_message(LOG_ERROR, __VA_ARGS__)
#define log_warning(...) log_message(LOG_WARNING, __VA_ARGS__)
#define log_debug(...) log_message(LOG_DEBUG, __VA_ARGS__)

#endif
