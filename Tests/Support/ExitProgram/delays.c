// Delays what threads do with OpenSSL, and the end of each thread, by up to 3 ms: preloaded by Tests/exits.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

static pthread_key_t key;
static unsigned seed;
static __thread unsigned state;

static void delay(unsigned often) {
    if (state == 0) state = seed ^ (unsigned)(size_t)&state;
    if ((unsigned)rand_r(&state) % often == 0) usleep((unsigned)rand_r(&state) % 3000);
}

static void ends(void *value) {
    (void)value;
    delay(1);
}

// Made before OpenSSL's own key, so that the delay comes before what OpenSSL does when a thread ends.
__attribute__((constructor)) static void begin(void) {
    const char *text = getenv("DELAY_SEED");
    seed = text == NULL ? 1 : (unsigned)strtoul(text, NULL, 10);
    pthread_key_create(&key, ends);
}

struct start {
    void *(*function)(void *);
    void *argument;
};

static void *run(void *context) {
    struct start start = *(struct start *)context;
    free(context);
    pthread_setspecific(key, &key);
    return start.function(start.argument);
}

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*function)(void *), void *argument) {
    int (*real)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *) = dlsym(RTLD_NEXT, "pthread_create");
    struct start *start = malloc(sizeof *start);
    if (start == NULL) return 11;
    *start = (struct start){function, argument};
    return real(thread, attributes, run, start);
}

#define DELAYED(result, name, parameters, arguments)                                                                  \
    result name parameters {                                                                                           \
        static result(*real) parameters;                                                                               \
        if (real == NULL) real = dlsym(RTLD_NEXT, #name);                                                              \
        delay(4);                                                                                                      \
        result answer = real arguments;                                                                                \
        delay(4);                                                                                                      \
        return answer;                                                                                                 \
    }

DELAYED(void *, SSL_new, (void *context), (context))
DELAYED(int, SSL_connect, (void *ssl), (ssl))
DELAYED(int, SSL_read, (void *ssl, void *bytes, int count), (ssl, bytes, count))
DELAYED(int, SSL_write, (void *ssl, const void *bytes, int count), (ssl, bytes, count))
DELAYED(int, SSL_shutdown, (void *ssl), (ssl))
DELAYED(int, curl_multi_socket_action, (void *multi, int socket, int events, int *running), (multi, socket, events, running))
