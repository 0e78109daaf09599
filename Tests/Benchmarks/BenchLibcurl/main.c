// The yardstick: what a C program gets from libcurl with `curl_multi_socket_action` and epoll.
//
// It does as little as a client can that still checks its answers. As many easy handles as requests in flight, set up
// once and used again without a reset or a further option; no callback for the head; bodies collected into a buffer
// that each handle keeps; epoll_ctl exactly when libcurl says so. The request fields, the receive buffer of 64 KiB,
// the number of connections kept, and the decoding of compressed bodies are those of Bluebonnet.
//
// Bodies in motion (`workload=`): counted as they come; written to a file with fwrite; read from a file with fread, or
// from memory in pieces of 64 KiB, through an upload buffer of 512 KiB; lines counted with memchr, and not decoded. With
// `keep=N`, what is counted is copied, too, into pieces of N bytes: the least that it takes to have it later.
#include <curl/curl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

#include "CBenchMeter.h"
#include "sockets.h"

// One request in flight: a handle and the body that it receives.
typedef struct {
    CURL *easy;
    const char *target;
    char *body;
    size_t length, capacity;
    // Of a body that is not collected: how much has come or has been sent, and where it goes to or comes from.
    long moved;
    FILE *file;
} transfer;

// The last ones are those of sockets.h, in the same order.
enum workload {
    whole_bodies, download_chunks, download_file, upload_file, upload_sequence, lines, sockets
};

static const char *const workload_names[] = {
    "requests", "download-chunks", "download-file", "upload-file", "upload-sequence", "lines",
    "websocket-echo", "websocket-send", "websocket-receive", "websocket-idle"};

static enum workload workload;
static const char *url, *warmup_url, *ca_file, *path, *warmup_path;
static long warmup_length;
static bool is_warming_up;
static long requests, concurrency, warmup, warmup_concurrency, expected_length;
static bool http2, http3, handshakes;
static size_t kept_length;
static long open_sockets, shared_sockets = 1;

static CURLM *multi;
static int epoll_descriptor;
static int64_t deadline = -1;  // In milliseconds of the monotonic clock; -1 when libcurl has no timer.
static transfer *transfers;
static struct curl_slist *fields;

static void fail(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fputc('\n', stderr);
    exit(1);
}

static int64_t now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (int64_t)time.tv_sec * 1000 + time.tv_nsec / 1000000;
}

static int on_socket(CURL *easy, curl_socket_t socket, int what, void *context, void *socket_context) {
    (void)easy, (void)context;
    struct epoll_event event = {.data.fd = socket};
    if (what == CURL_POLL_REMOVE) {
        epoll_ctl(epoll_descriptor, EPOLL_CTL_DEL, socket, NULL);
        curl_multi_assign(multi, socket, NULL);
        return 0;
    }
    if (what & CURL_POLL_IN) event.events |= EPOLLIN;
    if (what & CURL_POLL_OUT) event.events |= EPOLLOUT;
    epoll_ctl(epoll_descriptor, socket_context == NULL ? EPOLL_CTL_ADD : EPOLL_CTL_MOD, socket, &event);
    if (socket_context == NULL) curl_multi_assign(multi, socket, &epoll_descriptor);
    return 0;
}

static int on_timer(CURLM *source, long milliseconds, void *context) {
    (void)source, (void)context;
    deadline = milliseconds < 0 ? -1 : now() + milliseconds;
    return 0;
}

static size_t on_body(char *bytes, size_t size, size_t count, void *context) {
    transfer *transfer = context;
    size_t needed = transfer->length + size * count;
    if (needed > transfer->capacity) {
        transfer->capacity = needed < 2 * transfer->capacity ? 2 * transfer->capacity : needed;
        transfer->body = realloc(transfer->body, transfer->capacity);
        if (transfer->body == NULL) return 0;
    }
    memcpy(transfer->body + transfer->length, bytes, size * count);
    transfer->length = needed;
    return size * count;
}

// Keeps bytes for after the callback, as whoever hands chunks on has to: a copy, in memory that goes round.
static void keep(const char *bytes, size_t length) {
    static char *pieces[2];
    static size_t current, used;
    if (used + length > kept_length) {
        current = 1 - current;
        used = 0;
    }
    if (pieces[current] == NULL) pieces[current] = aligned_alloc(64, kept_length);
    if (pieces[current] == NULL || length > kept_length) fail("no memory for %zu bytes", length);
    memcpy(pieces[current] + used, bytes, length);
    used += length;
}

static size_t on_chunk(char *bytes, size_t size, size_t count, void *context) {
    transfer *transfer = context;
    transfer->moved += (long)(size * count);
    if (kept_length > 0) keep(bytes, size * count);
    if (workload == download_file) return fwrite(bytes, size, count, transfer->file);
    return size * count;
}

static size_t on_lines(char *bytes, size_t size, size_t count, void *context) {
    transfer *transfer = context;
    const char *end = bytes + size * count, *feed = bytes;
    while ((feed = memchr(feed, '\n', (size_t)(end - feed))) != NULL) {
        transfer->moved++;
        feed++;
    }
    return size * count;
}

