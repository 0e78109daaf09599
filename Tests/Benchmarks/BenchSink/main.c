// A server that swallows request bodies: it reads each to its end and answers with its length.
//
// What has a Content-Length is thrown away within the kernel (MSG_TRUNC), so that a client is not held back by a server
// that copies; chunked bodies are read and taken apart. A client that expects it gets a 100 at once. One connection is
// served at a time. It listens on a free port of 127.0.0.1, writes the port to standard output, and serves until it is
// ended.
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

enum { buffer_size = 256 * 1024, head_size = 16 * 1024 };

static int connection;
static char buffer[buffer_size];
// What has been received and not been used yet.
static size_t start, end;

static bool fill(void) {
    if (start == end) start = end = 0;
    if (end == buffer_size) {
        memmove(buffer, buffer + start, end - start);
        end -= start;
        start = 0;
    }
    ssize_t count = recv(connection, buffer + end, buffer_size - end, 0);
    if (count > 0) end += (size_t)count;
    return count > 0;
}

static bool reply(const char *text) {
    size_t length = strlen(text);
    return send(connection, text, length, MSG_NOSIGNAL) == (ssize_t)length;
}

// Takes a line with its line feed out; NULL when the connection has ended before it.
static char *take_line(void) {
    for (;;) {
        char *feed = memchr(buffer + start, '\n', end - start);
        if (feed != NULL) {
            char *line = buffer + start;
            *feed = '\0';
            start = (size_t)(feed + 1 - buffer);
            return line;
        }
        if (end - start >= head_size || !fill()) return NULL;
    }
}

static bool drop(unsigned long long count) {
    size_t there = end - start;
    if (count <= there) {
        start += (size_t)count;
        return true;
    }
    start = end = 0;
    count -= there;
    while (count > 0) {
        ssize_t dropped = recv(connection, NULL, count < (1 << 24) ? (size_t)count : 1 << 24, MSG_TRUNC);
        if (dropped <= 0) return false;
        count -= (unsigned long long)dropped;
    }
    return true;
}

static bool drop_chunks(unsigned long long *length) {
    for (;;) {
        char *line = take_line();
        if (line == NULL) return false;
        unsigned long long size = strtoull(line, NULL, 16);
        *length += size;
        if (size == 0) return take_line() != NULL;
        if (!drop(size) || take_line() == NULL) return false;
    }
}

// Serves one request; says whether there may be another.
static bool serve(void) {
    unsigned long long length = 0;
    bool is_chunked = false, expects = false;
    char *line = take_line();
    if (line == NULL) return false;
    while ((line = take_line()) != NULL && line[0] != '\r' && line[0] != '\0') {
        if (strncasecmp(line, "content-length:", 15) == 0) length = strtoull(line + 15, NULL, 10);
        if (strncasecmp(line, "transfer-encoding: chunked", 26) == 0) is_chunked = true;
        if (strncasecmp(line, "expect: 100-continue", 20) == 0) expects = true;
    }
    if (line == NULL) return false;
    if (expects && !reply("HTTP/1.1 100 Continue\r\n\r\n")) return false;
    if (!(is_chunked ? drop_chunks(&length) : drop(length))) return false;
    char answer[256], body[32];
    snprintf(body, sizeof body, "%llu\n", length);
    snprintf(answer, sizeof answer, "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: %zu\r\n\r\n%s",
        strlen(body), body);
    return reply(answer);
}

int main(void) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    int listener = socket(AF_INET, SOCK_STREAM, 0), one = 1;
    if (bind(listener, (struct sockaddr *)&address, size) != 0 || listen(listener, 64) != 0
        || getsockname(listener, (struct sockaddr *)&address, &size) != 0) {
        perror("the sink cannot listen");
        return 1;
    }
    printf("%d\n", ntohs(address.sin_port));
    fflush(stdout);
    for (;;) {
        connection = accept(listener, NULL, NULL);
        if (connection < 0) continue;
        setsockopt(connection, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
        start = end = 0;
        while (serve()) {}
        close(connection);
    }
}
