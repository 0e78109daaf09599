// The parts of Linux that Glibc's module does not export to Swift.
#ifndef BLUEBONNET_CSYSTEM_H
#define BLUEBONNET_CSYSTEM_H

#include "LoadedLibraries.h"
#include <errno.h>
#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <locale.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
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
static const uint32_t bb_epoll_peer_closed = EPOLLRDHUP;
// No event of epoll's: those are below and above.
static const uint32_t bb_epoll_refused = 1u << 20;

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

// Waits for at most `nanoseconds` (negative: no limit); fills `ready`; returns how many, or -1.
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

// Whether bytes wait on a socket, or its peer has ended.
static inline int bb_socket_has_surplus(int socket) {
    char byte;
    return recv(socket, &byte, 1, MSG_PEEK | MSG_DONTWAIT) >= 0 || (errno != EAGAIN && errno != EWOULDBLOCK);
}

// Whether the peer has ended the connection, even if bytes before the end were not read.
static inline int bb_socket_has_ended(int socket) {
    // POLLRDHUP, which only files that define _GNU_SOURCE have, is the same number.
    struct pollfd entry = {.fd = socket, .events = EPOLLRDHUP};
    return poll(&entry, 1, 0) > 0;
}

// An address of a socket, of whatever family.
typedef union {
    struct sockaddr any;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
} bb_address;

static inline uint16_t bb_address_port(const bb_address *address) {
    switch (address->any.sa_family) {
    case AF_INET: return ntohs(address->v4.sin_port);
    case AF_INET6: return ntohs(address->v6.sin6_port);
    default: return 0;
    }
}

// The port of this end of a socket, or 0.
static inline int bb_local_port(int socket) {
    bb_address address;
    socklen_t length = sizeof address;
    return getsockname(socket, &address.any, &length) == 0 ? bb_address_port(&address) : 0;
}

// The ends of a TCP connection: two connections may share one port of this end.
typedef struct {
    uint16_t local_port;
    uint16_t remote_port;
    uint32_t is_v6;
    uint64_t address[2];
} bb_ends;

// Sets the address of the other end from its text; returns whether that is an address.
static inline int bb_ends_set_address(bb_ends *ends, const char *text) {
    struct in6_addr v6;
    struct in_addr v4;
    ends->address[0] = ends->address[1] = 0;
    ends->is_v6 = 0;
    if (text == NULL) return 0;
    if (inet_pton(AF_INET, text, &v4) == 1) {
        ends->address[0] = v4.s_addr;
        return 1;
    }
    if (inet_pton(AF_INET6, text, &v6) != 1) return 0;
    ends->is_v6 = 1;
    memcpy(ends->address, &v6, sizeof v6);
    return 1;
}

// Finds the ends of a socket's connection; returns whether it has any.
static inline int bb_socket_ends(int socket, bb_ends *ends) {
    bb_address remote;
    socklen_t length = sizeof remote;
    memset(ends, 0, sizeof *ends);
    ends->local_port = (uint16_t)bb_local_port(socket);
    if (ends->local_port == 0 || getpeername(socket, &remote.any, &length) != 0) return 0;
    ends->remote_port = bb_address_port(&remote);
    ends->is_v6 = remote.any.sa_family == AF_INET6;
    if (ends->is_v6) {
        memcpy(ends->address, &remote.v6.sin6_addr, sizeof remote.v6.sin6_addr);
    } else {
        ends->address[0] = remote.v4.sin_addr.s_addr;
    }
    return ends->is_v6 || remote.any.sa_family == AF_INET;
}

static inline int bb_errno(void) { return errno; }

// Takes the next connection of a listener, which neither blocks nor is handed to child processes; returns it, or -1. The C
// library declares accept4 for GNU programs only.
static inline int bb_accept(int listener) {
    return (int)syscall(SYS_accept4, listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
}

// Returns a Unix domain socket that listens under an abstract name of five characters, which the system chooses (unix(7));
// -1 if there is none.
static inline int bb_listen_locally(char name[6]) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    socklen_t length = sizeof address;
    int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (listener < 0) return -1;
    if (bind(listener, (struct sockaddr *)&address, sizeof address.sun_family) != 0 || listen(listener, 1) != 0 ||
        getsockname(listener, (struct sockaddr *)&address, &length) != 0) {
        close(listener);
        return -1;
    }
    memcpy(name, address.sun_path + 1, 5);
    name[5] = 0;
    return listener;
}

// Puts another socket in the place of a descriptor's; returns whether it could.
static inline int bb_replace_socket(int descriptor, int other) {
    // The C library declares dup3 for GNU programs only.
    return syscall(SYS_dup3, other, descriptor, O_CLOEXEC) == descriptor;
}

