/* netem/impairment_table.c: tables of quantiles, from which jitter is drawn.
 *
 * Formulas, for a probability u (the quantile function of each distribution, shifted and scaled to mean 0 and standard deviation
 * 1):
 *   uniform     2u - 1 (not scaled: from -1 to 1)
 *   normal      algorithm AS 241, PPND16 (Wichura, "The percentage points of the normal distribution", Applied Statistics 37, 1988)
 *   pareto      (x - 3/2) / sqrt(3/4) with x = (1 - u)^(-1/3): shape 3, scale 1
 *   lognormal   (exp(z/2) - exp(1/8)) / sqrt((exp(1/4) - 1) exp(1/4)), z the normal quantile: sigma 1/2
 * The entries are 16 bits wide with 8192 for 1, so that what lies above 4 is cut off: 0.8 % of pareto, 0.6 % of lognormal. The mean
 * is lower for it by 0.023 and 0.006, the standard deviation 0.74 and 0.97. */
#include <math.h>
#include <string.h>

#include "base/detmath.h"
#include "base/err.h"
#include "netem/impairment.h"

static double polynomial(const double *coefficients, int degree, double x)
{
    double sum = coefficients[degree];
    for (int i = degree - 1; i >= 0; i--)
        sum = sum * x + coefficients[i];
    return sum;
}

static double uniform_quantile(double u)
{
    return 2 * u - 1;
}

/* The third branch of AS 241, for u below exp(-25), is left out: quantiles of a table are never that far out. */
static double normal_quantile(double u)
{
    static const double near_above[] = {3.3871328727963666080e0, 1.3314166789178437745e2, 1.9715909503065514427e3,
                                        1.3731693765509461125e4, 4.5921953931549871457e4, 6.7265770927008700853e4,
                                        3.3430575583588128105e4, 2.5090809287301226727e3};
    static const double near_below[] = {1.0,
                                        4.2313330701600911252e1,
                                        6.8718700749205790830e2,
                                        5.3941960214247511077e3,
                                        2.1213794301586595867e4,
                                        3.9307895800092710610e4,
                                        2.8729085735721942674e4,
                                        5.2264952788528545610e3};
    static const double far_above[] = {1.42343711074968357734e0,  4.63033784615654529590e0, 5.76949722146069140550e0,
                                       3.64784832476320460504e0,  1.27045825245236838258e0, 2.41780725177450611770e-1,
                                       2.27238449892691845833e-2, 7.74545014278341407640e-4};
    static const double far_below[] = {1.0,
                                       2.05319162663775882187e0,
                                       1.67638483018380384940e0,
                                       6.89767334985100004550e-1,
                                       1.48103976427480074590e-1,
                                       1.51986665636164571966e-2,
                                       5.47593808499534494600e-4,
                                       1.05075007164441684324e-9};
    enum { DEGREE = 7 };
    double q = u - 0.5;
    if (fabs(q) <= 0.425) {
        double r = 0.180625 - q * q;
        return q * polynomial(near_above, DEGREE, r) / polynomial(near_below, DEGREE, r);
    }
    double r = sqrt(-detmath_log(q < 0 ? u : 1 - u)) - 1.6;
    double z = polynomial(far_above, DEGREE, r) / polynomial(far_below, DEGREE, r);
    return q < 0 ? -z : z;
}

static double pareto_quantile(double u)
{
    return (detmath_pow(1 - u, -1.0 / 3) - 1.5) / sqrt(0.75);
}

static double lognormal_quantile(double u)
{
    double mean = detmath_exp(0.125), growth = detmath_exp(0.25);
    return (detmath_exp(normal_quantile(u) / 2) - mean) / sqrt((growth - 1) * growth);
}

static double (*const quantiles[JITTER_TABLE])(double u) = {
    [JITTER_UNIFORM] = uniform_quantile,
    [JITTER_NORMAL] = normal_quantile,
    [JITTER_PARETO] = pareto_quantile,
    [JITTER_LOGNORMAL] = lognormal_quantile,
};

double impairment_quantile(enum jitter_kind distribution, double probability)
{
    return quantiles[distribution](probability);
}

struct impairment_table impairment_table_for(const struct impairments *asked)
{
    static int16_t tables[JITTER_TABLE][IMPAIRMENT_TABLE_SIZE];
    static bool made[JITTER_TABLE];
    enum jitter_kind distribution = asked->jitter_distribution;
    if (distribution == JITTER_TABLE)
        return (struct impairment_table){asked->jitter_table, asked->jitter_table_size};
    for (int i = 0; i < IMPAIRMENT_TABLE_SIZE && !made[distribution]; i++) {
        double entry = rint(IMPAIRMENT_SCALE * quantiles[distribution]((i + 0.5) / IMPAIRMENT_TABLE_SIZE));
        tables[distribution][i] = (int16_t)(entry > INT16_MAX ? INT16_MAX : entry < INT16_MIN ? INT16_MIN : entry);
    }
    made[distribution] = true;
    return (struct impairment_table){tables[distribution], IMPAIRMENT_TABLE_SIZE};
}

void impairment_prepare_tables(void)
{
    for (enum jitter_kind distribution = 0; distribution < JITTER_TABLE; distribution++)
        (void)impairment_table_for(&(const struct impairments){.jitter_distribution = distribution});
}

/* By bisection in the normal table: its place there, as a share of that table's size, is its place in a table of any size. */
int impairment_rank(double normal, int size)
{
    const struct impairments normally = {.jitter_distribution = JITTER_NORMAL};
    const int16_t *entries = impairment_table_for(&normally).entries;
    int low = 0, high = IMPAIRMENT_TABLE_SIZE - 1;
    while (low < high) {
        int middle = (low + high) / 2;
        if (entries[middle] < normal * IMPAIRMENT_SCALE)
            low = middle + 1;
        else
            high = middle;
    }
    return (int)((int64_t)low * size / IMPAIRMENT_TABLE_SIZE);
}

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

/* A number that starts at `at`: its value, or 0 with *end unmoved when there is none within 16 bits. */
static int read_entry(const char *text, size_t length, size_t at, size_t *end)
{
    size_t next = at;
    bool negative = text[next] == '-';
    next += negative || text[next] == '+' ? 1 : 0;
    int value = 0;
    size_t digits = next;
    while (next < length && text[next] >= '0' && text[next] <= '9' && value <= -INT16_MIN)
        value = 10 * value + (text[next++] - '0');
    bool ends = next == length || is_space(text[next]) || text[next] == '#';
    if (next == digits || !ends || value > (negative ? -INT16_MIN : INT16_MAX))
        return 0;
    *end = next;
    return negative ? -value : value;
}

int impairment_table_parse(const char *text, size_t length, int16_t entries[IMPAIRMENT_TABLE_MOST], struct err *err)
{
    int count = 0, line = 1;
    for (size_t at = 0; at < length;) {
        if (text[at] == '#') {
            while (at < length && text[at] != '\n')
                at++;
        } else if (is_space(text[at])) {
            line += text[at++] == '\n';
        } else {
            size_t end = at;
            int entry = read_entry(text, length, at, &end);
            if (end == at)
                return err_set(err, ERR_USAGE, "line %d: whole numbers from -32768 to 32767 are needed, 8192 is one jitter", line);
            if (count == IMPAIRMENT_TABLE_MOST)
                return err_set(err, ERR_USAGE, "line %d: more than the %d entries that a table may have", line,
                               IMPAIRMENT_TABLE_MOST);
            entries[count++] = (int16_t)entry;
            at = end;
        }
    }
    if (count == 0)
        return err_set(err, ERR_USAGE, "the table has no entries");
    return count;
}
