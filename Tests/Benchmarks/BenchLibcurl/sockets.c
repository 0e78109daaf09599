// What a C program gets from libcurl for WebSockets: `CURLOPT_CONNECT_ONLY`, a multi handle for each socket, epoll, and
// frames of its own.
//
// It does as little as a client can that still reads until `CURLE_AGAIN`, as libcurl asks for, masks with random keys,
// and has each message in memory of its own. Keys come from the system 4 KiB at a time. It checks lengths, not texts.
#include "sockets.h"

#include <curl/curl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/random.h>

#include "CBenchMeter.h"

enum { receive_size = 64 * 1024, piece_size = 64 * 1024, head_size = 14 };

typedef struct {
    CURL *easy;
    curl_socket_t descriptor;
    bool waits_for_room;
    // The frame that is sent.
    uint8_t *out;
    size_t out_start, out_end, out_capacity;
    // The head or the payload of a frame that is not complete, and the message so far.
    uint8_t head[head_size];
    size_t used;
    bool in_payload, is_final;
    uint64_t missing;
    uint8_t *message;
    size_t message_length, message_capacity;
    // The number of messages that are still to be sent.
    long left;
} connection;

static const socket_job *job;
static connection *connections;
static CURLM **multis;
static int epoll_descriptor;
static long running;
static uint64_t received;
static uint8_t *payload, buffer[receive_size];

static void fail(const char *message) {
    fprintf(stderr, "sockets: %s\n", message);
    exit(1);
}

static uint32_t random_key(void) {
    static uint32_t keys[1024];
    static size_t next = sizeof keys;
    if (next == sizeof keys) {
        // At most 256 bytes are never interrupted.
        for (size_t i = 0; i < sizeof keys; i += 256) {
            if (getrandom((char *)keys + i, 256, 0) != 256) fail("no random bytes");
        }
        next = 0;
    }
    uint32_t key = keys[next / 4];
    keys[next / 4] = 0;
    next += 4;
    return key;
}

// Makes the frame of a message, masked.
static void put_frame(connection *c, uint8_t opcode, const uint8_t *bytes, size_t count) {
    size_t size = 2 + (count < 126 ? 0 : count <= 0xffff ? 2 : 8), needed = size + 4 + count;
    if (needed > c->out_capacity) {
        c->out = realloc(c->out, c->out_capacity = needed);
        if (c->out == NULL) fail("out of memory");
    }
    uint8_t *out = c->out;
    out[0] = 0x80 | opcode;
    out[1] = 0x80 | (count < 126 ? (uint8_t)count : count <= 0xffff ? 126 : 127);
    for (size_t i = 2; i < size; i++) out[i] = (uint8_t)(count >> (8 * (size - 1 - i)));
    uint32_t key = random_key();
    memcpy(out + size, &key, 4);
    uint64_t word = (uint64_t)key << 32 | key;
    out += size + 4;
    size_t i = 0;
    for (; i + 8 <= count; i += 8) {
        uint64_t eight;
        memcpy(&eight, bytes + i, 8);
        eight ^= word;
        memcpy(out + i, &eight, 8);
    }
    for (; i < count; i++) out[i] = bytes[i] ^ (uint8_t)(key >> 8 * (i & 3));
    c->out_start = 0;
    c->out_end = needed;
}

static void want(connection *c, bool room) {
    if (c->waits_for_room == room) return;
    struct epoll_event event = {.events = EPOLLIN | (room ? EPOLLOUT : 0), .data.ptr = c};
    epoll_ctl(epoll_descriptor, EPOLL_CTL_MOD, c->descriptor, &event);
    c->waits_for_room = room;
}

// Sends what there is; returns whether all of it was sent.
static bool flush(connection *c) {
    while (c->out_start < c->out_end) {
        size_t sent = 0;
        CURLcode code = curl_easy_send(c->easy, c->out + c->out_start, c->out_end - c->out_start, &sent);
        if (code == CURLE_AGAIN) {
            want(c, true);
            return false;
        }
        if (code != CURLE_OK) fail(curl_easy_strerror(code));
        c->out_start += sent;
    }
    want(c, false);
    return true;
}

static void send_next(connection *c) {
    if (job->workload == socket_send) {
        while (c->left > 0) {
            size_t count = c->left < piece_size ? (size_t)c->left : piece_size;
            put_frame(c, 2, payload, count);
            c->left -= (long)count;
            if (c->left == 0) break;
            if (!flush(c)) return;
        }
        if (c->left == 0 && flush(c)) {
            c->left = -1;
            put_frame(c, 1, (const uint8_t *)"length?", 7);
            flush(c);
        }
        return;
    }
    if (c->left == 0) {
        running--;
        return;
    }
    c->left--;
    put_frame(c, 2, payload, (size_t)job->length);
    flush(c);
}

static void message_ended(connection *c) {
    switch (job->workload) {
    case socket_echo:
    case socket_idle:
        if (c->message_length != (size_t)job->length) fail("a message has a wrong length");
        send_next(c);
        break;
    case socket_send:
        c->message[c->message_length] = 0;
        received = strtoull((char *)c->message, NULL, 10);
        running--;
        break;
    case socket_receive:
        received += c->message_length;
        if (received == (uint64_t)job->length) running--;
        break;
    }
    c->message_length = 0;
}

static size_t parse_head(connection *c) {
    if (c->used < 2) return 0;
    if (c->head[0] & 0x70 || c->head[1] & 0x80) fail("a wrong frame");
    unsigned length = c->head[1], extra = length < 126 ? 0 : length == 126 ? 2 : 8;
    if (c->used < 2 + extra) return 0;
    c->missing = extra == 0 ? length : 0;
    for (unsigned i = 0; i < extra; i++) c->missing = c->missing << 8 | c->head[2 + i];
    c->is_final = c->head[0] & 0x80;
    c->in_payload = true;
    return 2 + extra;
}

