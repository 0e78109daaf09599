// Runs a command that is not ours, once, and reports on it like the other clients: BenchCommand PROGRAM ARGUMENT...
//
// The command writes how many seconds it took to standard output, which leaves out its start; CPU time and peak memory
// are those of its whole life. This is a program of its own since a child begins with the peak memory of the process
// that forked it, and this one has next to none.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int count, char **arguments) {
    int descriptors[2];
    if (count < 2 || pipe(descriptors) != 0) return 64;
    pid_t child = fork();
    if (child < 0) return 1;
    if (child == 0) {
        dup2(descriptors[1], STDOUT_FILENO);
        close(descriptors[0]);
        execvp(arguments[1], arguments + 1);
        perror(arguments[1]);
        _exit(127);
    }
    close(descriptors[1]);
    alarm(300);
    char text[4096];
    size_t length = 0;
    ssize_t got;
    while ((got = read(descriptors[0], text + length, sizeof text - 1 - length)) > 0) length += (size_t)got;
    text[length] = '\0';
    int status;
    struct rusage usage;
    if (wait4(child, &status, 0, &usage) != child || !WIFEXITED(status) || WEXITSTATUS(status) != 0) {
        fprintf(stderr, "%s failed with status %d\n", arguments[1], status);
        return 1;
    }
    double cpu = (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec)
        + (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
    printf("{\"requests\":1,\"seconds\":%.6f,\"cpuSeconds\":%.6f,\"startKiB\":0,\"peakKiB\":%ld}\n", atof(text), cpu,
        usage.ru_maxrss);
}
