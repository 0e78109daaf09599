// A server that answers late: it holds back the answers to `GET /late/N` until N such requests wait, then answers all.
//
// Nothing is timed, so "N in flight at once" is a fact and not a hope. Any other path is answered at once. It listens on
// a free port of 127.0.0.1, writes the port to standard output, and serves until it is ended.
#define _GNU_SOURCE  // accept4
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

enum { maximum_descriptors = 65536, maximum_head = 1024 };

// What has been received of the head of each connection's next request.
static struct {
    char bytes[maximum_head];
    size_t length;
} *heads;

static int waiting[maximum_descriptors];
static long waiting_count;
static char answer[1024];
static size_t answer_length;

static void reply(int descriptor) {
    if (send(descriptor, answer, answer_length, MSG_NOSIGNAL) != (ssize_t)answer_length) close(descriptor);
}

static void serve(int descriptor) {
    heads[descriptor].length = 0;
    if (strncmp(heads[descriptor].bytes, "GET /late/", 10) != 0) return reply(descriptor);
    waiting[waiting_count++] = descriptor;
    if (waiting_count < atol(heads[descriptor].bytes + 10)) return;
    for (long i = 0; i < waiting_count; i++) reply(waiting[i]);
    waiting_count = 0;
}

static void receive(int descriptor) {
    char *bytes = heads[descriptor].bytes;
    size_t length = heads[descriptor].length;
    ssize_t count = recv(descriptor, bytes + length, maximum_head - 1 - length, 0);
    if (count < 0 && errno == EAGAIN) return;
    if (count <= 0) {
        close(descriptor);
        return;
    }
    heads[descriptor].length += (size_t)count;
    bytes[heads[descriptor].length] = '\0';
    if (strstr(bytes, "\r\n\r\n") != NULL) serve(descriptor);
}

int main(int count, char **arguments) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    struct epoll_event events[256];
    const char *body = count > 1 ? arguments[1] : "";
    answer_length = (size_t)snprintf(answer, sizeof answer,
        "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %zu\r\n\r\n%s", strlen(body), body);
    heads = calloc(maximum_descriptors, sizeof *heads);
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0), epoll = epoll_create1(0), one = 1;
    if (heads == NULL || answer_length >= sizeof answer || bind(listener, (struct sockaddr *)&address, size) != 0
        || listen(listener, 65535) != 0 || getsockname(listener, (struct sockaddr *)&address, &size) != 0) {
        perror("the late server cannot listen");
        return 1;
    }
    struct epoll_event interest = {.events = EPOLLIN, .data.fd = listener};
    epoll_ctl(epoll, EPOLL_CTL_ADD, listener, &interest);
    printf("%d\n", ntohs(address.sin_port));
    fflush(stdout);
    for (;;) {
        int ready = epoll_wait(epoll, events, 256, -1);
        for (int i = 0; i < ready; i++) {
            if (events[i].data.fd != listener) {
                receive(events[i].data.fd);
                continue;
            }
            int descriptor;
            while ((descriptor = accept4(listener, NULL, NULL, SOCK_NONBLOCK)) >= 0) {
                if (descriptor >= maximum_descriptors) {
                    close(descriptor);
                    continue;
                }
                setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
                heads[descriptor].length = 0;
                interest = (struct epoll_event){.events = EPOLLIN, .data.fd = descriptor};
                epoll_ctl(epoll, EPOLL_CTL_ADD, descriptor, &interest);
            }
        }
    }
}