static size_t on_read(char *bytes, size_t size, size_t count, void *context) {
    // Written once, or the compiler takes the bytes for zeros and fills the buffer without reading them.
    static char piece[64 * 1024];
    if (piece[0] == 0) memset(piece, 'a', sizeof piece);
    transfer *transfer = context;
    size_t length = size * count, left = (size_t)((is_warming_up ? warmup_length : expected_length) - transfer->moved);
    if (length > left) length = left;
    if (workload == upload_file) length = fread(bytes, 1, length, transfer->file);
    else
        for (size_t copied = 0; copied < length; copied += sizeof piece)
            memcpy(bytes + copied, piece, length - copied < sizeof piece ? length - copied : sizeof piece);
    transfer->moved += (long)length;
    return length;
}

// Makes a handle receive or send a body as the workload says.
static void prepare_body(transfer *transfer) {
    CURL *easy = transfer->easy;
    bool uploads = workload == upload_file || workload == upload_sequence;
    transfer->moved = 0;
    if (workload == download_file || workload == upload_file) {
        const char *name = is_warming_up ? warmup_path : path;
        transfer->file = fopen(name, uploads ? "r" : "w");
        if (transfer->file == NULL) fail("%s cannot be opened", name);
    }
    if (uploads) {
        curl_easy_setopt(easy, CURLOPT_UPLOAD, 1L);
        curl_easy_setopt(easy, CURLOPT_UPLOAD_BUFFERSIZE, 524288L);
        curl_easy_setopt(easy, CURLOPT_READFUNCTION, on_read);
        curl_easy_setopt(easy, CURLOPT_READDATA, transfer);
        curl_easy_setopt(easy, CURLOPT_INFILESIZE_LARGE, (curl_off_t)(is_warming_up ? warmup_length : expected_length));
    } else {
        curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, workload == lines ? on_lines : on_chunk);
    }
}

static void start(transfer *transfer, const char *target) {
    if (transfer->easy == NULL) {
        CURL *easy = transfer->easy = curl_easy_init();
        curl_easy_setopt(easy, CURLOPT_PRIVATE, transfer);
        curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, on_body);
        curl_easy_setopt(easy, CURLOPT_WRITEDATA, transfer);
        curl_easy_setopt(easy, CURLOPT_BUFFERSIZE, 65536L);
        curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
        curl_easy_setopt(easy, CURLOPT_PROXY, "");
        curl_easy_setopt(easy, CURLOPT_HTTPHEADER, fields);
        curl_easy_setopt(easy, CURLOPT_ACCEPT_ENCODING, "br, gzip, deflate");
        curl_easy_setopt(easy, CURLOPT_HTTP_VERSION,
            http3 ? 31L : http2 ? CURL_HTTP_VERSION_2TLS : CURL_HTTP_VERSION_1_1); // CURL_HTTP_VERSION_3ONLY, since 7.88.0
        curl_easy_setopt(easy, CURLOPT_PIPEWAIT, http2 || http3 ? 1L : 0L);
        if (ca_file != NULL) curl_easy_setopt(easy, CURLOPT_CAINFO, ca_file);
        if (handshakes) {
            // Without the directory, libcurl keeps the authorities that it has read, rather than reading them each time.
            curl_easy_setopt(easy, CURLOPT_CAPATH, NULL);
            curl_easy_setopt(easy, CURLOPT_SSL_SESSIONID_CACHE, 0L);
        }
    }
    if (transfer->target != target) curl_easy_setopt(transfer->easy, CURLOPT_URL, transfer->target = target);
    transfer->length = 0;
    if (workload != whole_bodies) prepare_body(transfer);
    curl_multi_add_handle(multi, transfer->easy);
}

static void check(transfer *transfer, CURLcode result) {
    long status = 0;
    if (result != CURLE_OK) fail("a request failed: %s", curl_easy_strerror(result));
    curl_easy_getinfo(transfer->easy, CURLINFO_RESPONSE_CODE, &status);
    if (status != 200) fail("the status was %ld instead of 200", status);
    if (transfer->file != NULL && fclose(transfer->file) != 0) fail("the file could not be closed");
    transfer->file = NULL;
    if ((workload == upload_file || workload == upload_sequence) && transfer->body != NULL) {
        // The sink answers with what it has received.
        transfer->moved = strtol(transfer->body, NULL, 10);
    }
    long length = workload == whole_bodies ? (long)transfer->length : transfer->moved;
    long right = workload != whole_bodies && is_warming_up ? warmup_length : expected_length;
    if (length != right) fail("the body had %ld bytes or lines instead of %ld", length, right);
}

static void act(curl_socket_t socket, int events) {
    int running;
    curl_multi_socket_action(multi, socket, events, &running);
}

