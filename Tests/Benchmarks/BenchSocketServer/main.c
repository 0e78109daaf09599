// A server of WebSockets, which must not be what limits its clients: one thread, epoll, and no memory for a frame.
//
// The path of the handshake decides what a socket does:
//   /echo       the frames of the client are sent back, each piece as soon as it arrives
//   /discard    binary payloads are thrown away within the kernel (MSG_TRUNC); a text is answered with their length
//   /send/N     N bytes are sent in binary messages of 64 KiB, as fast as the client reads them
// It checks nothing, never compresses, and answers a close frame by closing the connection. It listens on a free port
// of 127.0.0.1, writes the port to standard output, and serves until it is ended.
#define _GNU_SOURCE
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/evp.h>
#include <openssl/sha.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

enum { head_size = 14, request_size = 8 * 1024, buffer_size = 256 * 1024, message_size = 64 * 1024 };
enum { frames_ahead = 8, frame_size = 10 + message_size };
enum mode { handshake, echo, discard, send_all };

typedef struct {
    int descriptor;
    enum mode mode;
    // The bytes of the request or of a frame's head that are not complete, and the frame whose payload arrives.
    char *request;
    unsigned char head[head_size];
    uint32_t used;
    uint8_t opcode, key[4];
    uint32_t key_offset;
    uint64_t missing;
    // The number of discarded bytes, or of the bytes to send, and the place in the frames.
    uint64_t count;
    size_t place;
    // What the client did not take yet.
    unsigned char *unsent;
    size_t unsent_start, unsent_end;
    uint32_t events;
} peer;

static int epoll_descriptor;
static unsigned char input[buffer_size], output[buffer_size + head_size], frames[frames_ahead * frame_size];

static void end(peer *peer) {
    close(peer->descriptor);
    free(peer->request);
    free(peer->unsent);
    free(peer);
}

static void want(peer *peer, uint32_t events) {
    if (peer->events == events) return;
    struct epoll_event event = {.events = peer->events = events, .data.ptr = peer};
    epoll_ctl(epoll_descriptor, EPOLL_CTL_MOD, peer->descriptor, &event);
}

// Sends bytes, or keeps those that the client does not take now; returns whether the connection is usable.
static bool reply(peer *peer, const unsigned char *bytes, size_t count) {
    ssize_t sent = send(peer->descriptor, bytes, count, MSG_NOSIGNAL);
    if (sent < 0 && errno != EAGAIN) return false;
    if (sent < 0) sent = 0;
    if ((size_t)sent == count) return true;
    peer->unsent_start = 0;
    peer->unsent_end = count - (size_t)sent;
    peer->unsent = malloc(peer->unsent_end);
    if (peer->unsent == NULL) return false;
    memcpy(peer->unsent, bytes + sent, peer->unsent_end);
    want(peer, EPOLLOUT);
    return true;
}

// Takes the head of a client's frame; returns its length, or 0 if it is not complete.
static size_t take_head(peer *peer, const unsigned char *bytes, size_t count) {
    if (count < 2) return 0;
    unsigned length = bytes[1] & 0x7f, extra = length < 126 ? 0 : length == 126 ? 2 : 8, size = 2 + extra + 4;
    if (count < size) return 0;
    peer->opcode = bytes[0] & 0x0f;
    peer->missing = extra == 0 ? length : 0;
    for (unsigned i = 0; i < extra; i++) peer->missing = peer->missing << 8 | bytes[2 + i];
    memcpy(peer->key, bytes + 2 + extra, 4);
    peer->key_offset = 0;
    return size;
}

static void unmask(peer *peer, unsigned char *to, const unsigned char *from, size_t count) {
    uint64_t word;
    unsigned char key[8];
    for (unsigned i = 0; i < 8; i++) key[i] = peer->key[(peer->key_offset + i) & 3];
    memcpy(&word, key, 8);
    size_t i = 0;
    for (; i + 8 <= count; i += 8) {
        uint64_t eight;
        memcpy(&eight, from + i, 8);
        eight ^= word;
        memcpy(to + i, &eight, 8);
    }
    for (; i < count; i++) to[i] = from[i] ^ key[i & 7];
    peer->key_offset = (peer->key_offset + (uint32_t)count) & 3;
}

