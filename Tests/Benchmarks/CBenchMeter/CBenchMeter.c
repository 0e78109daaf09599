#include "CBenchMeter.h"

#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

static double started_at, started_cpu;
static long started_kib;

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static double cpu(void) {
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec)
        + (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

// A field of /proc/self/status in KiB. Not ru_maxrss, which a child inherits from the process that forked it.
static long status_kib(const char *field) {
    long kib = -1;
    char line[256];
    FILE *status = fopen("/proc/self/status", "r");
    if (status == NULL) return kib;
    while (fgets(line, sizeof line, status) != NULL) {
        if (strncmp(line, field, strlen(field)) == 0) sscanf(line + strlen(field), ": %ld", &kib);
    }
    fclose(status);
    return kib;
}

void bench_meter_start(void) {
    alarm(300);
    started_kib = status_kib("VmRSS");
    started_cpu = cpu();
    started_at = now();
}

void bench_meter_finish(long requests) {
    double seconds = now() - started_at, cpu_seconds = cpu() - started_cpu;
    printf("{\"requests\":%ld,\"seconds\":%.6f,\"cpuSeconds\":%.6f,\"startKiB\":%ld,\"peakKiB\":%ld}\n", requests, seconds,
        cpu_seconds, started_kib, status_kib("VmHWM"));
    fflush(stdout);
}

long bench_accepted_connections(int port) {
    static const char request[] = "GET /status HTTP/1.0\r\n\r\n";
    struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_port = htons((uint16_t)port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    char answer[1024];
    size_t length = 0;
    long accepted = -1;
    int descriptor = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (descriptor < 0) return accepted;
    if (connect(descriptor, (struct sockaddr *)&address, sizeof address) == 0
        && send(descriptor, request, sizeof request - 1, MSG_NOSIGNAL) > 0) {
        ssize_t count;
        while ((count = recv(descriptor, answer + length, sizeof answer - 1 - length, 0)) > 0) length += (size_t)count;
        answer[length] = '\0';
        const char *numbers = strstr(answer, "requests\n");
        if (numbers != NULL) sscanf(numbers + strlen("requests\n"), "%ld", &accepted);
    }
    close(descriptor);
    return accepted;
}

int bench_free_port(void) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof address;
    int port = -1, descriptor = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (descriptor < 0) return port;
    if (bind(descriptor, (struct sockaddr *)&address, length) == 0
        && getsockname(descriptor, (struct sockaddr *)&address, &length) == 0) {
        port = ntohs(address.sin_port);
    }
    close(descriptor);
    return port;
}

long bench_raise_descriptor_limit(void) {
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return -1;
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
    getrlimit(RLIMIT_NOFILE, &limit);
    return (long)limit.rlim_cur;
}
