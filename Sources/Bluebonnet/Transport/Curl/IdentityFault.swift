import FoundationEssentials

extension Session.Configuration.TLS.ClientIdentity {
    /// The maximum number of bytes of a key file that are read for an error.
    private static let keyLimit = 64 * 1024

    /// The reason why the private key cannot be used, as far as its text reveals the reason.
    ///
    /// Libcurl has one message for all reasons. Like libcurl, this reads the file on the event loop.
    var keyFault: String? {
        let key = key ?? certificate
        let (name, text): (String, Data)
        switch key {
        case .data(let data): (name, text) = ("the private key", data)
        case .file(let path):
            name = path
            do throws(SystemError) {
                text = try OpenFile.reading(path, followingLinks: true).read(upTo: Self.keyLimit)
            } catch {
                return "\(path): \(error.message)"
            }
        }
        guard format == .pem, text.count < Self.keyLimit else { return nil }
        let lines = String(decoding: text, as: UTF8.self)
        guard lines.contains("PRIVATE KEY-----") else { return "\(name): there is no private key in the PEM text" }
        // RFC 7468 §11, and the older format of OpenSSL.
        guard lines.contains("ENCRYPTED") else { return nil }
        guard passphrase != nil else { return "\(name): the key is encrypted, but has no passphrase" }
        return "\(name): wrong passphrase, or an encryption that OpenSSL does not support"
    }
}