static bool run_echo(peer *peer) {
    memcpy(input, peer->head, peer->used);
    ssize_t received = recv(peer->descriptor, input + peer->used, buffer_size - peer->used, 0);
    if (received <= 0) return received < 0 && errno == EAGAIN;
    size_t start = 0, end = peer->used + (size_t)received, length = 0;
    peer->used = 0;
    for (;;) {
        if (peer->missing == 0) {
            size_t head = take_head(peer, input + start, end - start);
            if (head == 0) break;
            if (peer->opcode == 8) return false;
            // The same head without a mask.
            memcpy(output + length, input + start, head - 4);
            output[length + 1] &= 0x7f;
            length += head - 4;
            start += head;
        }
        size_t part = end - start < peer->missing ? end - start : peer->missing;
        unmask(peer, output + length, input + start, part);
        start += part;
        length += part;
        peer->missing -= part;
        if (peer->missing > 0) break;
    }
    peer->used = (uint32_t)(end - start);
    memcpy(peer->head, input + start, peer->used);
    return length == 0 || reply(peer, output, length);
}

static bool run_discard(peer *peer) {
    for (;;) {
        while (peer->missing > 0 && peer->used == 0) {
            size_t most = peer->missing < 1 << 24 ? (size_t)peer->missing : 1 << 24;
            ssize_t dropped = recv(peer->descriptor, NULL, most, MSG_TRUNC);
            if (dropped <= 0) return dropped < 0 && errno == EAGAIN;
            peer->missing -= (uint64_t)dropped;
        }
        ssize_t received = recv(peer->descriptor, peer->head + peer->used, head_size - peer->used, 0);
        if (received <= 0) return received < 0 && errno == EAGAIN;
        peer->used += (uint32_t)received;
        for (;;) {
            if (peer->missing == 0) {
                size_t head = take_head(peer, peer->head, peer->used);
                if (head == 0) break;
                peer->used -= (uint32_t)head;
                memmove(peer->head, peer->head + head, peer->used);
                if (peer->opcode == 8) return false;
                if (peer->opcode == 1) {
                    char answer[34];
                    int digits = snprintf(answer + 2, 32, "%llu", (unsigned long long)peer->count);
                    answer[0] = (char)0x81;
                    answer[1] = (char)digits;
                    peer->count = 0;
                    if (!reply(peer, (unsigned char *)answer, 2 + (size_t)digits)) return false;
                } else {
                    peer->count += peer->missing;
                }
            }
            size_t part = peer->used < peer->missing ? peer->used : peer->missing;
            peer->used -= (uint32_t)part;
            peer->missing -= part;
            memmove(peer->head, peer->head + part, peer->used);
            if (peer->missing > 0) break;
        }
    }
}

static bool run_send(peer *peer) {
    for (unsigned round = 0; round < 16 && peer->count > 0; round++) {
        size_t most = sizeof frames - peer->place;
        if (most > peer->count) most = (size_t)peer->count;
        ssize_t sent = send(peer->descriptor, frames + peer->place, most, MSG_NOSIGNAL);
        if (sent < 0) return errno == EAGAIN;
        peer->place = (peer->place + (size_t)sent) % sizeof frames;
        peer->count -= (uint64_t)sent;
    }
    if (peer->count == 0) {
        peer->mode = discard;
        peer->count = 0;
        want(peer, EPOLLIN);
    }
    return true;
}

