/* Mean rounds, on a logarithmic scale from 16 ms on: eight characters are a factor of two. */
SELECT scheme, workers, round(round_time_mean_ns / 1e6, 1) AS ms, printf('%.*c', CAST(8 * log2(round_time_mean_ns / 16e6) AS INTEGER), '#') AS round
FROM cells ORDER BY scheme = 'ps-sync' DESC, scheme DESC, workers
