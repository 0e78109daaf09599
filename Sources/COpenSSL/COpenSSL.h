// OpenSSL: what the transport and the trust evaluators need of it.
#ifndef BLUEBONNET_COPENSSL_H
#define BLUEBONNET_COPENSSL_H

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/ocsp.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <openssl/x509_vfy.h>
#include <openssl/x509v3.h>

// OpenSSL's stacks and many of its functions are macros, which Swift cannot see.

static inline int bb_x509_stack_count(const STACK_OF(X509) *stack) { return stack == NULL ? 0 : sk_X509_num(stack); }

static inline X509 *bb_x509_stack_at(const STACK_OF(X509) *stack, int index) { return sk_X509_value(stack, index); }

static inline STACK_OF(X509) *bb_x509_stack_new(void) { return sk_X509_new_null(); }

// Keeps the certificate for as long as the stack lives.
static inline int bb_x509_stack_push(STACK_OF(X509) *stack, X509 *certificate) {
    if (X509_up_ref(certificate) != 1) return 0;
    if (sk_X509_push(stack, certificate) > 0) return 1;
    X509_free(certificate);
    return 0;
}

static inline void bb_x509_stack_free(STACK_OF(X509) *stack) { sk_X509_pop_free(stack, X509_free); }

// How names are written: as RFC 2253 says, but in UTF-8.
static const unsigned long bb_x509_name_flags = XN_FLAG_RFC2253 & ~ASN1_STRFLGS_ESC_MSB;

typedef int (*bb_ssl_verify_callback)(X509_STORE_CTX *context, void *argument);
typedef int (*bb_ssl_status_callback)(SSL *ssl, void *argument);
typedef void (*bb_ssl_free_callback)(void *argument);

// Called by OpenSSL when what was kept with a context is freed; the argument of the index is the function to call.
static inline void bb_ssl_context_freed(
    void *parent, void *value, CRYPTO_EX_DATA *data, int index, long number, void *function) {
    (void)parent, (void)data, (void)index, (void)number;
    if (value != NULL) ((bb_ssl_free_callback)function)(value);
}

// Reserves a place in each SSL_CTX for something that `free` is called with when the context goes.
static inline int bb_ssl_context_index(bb_ssl_free_callback free) {
    return CRYPTO_get_ex_new_index(CRYPTO_EX_INDEX_SSL_CTX, 0, (void *)free, NULL, NULL, bb_ssl_context_freed);
}

// Has two functions check the certificate: the first before, the second after a stapled response has arrived or is
// known to be missing.
static inline int bb_ssl_context_verify(
    SSL_CTX *context, int index, void *argument, bb_ssl_verify_callback verify, bb_ssl_status_callback status) {
    if (SSL_CTX_set_ex_data(context, index, argument) != 1) return 0;
    SSL_CTX_set_cert_verify_callback(context, verify, argument);
    SSL_CTX_set_verify(context, SSL_VERIFY_PEER, NULL);
    return SSL_CTX_set_tlsext_status_type(context, TLSEXT_STATUSTYPE_ocsp) != 0
        && SSL_CTX_set_tlsext_status_cb(context, status) != 0 && SSL_CTX_set_tlsext_status_arg(context, argument) != 0;
}

// Verifies the chain as OpenSSL does, and leaves only the verdict; see the workaround HiddenVerdicts.
static inline int bb_ssl_verify_chain(X509_STORE_CTX *context, void *argument) {
    (void)argument;
    int result = X509_verify_cert(context);
    if (result <= 0) ERR_clear_error();
    return result;
}

static inline void bb_ssl_context_verify_plainly(SSL_CTX *context) {
    SSL_CTX_set_cert_verify_callback(context, bb_ssl_verify_chain, NULL);
}

// Has peers verified by a store, and the chain of the own certificate completed from it.
//
// Libcurl fills the store of the context itself, and shares it between connections, after it has shown the context.
static inline int bb_ssl_context_use_store(SSL_CTX *context, X509_STORE *store) {
    return SSL_CTX_set1_verify_cert_store(context, store) == 1 && SSL_CTX_set1_chain_cert_store(context, store) == 1;
}

static inline int bb_ssl_is_multiplexed(SSL *ssl) {
    const unsigned char *name = NULL;
    unsigned int length = 0;
    SSL_get0_alpn_selected(ssl, &name, &length);
    return length == 2 && name[0] == 'h' && (name[1] == '2' || name[1] == '3');
}

