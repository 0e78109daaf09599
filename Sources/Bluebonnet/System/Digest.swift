import COpenSSL
import FoundationEssentials

/// Computes digests of bytes.
// Safety: OpenSSL reads and writes only within the call, and at most the given number of bytes.
enum Digest {
    /// Returns the SHA-256 digest of data (FIPS 180-4).
    static func sha256(of data: Data) -> Data { unsafe digest(of: data, EVP_sha256(), length: 32) }

    /// Returns the SHA-1 digest of data (FIPS 180-4), which is not secure.
    static func sha1(of data: Data) -> Data { unsafe digest(of: data, EVP_sha1(), length: 20) }

    /// Returns the MD5 digest of data (RFC 1321), which is not secure.
    static func md5(of data: Data) -> Data { unsafe digest(of: data, EVP_md5(), length: 16) }

    private static func digest(of data: Data, _ algorithm: OpaquePointer?, length: Int) -> Data {
        // The first use of OpenSSL decides whether it cleans up at exit while other threads use it (`ExitGate`).
        _ = OPENSSL_init_crypto(UInt64(OPENSSL_INIT_NO_ATEXIT), nil)
        var digest = [UInt8](repeating: 0, count: length)
        _ = unsafe data.withUnsafeBytes { bytes in
            unsafe EVP_Digest(bytes.baseAddress, bytes.count, &digest, nil, algorithm, nil)
        }
        return Data(digest)
    }
}

extension Data {
    /// The bytes in lower-case hexadecimal.
    var hexadecimal: String {
        var text: [UInt8] = []
        text.reserveCapacity(2 * count)
        let digits = Array("0123456789abcdef".utf8)
        for byte in self {
            text.append(digits[Int(byte >> 4)])
            text.append(digits[Int(byte & 15)])
        }
        return String(decoding: text, as: UTF8.self)
    }
}

/// An algorithm for digests (FIPS 180-4).
enum DigestAlgorithm: String, Sendable {
    case sha256 = "sha-256"
    case sha512 = "sha-512"

    /// The length of a digest in bytes.
    var length: Int { self == .sha256 ? 32 : 64 }
}

/// Computes the digest of bytes that arrive in pieces.
// Safety: this object owns the context from its creation until `deinit`. OpenSSL reads and writes other memory only
// within the call, and at most the given number of bytes.
@safe
final class RunningDigest {
    let algorithm: DigestAlgorithm
    /// The number of bytes so far.
    private(set) var count: Int64 = 0
    /// The context of OpenSSL; `nil` if there was not enough memory.
    private let context: OpaquePointer?

    init(_ algorithm: DigestAlgorithm) {
        self.algorithm = algorithm
        _ = OPENSSL_init_crypto(UInt64(OPENSSL_INIT_NO_ATEXIT), nil)
        unsafe context = EVP_MD_CTX_new()
        guard let context = unsafe context else { return }
        _ = unsafe EVP_DigestInit_ex(context, algorithm == .sha256 ? EVP_sha256() : EVP_sha512(), nil)
    }

    deinit {
        unsafe EVP_MD_CTX_free(context)
    }

    func update(_ data: Data) {
        count += Int64(data.count)
        guard let context = unsafe context else { return }
        _ = unsafe data.withUnsafeBytes { unsafe EVP_DigestUpdate(context, $0.baseAddress, $0.count) }
    }

    /// Returns the digest; no bytes can be added afterwards.
    ///
    /// The result is empty if OpenSSL failed, so it is not equal to any digest.
    func finish() -> Data {
        var digest = [UInt8](repeating: 0, count: algorithm.length)
        guard let context = unsafe context, unsafe EVP_DigestFinal_ex(context, &digest, nil) == 1 else { return Data() }
        return Data(digest)
    }
}