static bool shake_hands(peer *peer) {
    ssize_t received = recv(peer->descriptor, peer->request + peer->used, request_size - 1 - peer->used, 0);
    if (received <= 0) return received < 0 && errno == EAGAIN;
    peer->used += (uint32_t)received;
    peer->request[peer->used] = '\0';
    if (strstr(peer->request, "\r\n\r\n") == NULL) return peer->used < request_size - 1;
    const char *field = strcasestr(peer->request, "\r\nsec-websocket-key:");
    char text[96], accept[32], answer[256];
    if (field == NULL || sscanf(field + 20, " %40[^ \r]", text) != 1) return false;
    strcat(text, "258EAFA5-E914-47DA-95CA-C5AB0DC85B11");
    unsigned char digest[SHA_DIGEST_LENGTH];
    SHA1((unsigned char *)text, strlen(text), digest);
    EVP_EncodeBlock((unsigned char *)accept, digest, sizeof digest);
    unsigned long long length = 0;
    peer->mode = strncmp(peer->request + 4, "/echo", 5) == 0 ? echo : discard;
    if (sscanf(peer->request, "GET /send/%llu", &length) == 1) {
        peer->mode = send_all;
        peer->count = length / message_size * frame_size;
    }
    free(peer->request);
    peer->request = NULL;
    peer->used = 0;
    int size = snprintf(answer, sizeof answer,
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: %s\r\n\r\n",
        accept);
    if (!reply(peer, (unsigned char *)answer, (size_t)size)) return false;
    if (peer->mode == send_all) want(peer, EPOLLOUT);
    return true;
}

static bool flush(peer *peer) {
    ssize_t sent =
        send(peer->descriptor, peer->unsent + peer->unsent_start, peer->unsent_end - peer->unsent_start, MSG_NOSIGNAL);
    if (sent < 0) return errno == EAGAIN;
    peer->unsent_start += (size_t)sent;
    if (peer->unsent_start < peer->unsent_end) return true;
    free(peer->unsent);
    peer->unsent = NULL;
    want(peer, peer->mode == send_all ? EPOLLOUT : EPOLLIN);
    return true;
}

static bool run(peer *peer) {
    if (peer->unsent != NULL) return flush(peer);
    switch (peer->mode) {
    case handshake: return shake_hands(peer);
    case echo: return run_echo(peer);
    case discard: return run_discard(peer);
    case send_all: return run_send(peer);
    }
    return false;
}

static void accept_all(int listener) {
    for (;;) {
        int descriptor = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC), one = 1;
        if (descriptor < 0) return;
        peer *peer = calloc(1, sizeof *peer);
        if (peer == NULL || (peer->request = malloc(request_size)) == NULL) exit(1);
        setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
        peer->descriptor = descriptor;
        struct epoll_event event = {.events = peer->events = EPOLLIN, .data.ptr = peer};
        if (epoll_ctl(epoll_descriptor, EPOLL_CTL_ADD, descriptor, &event) != 0) end(peer);
    }
}

int main(void) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (bind(listener, (struct sockaddr *)&address, size) != 0 || listen(listener, 4096) != 0
        || getsockname(listener, (struct sockaddr *)&address, &size) != 0) {
        perror("the server of sockets cannot listen");
        return 1;
    }
    struct rlimit limit;
    getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
    // Frames of 64 KiB that a server sends.
    for (unsigned i = 0; i < frames_ahead; i++) {
        frames[i * frame_size] = 0x82;
        frames[i * frame_size + 1] = 127;
        frames[i * frame_size + 7] = message_size >> 16;
    }
    printf("%d\n", ntohs(address.sin_port));
    fflush(stdout);
    epoll_descriptor = epoll_create1(EPOLL_CLOEXEC);
    struct epoll_event events[256], event = {.events = EPOLLIN};
    epoll_ctl(epoll_descriptor, EPOLL_CTL_ADD, listener, &event);
    for (;;) {
        int ready = epoll_wait(epoll_descriptor, events, 256, -1);
        for (int i = 0; i < ready; i++) {
            peer *peer = events[i].data.ptr;
            if (peer == NULL) accept_all(listener);
            else if (!run(peer)) end(peer);
        }
    }
}
