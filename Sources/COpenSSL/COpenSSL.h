// OpenSSL: what the transport and the trust evaluators need of it.
#ifndef BLUEBONNET_COPENSSL_H
#define BLUEBONNET_COPENSSL_H

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <openssl/x509_vfy.h>

#endif
