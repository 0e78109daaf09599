import COpenSSL

/// Asks OpenSSL whether it knows the names of ciphers.
///
/// It passes over names that it does not know in a list as long as it knows one.
// Safety: the context is used within the function that makes and frees it.
enum CipherNames {
    /// Returns the first of the names for TLS 1.2 that OpenSSL does not know.
    static func firstUnknown(of names: [String]) -> String? {
        unsafe firstUnknown(of: names) { context, name in
            // What comes before a name says what is to be done with it; what begins with an at sign is a command.
            if name.hasPrefix("@") { return true }
            let bare = name.first.map { "!-+".contains($0) } == true ? String(name.dropFirst()) : name
            return unsafe !bare.isEmpty && SSL_CTX_set_cipher_list(context, bare) == 1
        }
    }

    /// Returns the first of the suites for TLS 1.3 that OpenSSL does not know.
    static func firstUnknownSuite(of names: [String]) -> String? {
        unsafe firstUnknown(of: names) { context, name in
            unsafe !name.isEmpty && SSL_CTX_set_ciphersuites(context, name) == 1
        }
    }

    private static func firstUnknown(
        of names: [String], isKnown: (_ context: OpaquePointer, _ name: String) -> Bool
    ) -> String? {
        guard !names.isEmpty, let context = unsafe SSL_CTX_new(TLS_client_method()) else { return nil }
        defer {
            unsafe SSL_CTX_free(context)
            ERR_clear_error()
        }
        // A colon, a comma or a space would make several of one.
        return names.first { name in
            let isOne = name.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7f && $0 != 0x3a && $0 != 0x2c }
            return unsafe !isOne || !isKnown(context, name)
        }
    }
}
