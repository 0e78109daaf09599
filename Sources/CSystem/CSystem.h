// The parts of Linux that Glibc's module does not export to Swift.
#ifndef BLUEBONNET_CSYSTEM_H
#define BLUEBONNET_CSYSTEM_H

#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

// A file descriptor with its readiness, without the union of epoll_event.
typedef struct {
    int32_t descriptor;
    uint32_t events;
} bb_epoll_ready;

static const uint32_t bb_epoll_in = EPOLLIN;
static const uint32_t bb_epoll_out = EPOLLOUT;
static const uint32_t bb_epoll_error = EPOLLERR;
static const uint32_t bb_epoll_hangup = EPOLLHUP;

static inline int bb_epoll_create(void) { return epoll_create1(EPOLL_CLOEXEC); }

static inline int bb_epoll_add(int epoll, int descriptor, uint32_t events) {
    struct epoll_event event = {.events = events, .data = {.fd = descriptor}};
    return epoll_ctl(epoll, EPOLL_CTL_ADD, descriptor, &event) == 0 ? 0 : errno;
}

static inline int bb_epoll_modify(int epoll, int descriptor, uint32_t events) {
    struct epoll_event event = {.events = events, .data = {.fd = descriptor}};
    return epoll_ctl(epoll, EPOLL_CTL_MOD, descriptor, &event) == 0 ? 0 : errno;
}

static inline int bb_epoll_delete(int epoll, int descriptor) {
    return epoll_ctl(epoll, EPOLL_CTL_DEL, descriptor, NULL) == 0 ? 0 : errno;
}

// Waits for at most `nanoseconds` (negative: for ever); fills `ready`; returns how many, or -1.
static inline int bb_epoll_wait(int epoll, bb_epoll_ready *ready, int capacity, int64_t nanoseconds) {
    struct epoll_event events[256];
    if (capacity > 256) capacity = 256;
    int timeout = -1;
    if (nanoseconds >= 0) {
        int64_t milliseconds = nanoseconds / 1000000 + (nanoseconds % 1000000 != 0);
        timeout = milliseconds > INT32_MAX ? INT32_MAX : (int)milliseconds;
    }
    int count = epoll_wait(epoll, events, capacity, timeout);
    for (int i = 0; i < count; i++) {
        ready[i].descriptor = events[i].data.fd;
        ready[i].events = events[i].events;
    }
    return count;
}

static inline int bb_eventfd_create(void) { return eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK); }

static inline void bb_eventfd_signal(int descriptor) {
    uint64_t one = 1;
    ssize_t ignored = write(descriptor, &one, sizeof one);
    (void)ignored;
}

static inline void bb_eventfd_clear(int descriptor) {
    uint64_t value;
    ssize_t ignored = read(descriptor, &value, sizeof value);
    (void)ignored;
}

// Nanoseconds of the monotonic clock.
static inline int64_t bb_monotonic_now(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

// Names the calling thread for debuggers; 15 bytes are shown.
static inline void bb_name_current_thread(const char *name) {
    char text[16];
    strncpy(text, name, sizeof text - 1);
    text[sizeof text - 1] = 0;
    prctl(PR_SET_NAME, text);
}

// A locale in which text is UTF-8, or NULL.
static inline void *bb_make_utf8_locale(void) { return newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0); }

// Makes a locale that of the calling thread alone; returns the one that it had, or NULL when there is nothing to do.
static inline void *bb_use_locale(void *locale) { return locale == NULL ? NULL : uselocale((locale_t)locale); }

// Gives a file another name if that is free. The C library declares this for GNU programs only.
static inline int bb_rename_without_replacing(const char *source, const char *target) {
    unsigned int without_replacing = 1;
    return syscall(SYS_renameat2, AT_FDCWD, source, AT_FDCWD, target, without_replacing) == 0 ? 0 : errno;
}

// The port of this end of a socket, or 0.
static inline int bb_local_port(int socket) {
    union {
        struct sockaddr any;
        struct sockaddr_in v4;
        struct sockaddr_in6 v6;
    } address;
    socklen_t length = sizeof address;
    if (getsockname(socket, &address.any, &length) != 0) return 0;
    switch (address.any.sa_family) {
    case AF_INET: return ntohs(address.v4.sin_port);
    case AF_INET6: return ntohs(address.v6.sin6_port);
    default: return 0;
    }
}

static inline int bb_errno(void) { return errno; }

#endif