// Sends `count` requests, `width` of them in flight.
static void run(const char *target, long count, long width) {
    struct epoll_event events[256];
    long started = 0, finished = 0;
    while (started < count && started < width) start(&transfers[started++], target);
    while (finished < count) {
        int timeout = -1;
        if (deadline >= 0) {
            int64_t left = deadline - now();
            timeout = left < 0 ? 0 : (int)left;
        }
        int ready = epoll_wait(epoll_descriptor, events, 256, timeout);
        for (int i = 0; i < ready; i++) {
            int mask = (events[i].events & EPOLLIN ? CURL_CSELECT_IN : 0)
                | (events[i].events & EPOLLOUT ? CURL_CSELECT_OUT : 0)
                | (events[i].events & (EPOLLERR | EPOLLHUP) ? CURL_CSELECT_ERR : 0);
            act(events[i].data.fd, mask);
        }
        if (deadline >= 0 && deadline <= now()) {
            deadline = -1;
            act(CURL_SOCKET_TIMEOUT, 0);
        }
        CURLMsg *message;
        int left;
        while ((message = curl_multi_info_read(multi, &left)) != NULL) {
            if (message->msg != CURLMSG_DONE) continue;
            transfer *transfer;
            curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &transfer);
            check(transfer, message->data.result);
            curl_multi_remove_handle(multi, transfer->easy);
            finished++;
            if (started < count) {
                started++;
                start(transfer, target);
            }
        }
    }
}

static enum workload workload_named(const char *name) {
    for (size_t i = 0; i < sizeof workload_names / sizeof *workload_names; i++) {
        if (strcmp(name, workload_names[i]) == 0) return (enum workload)i;
    }
    fail("unknown workload %s", name);
    return whole_bodies;
}

// Reads `name=value` arguments; the harness writes the same ones for every client.
static void parse(int count, char **arguments) {
    for (int i = 1; i < count; i++) {
        char *value = strchr(arguments[i], '=');
        if (value == NULL) fail("not name=value: %s", arguments[i]);
        *value++ = '\0';
        const char *name = arguments[i];
        if (strcmp(name, "url") == 0) url = value;
        else if (strcmp(name, "warmup-url") == 0) warmup_url = value;
        else if (strcmp(name, "ca-file") == 0) ca_file = value;
        else if (strcmp(name, "requests") == 0) requests = atol(value);
        else if (strcmp(name, "concurrency") == 0) concurrency = atol(value);
        else if (strcmp(name, "warmup") == 0) warmup = atol(value);
        else if (strcmp(name, "warmup-concurrency") == 0) warmup_concurrency = atol(value);
        else if (strcmp(name, "length") == 0) expected_length = atol(value);
        else if (strcmp(name, "handshakes") == 0) handshakes = atol(value) != 0;
        else if (strcmp(name, "keep") == 0) kept_length = (size_t)atol(value);
        else if (strcmp(name, "sockets") == 0) open_sockets = atol(value);
        else if (strcmp(name, "shared") == 0) shared_sockets = atol(value);
        else if (strcmp(name, "http2") == 0) http2 = atol(value) != 0;
        else if (strcmp(name, "http3") == 0) http3 = atol(value) != 0;
        else if (strcmp(name, "warmup-length") == 0) warmup_length = atol(value);
        else if (strcmp(name, "file") == 0) path = value;
        else if (strcmp(name, "warmup-file") == 0) warmup_path = value;
        else if (strcmp(name, "workload") == 0) workload = workload_named(value);
    }
    if (url == NULL || warmup_url == NULL || requests < 1 || concurrency < 1) fail("url, warmup-url, requests, concurrency?");
}

int main(int count, char **arguments) {
    parse(count, arguments);
    curl_global_init(CURL_GLOBAL_DEFAULT);
    if (workload >= sockets) {
        socket_job job = {(enum socket_workload)(workload - sockets), url, requests, warmup, expected_length,
            open_sockets, concurrency, shared_sockets};
        run_sockets(&job);
        return 0;
    }
    fields = curl_slist_append(fields, "User-Agent: BenchLibcurl/1.0 (Linux)");
    fields = curl_slist_append(fields, "Accept-Language: en;q=1.0");
    if (handshakes) fields = curl_slist_append(fields, "Connection: close");
    epoll_descriptor = epoll_create1(EPOLL_CLOEXEC);
    multi = curl_multi_init();
    curl_multi_setopt(multi, CURLMOPT_SOCKETFUNCTION, on_socket);
    curl_multi_setopt(multi, CURLMOPT_TIMERFUNCTION, on_timer);
    curl_multi_setopt(multi, CURLMOPT_MAXCONNECTS, 1024L);
    if (http2 || http3) curl_multi_setopt(multi, CURLMOPT_MAX_HOST_CONNECTIONS, 1L);
    transfers = calloc((size_t)concurrency, sizeof *transfers);
    if (transfers == NULL) fail("out of memory");

    is_warming_up = true;
    run(warmup_url, warmup, warmup_concurrency);
    is_warming_up = false;
    bench_meter_start();
    run(url, requests, concurrency);
    bench_meter_finish(requests);
}
