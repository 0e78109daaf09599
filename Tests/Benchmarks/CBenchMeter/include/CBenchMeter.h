// What every client of the benchmark measures of itself, with the same code, so that start-up does not count.
#ifndef BLUEBONNET_BENCH_METER_H
#define BLUEBONNET_BENCH_METER_H

// Begins the measurement, after the warm-up: clock, CPU time (user and system, all threads), resident memory.
// The process is ended by SIGALRM when the measurement takes longer than five minutes.
void bench_meter_start(void);

// Ends the measurement and writes it to standard output as one line of JSON.
void bench_meter_finish(long requests);

// How many connections an nginx has accepted so far, this question's included, by its stub_status at GET /status on a
// port of 127.0.0.1; -1 when it does not answer.
long bench_accepted_connections(int port);

// A TCP port of 127.0.0.1 on which nobody listens, or -1.
int bench_free_port(void);

// Raises the limit of open descriptors as far as this process may, and returns it.
long bench_raise_descriptor_limit(void);

#endif
