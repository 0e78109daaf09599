// WebSockets on connections that libcurl opens with CURLOPT_CONNECT_ONLY.
#ifndef BENCH_LIBCURL_SOCKETS_H
#define BENCH_LIBCURL_SOCKETS_H

// What is done with the sockets.
enum socket_workload { socket_echo, socket_send, socket_receive, socket_idle };

typedef struct {
    enum socket_workload workload;
    const char *url;
    // The numbers of messages or sockets, and the length of a message or of all messages.
    long requests, warmup, length;
    // The number of sockets that are open, the number that are used, and the number for each multi handle.
    long sockets, used, shared;
} socket_job;

// Opens the sockets, warms up, measures, and ends the process if anything is wrong.
void run_sockets(const socket_job *job);

#endif
