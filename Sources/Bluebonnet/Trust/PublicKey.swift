public import FoundationEssentials

/// A public key, known by the SHA-256 of its `SubjectPublicKeyInfo` (RFC 7469 §2.4).
///
/// That is what `curl --pinnedpubkey` takes and what HPKP wrote: `sha256/` and the digest in Base64. It stays the same
/// when a certificate is renewed for the same key.
public struct PublicKey: Hashable, Sendable, CustomStringConvertible {
    /// The digest.
    public let sha256: Data

    /// Takes a key as a certificate has it.
    ///
    /// - Parameter data: The `SubjectPublicKeyInfo` in DER.
    public init(subjectPublicKeyInfo data: Data) {
        sha256 = Digest.sha256(of: data)
    }

    /// Takes a pin.
    ///
    /// - Parameter pin: `sha256/` or `sha256//`, and the digest in Base64.
    /// - Throws: A `.trust(.noPublicKeysFound)` error if it is none.
    public init(pin: String) throws(RequestError) {
        let prefix = "sha256/"
        // A digest may begin with a slash of its own: only its length tells the two forms apart.
        let digits = pin.hasPrefix(prefix) ? pin.dropFirst(prefix.count).suffix(44) : ""
        let isPin = pin == prefix + digits || pin == prefix + "/" + digits
        guard isPin, let digest = Data(base64Encoded: String(digits)), digest.count == 32 else {
            throw RequestError(.trust(.noPublicKeysFound), detail: "not sha256/ and 32 bytes in Base64: \(pin)")
        }
        sha256 = digest
    }

    /// Reads a key from PEM text with `BEGIN PUBLIC KEY` (RFC 7468 §13), or takes that of the first certificate in it.
    ///
    /// - Parameter text: The text.
    /// - Throws: A `.trust(.noPublicKeysFound)` error if there is neither.
    public init(pem text: String) throws(RequestError) {
        if let certificate = try? Certificate(pem: text) {
            self = certificate.publicKey
            return
        }
        let lines = text.split(whereSeparator: \.isNewline)
        guard let begin = lines.firstIndex(where: { $0.hasPrefix("-----BEGIN PUBLIC KEY-----") }),
            let end = lines[begin...].firstIndex(where: { $0.hasPrefix("-----END PUBLIC KEY-----") }),
            let key = Data(base64Encoded: lines[(begin + 1)..<end].joined()), !key.isEmpty
        else { throw RequestError(.trust(.noPublicKeysFound), detail: "the text has no public key in PEM") }
        self.init(subjectPublicKeyInfo: key)
    }

    /// The pin: `sha256/` and the digest in Base64.
    public var pin: String { "sha256/\(sha256.base64EncodedString())" }

    /// The pin.
    public var description: String { pin }
}