// Puts a socket whose peer is gone in the place of a descriptor's; returns whether it could. With `fails`, the socket has an
// error (SO_ERROR), as after a failed connect: the peer was gone before it read a byte.
static inline int bb_replace_by_dead_socket(int descriptor, int fails) {
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) != 0) return 0;
    int isReady = !fails || send(pair[0], "", 1, MSG_NOSIGNAL) == 1;
    close(pair[1]);
    int result = isReady && bb_replace_socket(descriptor, pair[0]);
    close(pair[0]);
    return result;
}

// Whether a socket is connected, and not still connecting or failed.
static inline int bb_socket_is_connected(int descriptor) {
    struct sockaddr_storage address;
    socklen_t length = sizeof address;
    return getpeername(descriptor, (struct sockaddr *)&address, &length) == 0;
}

// The number by which the system identifies a socket for its lifetime, or 0 if the descriptor is not a socket.
static inline uint64_t bb_socket_identity(int descriptor) {
    struct stat status;
    return fstat(descriptor, &status) == 0 && S_ISSOCK(status.st_mode) ? (uint64_t)status.st_ino : 0;
}

// How many bytes a TCP socket has received so far, or 0 where the kernel does not say. The C library's `tcp_info` ends
// before that field, `tcpi_bytes_received`, which is the fourth number of 64 bits behind 8 of 8 bits and 24 of 32 bits.
static inline uint64_t bb_socket_received(int socket) {
    enum { place = 8 + 24 * 4 + 3 * 8 };
    unsigned char info[256];
    socklen_t length = sizeof info;
    uint64_t count = 0;
    if (getsockopt(socket, IPPROTO_TCP, TCP_INFO, info, &length) != 0 || length < place + sizeof count) return 0;
    memcpy(&count, info + place, sizeof count);
    return count;
}

// How many bytes wait in a pipe or in a socket's receive buffer, or 0 where the kernel does not say.
static inline int bb_unread_bytes(int descriptor) {
    int unread = 0;
    return ioctl(descriptor, FIONREAD, &unread) == 0 && unread > 0 ? unread : 0;
}

// Whether one byte that was written to one descriptor waits at the other: the ends of a pipe or of a socket pair.
static inline bool bb_one_byte_waits(int reading, int writing) {
    int unsent = 0;
    if (bb_unread_bytes(reading) != 1) return false;
    return ioctl(writing, TIOCOUTQ, &unsent) == 0 ? unsent > 0 : bb_unread_bytes(writing) == 1;
}

// How many bytes of those this process has read, or 0 where the kernel does not say.
static inline uint64_t bb_socket_read(int socket) {
    uint64_t received = bb_socket_received(socket);
    uint64_t unread = (uint64_t)bb_unread_bytes(socket);
    return received > unread ? received - unread : 0;
}

// The clock of the calling thread's processor time, which other threads can read for as long as it lives.
static inline clockid_t bb_current_thread_clock(void) {
    clockid_t clock = -1;
    return pthread_getcpuclockid(pthread_self(), &clock) == 0 ? clock : -1;
}

