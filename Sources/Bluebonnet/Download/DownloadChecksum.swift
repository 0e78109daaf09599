import BluebonnetLibc
public import FoundationEssentials

/// The expected checksum of a downloaded file.
///
/// ```swift
/// let digest = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
/// let request = session.download(url, to: .file(file)).validate(checksum: .sha256(digest))
/// ```
///
/// If a file has another checksum, its download fails with `.download(.checksumMismatch)`, and the file is removed. A
/// value that is not a digest of the algorithm makes the download fail with `.invalidRequest(.configuration)`, before a
/// request is sent.
public struct DownloadChecksum: Hashable, Sendable {
    private let digest: ExpectedDigest?

    /// Returns a SHA-256 checksum from text.
    ///
    /// - Parameter digest: The digest with 64 hexadecimal digits, as `sha256sum` prints it, or in base64.
    /// - Returns: The checksum.
    public static func sha256(_ digest: String) -> Self { Self(digest: .init(.sha256, digest)) }

    /// Returns a SHA-256 checksum from bytes.
    ///
    /// - Parameter digest: The 32 bytes of the digest.
    /// - Returns: The checksum.
    public static func sha256(_ digest: Data) -> Self { Self(digest: .init(algorithm: .sha256, bytes: digest)) }

    /// Returns a SHA-512 checksum from text.
    ///
    /// - Parameter digest: The digest with 128 hexadecimal digits, as `sha512sum` prints it, or in base64.
    /// - Returns: The checksum.
    public static func sha512(_ digest: String) -> Self { Self(digest: .init(.sha512, digest)) }

    /// Returns a SHA-512 checksum from bytes.
    ///
    /// - Parameter digest: The 64 bytes of the digest.
    /// - Returns: The checksum.
    public static func sha512(_ digest: Data) -> Self { Self(digest: .init(algorithm: .sha512, bytes: digest)) }

    /// The checksum that the response states.
    ///
    /// The response states it in its `Repr-Digest` or `Content-Digest` field (RFC 9530), or in the older `Digest` field
    /// (RFC 3230). If the response has several digests, a SHA-512 digest takes precedence. If there is no SHA-256 or
    /// SHA-512 digest, or if the body has a content coding, the download fails with `.download(.checksumMissing)`
    /// before the body is received.
    ///
    /// This checksum detects errors of the transfer. It does not show that the server sent the right file.
    public static let responseField = DownloadChecksum(digest: nil)

    /// Whether the checksum comes from the response.
    var isFromResponse: Bool { digest == nil }

    /// Checks that a stated digest has the length of its algorithm.
    func validate() throws(RequestError) {
        guard let digest, digest.bytes.count != digest.algorithm.length else { return }
        let text = "the checksum is not a \(digest.algorithm.rawValue) digest in hexadecimal digits or base64"
        throw RequestError(.invalidRequest(.configuration(text)))
    }

    /// Returns the expected digest of the whole file.
    func expected(for response: HTTPResponse?) throws(RequestError) -> ExpectedDigest {
        guard let digest = digest ?? response.flatMap({ ExpectedDigest(of: $0) }) else {
            throw RequestError(.download(.checksumMissing))
        }
        return digest
    }
}

/// An algorithm and the digest that a file must have.
struct ExpectedDigest: Hashable, Sendable {
    let algorithm: DigestAlgorithm
    let bytes: Data
}

extension ExpectedDigest {
    /// Reads hexadecimal digits or base64; the bytes are empty if the text is neither.
    init(_ algorithm: DigestAlgorithm, _ text: String) {
        let digits = text.utf8.compactMap { PercentEncoding.digit($0) }
        guard digits.count == 2 * algorithm.length, digits.count == text.utf8.count else {
            self.init(algorithm: algorithm, bytes: Data(base64Encoded: text) ?? Data())
            return
        }
        let pairs = stride(from: 0, to: digits.count, by: 2)
        self.init(algorithm: algorithm, bytes: Data(pairs.map { digits[$0] << 4 | digits[$0 + 1] }))
    }

    /// Returns the digest that a response states for the whole file; `nil` if there is none.
    init?(of response: HTTPResponse) {
        guard response.statusCode == 200 || response.statusCode == 206,
            response.head.isUncoded || response.keepsCoding
        else { return nil }
        // The content of a 206 response is only a part of the file (RFC 9530 §2).
        for name in ["Repr-Digest", "Digest"] + (response.statusCode == 206 ? [] : ["Content-Digest"]) {
            guard let text = response.headers[name], let found = Self(field: text, isBare: name == "Digest") else {
                continue
            }
            self = found
            return
        }
        return nil
    }

    /// Parses the value of a field: `sha-256=:base64:, sha-512=:base64:` (RFC 9530 §2), or without colons if `isBare`
    /// is `true` (RFC 3230 §4.3.2).
    ///
    /// The result is `nil` if a SHA-256 or SHA-512 digest is malformed, as for all structured fields (RFC 9651 §4.2).
    init?(field: String, isBare: Bool) {
        var digests: [DigestAlgorithm: Data] = [:]
        var rest = Substring(field).utf8
        while let element = rest.takeElement() {
            let parts = element.split(separator: "=", maxSplits: 1).map(\.trimmed)
            guard parts.count == 2, let algorithm = DigestAlgorithm(rawValue: parts[0].lowercased()) else { continue }
            var text = parts[1].prefix { $0 != ";" }.trimmed
            if !isBare {
                guard text.count > 2, text.first == ":", text.last == ":" else { return nil }
                text = text.dropFirst().dropLast()
            }
            guard let bytes = Data(base64Encoded: String(text)), bytes.count == algorithm.length else { return nil }
            digests[algorithm] = bytes
        }
        guard let best = digests.max(by: { $0.value.count < $1.value.count }) else { return nil }
        self.init(algorithm: best.key, bytes: best.value)
    }

    /// Checks the digest of a complete file.
    ///
    /// - Throws: `.download(.checksumMismatch)`.
    func check(_ digest: RunningDigest) throws(RequestError) {
        let actual = digest.finish()
        guard actual != bytes else { return }
        let detail = "\(algorithm.rawValue) is \(actual.hexadecimal), but \(bytes.hexadecimal) was expected"
        throw RequestError(.download(.checksumMismatch), detail: detail)
    }
}

extension RunningDigest {
    /// Adds the bytes of a file that are not counted yet, up to a position.
    func read(_ file: OpenFile, upTo end: Int64, path: String) throws(RequestError) {
        do throws(SystemError) {
            while count < end {
                let piece = try file.read(upTo: Int(min(end - count, 1 << 20)), from: count)
                guard !piece.isEmpty else { throw SystemError(EIO) }
                update(piece)
            }
        } catch {
            throw error.during(.cannotReadFile(path: path))
        }
    }
}
