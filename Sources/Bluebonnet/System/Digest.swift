import COpenSSL
import FoundationEssentials

/// Computes digests of bytes.
// Safety: OpenSSL reads and writes only within the call, and at most the given number of bytes.
enum Digest {
    /// Returns the SHA-256 digest of data (FIPS 180-4).
    static func sha256(of data: Data) -> Data {
        // The first use of OpenSSL decides whether it cleans up at exit while other threads use it (`ExitGate`).
        _ = OPENSSL_init_crypto(UInt64(OPENSSL_INIT_NO_ATEXIT), nil)
        var digest = [UInt8](repeating: 0, count: 32)
        _ = unsafe data.withUnsafeBytes { bytes in
            unsafe EVP_Digest(bytes.baseAddress, bytes.count, &digest, nil, EVP_sha256(), nil)
        }
        return Data(digest)
    }
}