// The time of such a clock in nanoseconds, or -1 when its thread is gone.
static inline int64_t bb_clock_time(clockid_t clock) {
    struct timespec time;
    if (clock_gettime(clock, &time) != 0) return -1;
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

static inline void bb_sleep(int64_t nanoseconds) {
    struct timespec time = {.tv_sec = nanoseconds / 1000000000, .tv_nsec = nanoseconds % 1000000000};
    nanosleep(&time, NULL);
}

// There is such a name, and it has no address; the C library declares this for GNU programs only.
static const int bb_eai_nodata = -5;

// The kernel's words for links and routes, which are macros and nameless enumerations.
static const uint16_t bb_nlmsg_error = NLMSG_ERROR;
static const uint16_t bb_nlmsg_done = NLMSG_DONE;
static const uint16_t bb_nlmsg_overrun = NLMSG_OVERRUN;
static const uint16_t bb_nlm_f_request = NLM_F_REQUEST;
static const uint16_t bb_rtm_new_link = RTM_NEWLINK;
static const uint16_t bb_rtm_get_link = RTM_GETLINK;
static const uint16_t bb_rtm_new_route = RTM_NEWROUTE;
static const uint16_t bb_rtm_get_route = RTM_GETROUTE;
static const uint16_t bb_rtm_first = RTM_BASE;
static const uint16_t bb_rtm_last = RTM_MAX;
static const uint16_t bb_rta_destination = RTA_DST;
static const uint16_t bb_rta_link = RTA_OIF;
static const uint16_t bb_rta_multipath = RTA_MULTIPATH;
static const uint16_t bb_rta_cache = RTA_CACHEINFO;
static const uint8_t bb_rtn_unicast = RTN_UNICAST;
static const uint8_t bb_rtn_local = RTN_LOCAL;
static const uint8_t bb_rtn_multicast = RTN_MULTICAST;
static const uint32_t bb_rtnh_dead = RTNH_F_DEAD;
static const uint32_t bb_rtnh_link_down = RTNH_F_LINKDOWN;
static const uint16_t bb_ifla_name = IFLA_IFNAME;
static const uint16_t bb_ifla_info = IFLA_LINKINFO;
static const uint16_t bb_ifla_info_kind = IFLA_INFO_KIND;
static const uint32_t bb_iff_up = IFF_UP;
static const uint32_t bb_iff_running = IFF_RUNNING;
static const uint32_t bb_iff_loopback = IFF_LOOPBACK;

// What changes the ways that packets take: links, addresses, routes, and the rules that choose among tables of routes.
#define BB_RTNL_GROUP(group) (UINT32_C(1) << ((group) - 1))
static const uint32_t bb_netlink_changes =
    BB_RTNL_GROUP(RTNLGRP_LINK) | BB_RTNL_GROUP(RTNLGRP_IPV4_IFADDR) | BB_RTNL_GROUP(RTNLGRP_IPV4_ROUTE) |
    BB_RTNL_GROUP(RTNLGRP_IPV4_RULE) | BB_RTNL_GROUP(RTNLGRP_IPV6_IFADDR) | BB_RTNL_GROUP(RTNLGRP_IPV6_ROUTE) |
    BB_RTNL_GROUP(RTNLGRP_IPV6_RULE);

// Opens a socket to the kernel's routing; returns it, or minus the error. With groups it receives changes and never
// blocks, without it is for questions, whose answers it waits for no longer than a second.
static inline int bb_netlink_open(uint32_t groups) {
    int descriptor = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | (groups ? SOCK_NONBLOCK : 0), NETLINK_ROUTE);
    if (descriptor < 0) return -errno;
    struct sockaddr_nl address = {.nl_family = AF_NETLINK, .nl_groups = groups};
    struct timeval patience = {.tv_sec = 1};
    if (setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience) != 0 ||
        bind(descriptor, (struct sockaddr *)&address, sizeof address) != 0) {
        int error = errno;
        close(descriptor);
        return -error;
    }
    return descriptor;
}

// Sends a datagram to the kernel; returns 0 or the error.
static inline int bb_netlink_send(int descriptor, const void *bytes, size_t count) {
    struct sockaddr_nl kernel = {.nl_family = AF_NETLINK};
    ssize_t sent;
    do {
        sent = sendto(descriptor, bytes, count, MSG_NOSIGNAL, (struct sockaddr *)&kernel, sizeof kernel);
    } while (sent < 0 && errno == EINTR);
    return sent == (ssize_t)count ? 0 : sent < 0 ? errno : EMSGSIZE;
}

// Receives a datagram; returns its length, which may be more than was room for, or minus the error. What did not come
// from the kernel is empty.
static inline ssize_t bb_netlink_receive(int descriptor, void *bytes, size_t capacity) {
    struct sockaddr_nl sender = {0};
    socklen_t length;
    ssize_t count;
    do {
        length = sizeof sender;
        count = recvfrom(descriptor, bytes, capacity, MSG_TRUNC, (struct sockaddr *)&sender, &length);
    } while (count < 0 && errno == EINTR);
    if (count < 0) return -errno;
    return length >= sizeof sender && sender.nl_family == AF_NETLINK && sender.nl_pid != 0 ? 0 : count;
}

// Sets the access time of a file to the current time.
static inline void bb_mark_accessed(int descriptor) {
    const struct timespec times[2] = {{.tv_nsec = UTIME_NOW}, {.tv_nsec = UTIME_OMIT}};
    futimens(descriptor, times);
}

// Reads what the system has in memory of a file, and never waits for a disk; returns how many bytes, or minus the
// error: EAGAIN where it would have to wait, EOPNOTSUPP where the file system cannot tell. By number, since Glibc
// declares preadv2 and RWF_NOWAIT only to files that define _GNU_SOURCE.
static inline ssize_t bb_read_resident(int descriptor, void *bytes, size_t capacity, off_t offset) {
    struct iovec memory = {.iov_base = bytes, .iov_len = capacity};
    const int no_wait = 0x8;
    long high = sizeof(long) < sizeof(int64_t) ? (long)((int64_t)offset >> 32) : 0;
    ssize_t count = syscall(SYS_preadv2, descriptor, &memory, 1L, (long)offset, high, no_wait);
    return count < 0 ? -errno : count;
}

#endif
