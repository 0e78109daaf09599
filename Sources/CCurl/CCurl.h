// libcurl, with typed wrappers for its variadic functions, which Swift cannot call.
#ifndef BLUEBONNET_CCURL_H
#define BLUEBONNET_CCURL_H

#include <curl/curl.h>
#include <stdbool.h>
#include <stddef.h>

static inline CURLcode bb_curl_set_long(CURL *easy, CURLoption option, long value) {
    return curl_easy_setopt(easy, option, value);
}

static inline CURLcode bb_curl_set_offset(CURL *easy, CURLoption option, curl_off_t value) {
    return curl_easy_setopt(easy, option, value);
}

static inline CURLcode bb_curl_set_string(CURL *easy, CURLoption option, const char *value) {
    return curl_easy_setopt(easy, option, value);
}

// Allows HTTP only, or files only. Libcurl before 7.85.0 knows protocols by their bits, and not by their names.
static const CURLoption bb_curlopt_protocols = (CURLoption)(CURLOPTTYPE_LONG + 181);
static inline CURLcode bb_curl_allow(CURL *easy, bool files) {
    CURLoption names = (CURLoption)(CURLOPTTYPE_STRINGPOINT + 318);
    CURLcode code = curl_easy_setopt(easy, names, files ? "file" : "http,https");
    if (code != CURLE_UNKNOWN_OPTION) return code;
    long bits = files ? (long)CURLPROTO_FILE : (long)(CURLPROTO_HTTP | CURLPROTO_HTTPS);
    return curl_easy_setopt(easy, bb_curlopt_protocols, bits);
}

static inline CURLcode bb_curl_set_pointer(CURL *easy, CURLoption option, void *value) {
    return curl_easy_setopt(easy, option, value);
}

static inline CURLcode bb_curl_set_blob(CURL *easy, CURLoption option, const void *bytes, size_t count) {
    struct curl_blob blob = {(void *)bytes, count, CURL_BLOB_COPY};
    return curl_easy_setopt(easy, option, &blob);
}

static inline CURLSHcode bb_curl_share_sessions(CURLSH *share) {
    return curl_share_setopt(share, CURLSHOPT_SHARE, CURL_LOCK_DATA_SSL_SESSION);
}

static inline const curl_version_info_data *bb_curl_version(void) { return curl_version_info(CURLVERSION_NOW); }

// Defines the setter of one of a handle's callbacks, by libcurl's name for it, and of the context that it gets.
#define BB_CURL_CALLBACK(name, function, data, type)                                                          \
    static inline CURLcode bb_curl_set_##name##_callback(CURL *easy, type callback, void *context) {          \
        CURLcode code = curl_easy_setopt(easy, function, callback);                                           \
        return code == CURLE_OK ? curl_easy_setopt(easy, data, context) : code;                               \
    }

BB_CURL_CALLBACK(header, CURLOPT_HEADERFUNCTION, CURLOPT_HEADERDATA, curl_write_callback)
BB_CURL_CALLBACK(write, CURLOPT_WRITEFUNCTION, CURLOPT_WRITEDATA, curl_write_callback)
BB_CURL_CALLBACK(read, CURLOPT_READFUNCTION, CURLOPT_READDATA, curl_read_callback)
BB_CURL_CALLBACK(seek, CURLOPT_SEEKFUNCTION, CURLOPT_SEEKDATA, curl_seek_callback)
BB_CURL_CALLBACK(prereq, CURLOPT_PREREQFUNCTION, CURLOPT_PREREQDATA, curl_prereq_callback)
BB_CURL_CALLBACK(opensocket, CURLOPT_OPENSOCKETFUNCTION, CURLOPT_OPENSOCKETDATA, curl_opensocket_callback)
BB_CURL_CALLBACK(closesocket, CURLOPT_CLOSESOCKETFUNCTION, CURLOPT_CLOSESOCKETDATA, curl_closesocket_callback)
BB_CURL_CALLBACK(resolver_start, CURLOPT_RESOLVER_START_FUNCTION, CURLOPT_RESOLVER_START_DATA,
                 curl_resolver_start_callback)
BB_CURL_CALLBACK(sockopt, CURLOPT_SOCKOPTFUNCTION, CURLOPT_SOCKOPTDATA, curl_sockopt_callback)
// Called with the SSL_CTX of each connection that is made.
BB_CURL_CALLBACK(ssl_ctx, CURLOPT_SSL_CTX_FUNCTION, CURLOPT_SSL_CTX_DATA, curl_ssl_ctx_callback)

BB_CURL_CALLBACK(debug, CURLOPT_DEBUGFUNCTION, CURLOPT_DEBUGDATA, curl_debug_callback)

// Selects what libcurl traces of handles with CURLOPT_VERBOSE: from 8.3.0 on; without it, the symbol is NULL.
extern CURLcode curl_global_trace(const char *config) __attribute__((weak));
static inline CURLcode bb_curl_global_trace(const char *config) {
    return curl_global_trace == NULL ? CURLE_NOT_BUILT_IN : curl_global_trace(config);
}

