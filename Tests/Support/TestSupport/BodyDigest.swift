import COpenSSL
public import FoundationEssentials

// Safety: only this object uses the context, from its creation until `deinit`.
/// Computes the SHA-256 digest of bytes in pieces.
///
/// Belongs to one task; it is not for several at once.
@safe
public final class BodyDigest {
    private let context: OpaquePointer?

    /// Begins a digest.
    public init() {
        unsafe context = EVP_MD_CTX_new()
        unsafe EVP_DigestInit_ex(context, EVP_sha256(), nil)
    }

    deinit {
        unsafe EVP_MD_CTX_free(context)
    }

    /// Adds bytes.
    public func update(_ bytes: some ContiguousBytes) {
        // Safety: the pointer is used within the closure, with the length of the memory behind it.
        _ = unsafe bytes.withUnsafeBytes { unsafe EVP_DigestUpdate(context, $0.baseAddress, $0.count) }
    }

    /// Returns the digest of all bytes in lowercase hexadecimal digits; must be called once.
    public func finish() -> String {
        var digest = [UInt8](repeating: 0, count: 32)
        // Safety: SHA-256 has 32 bytes.
        unsafe EVP_DigestFinal_ex(context, &digest, nil)
        return digest.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }

    /// The digest of bytes that are all there.
    public static func digest(of bytes: some ContiguousBytes) -> String {
        let digest = BodyDigest()
        digest.update(bytes)
        return digest.finish()
    }
}