static void parse(connection *c, const uint8_t *bytes, size_t count) {
    while (count > 0 || c->in_payload) {
        if (!c->in_payload) {
            size_t before = c->used, added = count < 10 - before ? count : 10 - before;
            memcpy(c->head + before, bytes, added);
            c->used += added;
            size_t size = parse_head(c);
            if (size == 0) return;
            c->used = 0;
            bytes += size - before;
            count -= size - before;
        }
        size_t part = count < c->missing ? count : (size_t)c->missing;
        if (c->message_length + part + 1 > c->message_capacity) {
            c->message_capacity = c->message_length + (size_t)c->missing + 1;
            c->message = realloc(c->message, c->message_capacity);
            if (c->message == NULL) fail("out of memory");
        }
        memcpy(c->message + c->message_length, bytes, part);
        c->message_length += part;
        c->missing -= part;
        bytes += part;
        count -= part;
        if (c->missing > 0) return;
        c->in_payload = false;
        if (c->is_final) message_ended(c);
    }
}

static void receive(connection *c) {
    for (;;) {
        size_t count = 0;
        CURLcode code = curl_easy_recv(c->easy, buffer, sizeof buffer, &count);
        if (code == CURLE_AGAIN) return;
        if (code != CURLE_OK || count == 0) fail("the connection ended");
        parse(c, buffer, count);
    }
}

static void loop(void) {
    struct epoll_event events[256];
    while (running > 0) {
        int ready = epoll_wait(epoll_descriptor, events, 256, -1);
        for (int i = 0; i < ready; i++) {
            connection *c = events[i].data.ptr;
            if (events[i].events & EPOLLOUT && flush(c)) {
                if (job->workload == socket_send) send_next(c);
            }
            if (events[i].events & ~(uint32_t)EPOLLOUT) receive(c);
        }
    }
}

// Opens a socket and waits for the server's answer.
static void open_connection(long index, const char *url) {
    connection *c = &connections[index];
    CURLM **multi = &multis[index / job->shared];
    if (*multi == NULL) *multi = curl_multi_init();
    CURL *easy = c->easy = curl_easy_init();
    if (*multi == NULL || easy == NULL) fail("out of memory");
    curl_easy_setopt(easy, CURLOPT_URL, url);
    curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(easy, CURLOPT_PROXY, "");
    curl_easy_setopt(easy, CURLOPT_CONNECT_ONLY, 1L);
    curl_multi_add_handle(*multi, easy);
    CURLMsg *message;
    int running_handles, left;
    do {
        if (curl_multi_perform(*multi, &running_handles) != CURLM_OK) fail("libcurl failed");
        message = curl_multi_info_read(*multi, &left);
        if (message == NULL) curl_multi_poll(*multi, NULL, 0, 1000, NULL);
    } while (message == NULL);
    if (message->data.result != CURLE_OK) fail(curl_easy_strerror(message->data.result));
    curl_easy_getinfo(easy, CURLINFO_ACTIVESOCKET, &c->descriptor);
    const char *path = strchr(strstr(url, "//") + 2, '/');
    char request[512];
    size_t sent, size = (size_t)snprintf(request, sizeof request,
        "GET %s HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n", path);
    if (curl_easy_send(easy, request, size, &sent) != CURLE_OK || sent != size) fail("the request was not sent");
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = c}, ready;
    epoll_ctl(epoll_descriptor, EPOLL_CTL_ADD, c->descriptor, &event);
    size_t length = 0, count;
    do {
        epoll_wait(epoll_descriptor, &ready, 1, -1);
        // One byte at a time after the first bytes, because messages may follow.
        if (curl_easy_recv(easy, request + length, length == 0 ? 12 : 1, &count) == CURLE_OK) length += count;
    } while (length < 4 || (memcmp(request + length - 4, "\r\n\r\n", 4) != 0 && length < sizeof request));
    if (memcmp(request, "HTTP/1.1 101", 12) != 0) fail("the server refused");
}

// Sends `count` messages, or moves that many bytes, on the first `used` sockets.
static void exchange(long count, long used) {
    received = 0;
    running = used;
    for (long i = 0; i < used; i++) {
        connections[i].left = count / used + (i < count % used ? 1 : 0);
        if (job->workload != socket_receive) send_next(&connections[i]);
    }
    loop();
}

void run_sockets(const socket_job *given) {
    job = given;
    long sockets = job->sockets > job->used ? job->sockets : job->used;
    connections = calloc((size_t)sockets, sizeof *connections);
    multis = calloc((size_t)sockets, sizeof *multis);
    payload = calloc(1, job->workload == socket_echo ? (size_t)job->length + 1 : piece_size);
    if (connections == NULL || multis == NULL || payload == NULL) fail("out of memory");
    bench_raise_descriptor_limit();
    epoll_descriptor = epoll_create1(EPOLL_CLOEXEC);
    if (job->workload == socket_receive || job->workload == socket_send) {
        open_connection(0, job->url);
        bench_meter_start();
        exchange(job->length, 1);
        if (received != (uint64_t)job->length) fail("the length is wrong");
        return bench_meter_finish(1);
    }
    if (job->workload == socket_idle) {
        for (long i = 0; i < job->warmup; i++) open_connection(i, job->url);
        bench_meter_start();
        for (long i = job->warmup; i < sockets; i++) open_connection(i, job->url);
        return bench_meter_finish(sockets - job->warmup);
    }
    for (long i = 0; i < sockets; i++) open_connection(i, job->url);
    exchange(job->warmup, job->used);
    bench_meter_start();
    exchange(job->requests, job->used);
    bench_meter_finish(job->requests);
}