// Whether the peer has sent bytes on a connection where none may be, or has closed it. Tickets and new keys are taken in.
//
// `is_readable` says that the socket may have bytes. OpenSSL reads from the socket here, not from the BIO that libcurl
// has given it: that works only within libcurl's own calls. For the same reason libcurl is not given tickets. Without a
// socket (-1), what OpenSSL has read ahead counts as surplus.
static inline int bb_ssl_has_surplus(SSL *ssl, int socket, int is_readable) {
    if (SSL_pending(ssl) > 0) return 1;
    // Libcurl 8.23 has OpenSSL read ahead: a record may be here, and the socket have nothing.
    if (!is_readable && !SSL_has_pending(ssl)) return 0;
    if (socket < 0) return 1;
    SSL_CTX *context = SSL_get_SSL_CTX(ssl);
    int (*new_session)(SSL *, SSL_SESSION *) = SSL_CTX_sess_get_new_cb(context);
    BIO *reader = SSL_get_rbio(ssl), *writer = SSL_get_wbio(ssl), *own = BIO_new_socket(socket, BIO_NOCLOSE);
    if (own == NULL || reader == NULL || writer == NULL) {
        BIO_free(own);
        return 1;
    }
    BIO_up_ref(reader);
    BIO_up_ref(writer);
    BIO_up_ref(own);
    SSL_set0_rbio(ssl, own);
    SSL_set0_wbio(ssl, own);
    SSL_CTX_sess_set_new_cb(context, NULL);
    ERR_clear_error();
    char byte;
    int count = SSL_peek(ssl, &byte, 1);
    int error = SSL_get_error(ssl, count);
    SSL_CTX_sess_set_new_cb(context, new_session);
    SSL_set0_rbio(ssl, reader);
    SSL_set0_wbio(ssl, writer);
    ERR_clear_error();
    return count > 0 || error != SSL_ERROR_WANT_READ;
}

// What was kept with the context of a connection.
static inline void *bb_ssl_context_argument(SSL *ssl, int index) {
    SSL_CTX *context = ssl == NULL ? NULL : SSL_get_SSL_CTX(ssl);
    return context == NULL ? NULL : SSL_CTX_get_ex_data(context, index);
}

static inline long bb_ssl_staple(SSL *ssl, const unsigned char **bytes) {
    return SSL_get_tlsext_status_ocsp_resp(ssl, bytes);
}

static inline int bb_general_name_count(const GENERAL_NAMES *names) {
    return names == NULL ? 0 : sk_GENERAL_NAME_num(names);
}

static inline const GENERAL_NAME *bb_general_name_at(const GENERAL_NAMES *names, int index) {
    return sk_GENERAL_NAME_value(names, index);
}

// The bytes of a DNS name or of an IP address, or NULL for another kind of name.
static inline const ASN1_STRING *bb_general_name_host(const GENERAL_NAME *name) {
    return name->type == GEN_DNS ? name->d.dNSName : name->type == GEN_IPADD ? name->d.iPAddress : NULL;
}

// The URL of an OCSP responder that a certificate names (RFC 5280 §4.2.2.1), by its place among them, to be freed with
// bb_free; NULL behind the last.
static inline char *bb_x509_responder(X509 *certificate, int index) {
    STACK_OF(OPENSSL_STRING) *urls = X509_get1_ocsp(certificate);
    char *url = NULL;
    if (urls != NULL && index < sk_OPENSSL_STRING_num(urls)) {
        url = OPENSSL_strdup(sk_OPENSSL_STRING_value(urls, index));
    }
    X509_email_free(urls);
    return url;
}

// Whether one of the answers in a response is about a certificate, which the responder may name by any digest.
static inline int bb_ocsp_is_about(const OCSP_SINGLERESP *answer, const X509 *certificate, const X509 *issuer) {
    const OCSP_CERTID *id = OCSP_SINGLERESP_get0_id(answer);
    ASN1_OBJECT *name = NULL;
    if (OCSP_id_get0_info(NULL, &name, NULL, NULL, (OCSP_CERTID *)id) != 1) return 0;
    const EVP_MD *digest = EVP_get_digestbyobj(name);
    OCSP_CERTID *own = digest == NULL ? NULL : OCSP_cert_to_id(digest, certificate, issuer);
    int isAbout = own != NULL && OCSP_id_cmp(own, id) == 0;
    OCSP_CERTID_free(own);
    return isAbout;
}

// Whether the last error is that there is nothing more in a PEM text.
static inline int bb_error_is_end_of_pem(void) {
    unsigned long error = ERR_peek_last_error();
    return ERR_GET_LIB(error) == ERR_LIB_PEM && ERR_GET_REASON(error) == PEM_R_NO_START_LINE;
}

static inline void bb_free(void *pointer) { OPENSSL_free(pointer); }

// Whether a certificate demands that a response is stapled (RFC 7633).
static inline int bb_x509_must_staple(const X509 *certificate) {
    TLS_FEATURE *features = X509_get_ext_d2i(certificate, NID_tlsfeature, NULL, NULL);
    int demands = 0;
    for (int index = 0; features != NULL && index < sk_ASN1_INTEGER_num(features); index++) {
        if (ASN1_INTEGER_get(sk_ASN1_INTEGER_value(features, index)) == TLSEXT_TYPE_status_request) demands = 1;
    }
    TLS_FEATURE_free(features);
    return demands;
}

// Encrypts so many zeros in large records, to measure the machine; returns whether it could.
static inline int bb_encrypt_zeros(int count) {
    unsigned char key[32] = {0}, iv[12] = {0}, record[16384] = {0};
    EVP_CIPHER_CTX *context = EVP_CIPHER_CTX_new();
    int length = 0, works = context != NULL && EVP_EncryptInit_ex(context, EVP_aes_256_gcm(), NULL, key, iv) == 1;
    for (int done = 0; works && done < count; done += (int)sizeof record) {
        works = EVP_EncryptUpdate(context, record, &length, record, (int)sizeof record) == 1;
    }
    EVP_CIPHER_CTX_free(context);
    return works;
}

#endif