// The SSL of the connection that a transfer uses, or NULL.
static inline void *bb_curl_get_ssl(CURL *easy) {
    struct curl_tlssessioninfo *session = NULL;
    if (curl_easy_getinfo(easy, CURLINFO_TLS_SSL_PTR, &session) != CURLE_OK || session == NULL) return NULL;
    return session->backend == CURLSSLBACKEND_OPENSSL ? session->internals : NULL;
}

static inline long bb_curl_get_long(CURL *easy, CURLINFO info) {
    long value = 0;
    return curl_easy_getinfo(easy, info, &value) == CURLE_OK ? value : 0;
}

static inline curl_socket_t bb_curl_get_active_socket(CURL *easy) {
    curl_socket_t socket = CURL_SOCKET_BAD;
    return curl_easy_getinfo(easy, CURLINFO_ACTIVESOCKET, &socket) == CURLE_OK ? socket : CURL_SOCKET_BAD;
}

static inline curl_off_t bb_curl_get_offset(CURL *easy, CURLINFO info) {
    curl_off_t value = 0;
    return curl_easy_getinfo(easy, info, &value) == CURLE_OK ? value : 0;
}

static inline const char *bb_curl_get_string(CURL *easy, CURLINFO info) {
    char *value = NULL;
    return curl_easy_getinfo(easy, info, &value) == CURLE_OK ? value : NULL;
}

static inline void *bb_curl_get_private(CURL *easy) {
    char *value = NULL;
    return curl_easy_getinfo(easy, CURLINFO_PRIVATE, &value) == CURLE_OK ? value : NULL;
}

static inline CURLMcode bb_curl_multi_set_long(CURLM *multi, CURLMoption option, long value) {
    return curl_multi_setopt(multi, option, value);
}

// Has the multi handle end without waiting for name lookups, where libcurl can: from 8.20.0 on, whose header may not be here.
static inline CURLMcode bb_curl_multi_set_quick_exit(CURLM *multi) {
    return curl_multi_setopt(multi, (CURLMoption)(CURLOPTTYPE_LONG + 21), 1L);
}

static inline CURLMcode bb_curl_multi_set_callbacks(
    CURLM *multi, curl_socket_callback socket, curl_multi_timer_callback timer, void *context) {
    CURLMcode code = curl_multi_setopt(multi, CURLMOPT_SOCKETFUNCTION, socket);
    if (code == CURLM_OK) code = curl_multi_setopt(multi, CURLMOPT_SOCKETDATA, context);
    if (code == CURLM_OK) code = curl_multi_setopt(multi, CURLMOPT_TIMERFUNCTION, timer);
    if (code == CURLM_OK) code = curl_multi_setopt(multi, CURLMOPT_TIMERDATA, context);
    return code;
}

// The next finished transfer: its easy handle and result, or NULL when there is none.
static inline CURL *bb_curl_multi_next_finished(CURLM *multi, CURLcode *result) {
    int left = 0;
    CURLMsg *message;
    while ((message = curl_multi_info_read(multi, &left)) != NULL) {
        if (message->msg == CURLMSG_DONE) {
            *result = message->data.result;
            return message->easy_handle;
        }
    }
    return NULL;
}

// Macros with casts or unsigned values that the importer leaves out.
static const curl_socket_t bb_curl_socket_timeout = CURL_SOCKET_TIMEOUT;
static const size_t bb_curl_writefunc_pause = CURL_WRITEFUNC_PAUSE;
static const size_t bb_curl_readfunc_pause = CURL_READFUNC_PAUSE;
static const size_t bb_curl_readfunc_abort = CURL_READFUNC_ABORT;
static const long bb_curl_global_default = CURL_GLOBAL_DEFAULT;
static const long bb_curl_auth_basic = (long)CURLAUTH_BASIC;
static const long bb_curl_auth_digest = (long)CURLAUTH_DIGEST;
static const long bb_curl_auth_ntlm = (long)CURLAUTH_NTLM;
static const long bb_curl_auth_negotiate = (long)CURLAUTH_NEGOTIATE;
static const long bb_curl_auth_only = (long)CURLAUTH_ONLY;
// What the oldest headers lack, by its number: from 7.84.0, 7.87.0, 7.88.0 and 7.88.0 on.
static const CURLcode bb_curle_unrecoverable_poll = (CURLcode)99;
static const CURLoption bb_curlopt_quick_exit = (CURLoption)(CURLOPTTYPE_LONG + 322);
static const long bb_curl_http_version_3only = 31;
static const CURLMoption bb_curlmopt_network_changed = (CURLMoption)(CURLOPTTYPE_LONG + 17);
// CURLMNWC_CLEAR_CONNS and CURLMNWC_CLEAR_DNS, which were both bit 0 before 8.20.0.
static const long bb_curlmnwc_clear = 1 << 0 | 1 << 1 | 1 << 2;
static const unsigned int bb_curlu_punycode = 1 << 12;
static const int bb_curl_pause_all = CURLPAUSE_ALL;
static const int bb_curl_pause_recv = CURLPAUSE_RECV;
static const int bb_curl_pause_send = CURLPAUSE_SEND;

#endif
