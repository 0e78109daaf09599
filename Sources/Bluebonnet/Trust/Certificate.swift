public import FoundationEssentials

/// A certificate (X.509, RFC 5280).
///
/// Its values are read when they are asked for. Two are equal when their bytes are.
public struct Certificate: Sendable {
    let x509: X509Certificate

    init(_ x509: X509Certificate) {
        self.x509 = x509
    }

    /// Reads a certificate from DER (X.690).
    ///
    /// - Parameter data: The bytes of one certificate.
    /// - Throws: A `.trust(.noCertificatesFound)` error if they are not exactly one certificate.
    public init(der data: Data) throws(RequestError) {
        guard let x509 = X509Certificate(der: data) else {
            throw RequestError(.trust(.noCertificatesFound), detail: "the bytes are not one certificate in DER")
        }
        self.x509 = x509
    }

    /// Reads the first certificate of PEM text (RFC 7468).
    ///
    /// - Parameter text: The text; parts that are not certificates are left out.
    /// - Throws: A `.trust(.noCertificatesFound)` error if there is none.
    public init(pem text: String) throws(RequestError) {
        self = try Self.all(inPEM: Data(text.utf8))[0]
    }

    /// Reads all certificates of PEM text (RFC 7468).
    ///
    /// - Parameter text: The text; parts that are not certificates are left out.
    /// - Returns: At least one certificate, in the text's order.
    /// - Throws: A `.trust(.noCertificatesFound)` error if there is none.
    public static func all(inPEM text: Data) throws(RequestError) -> [Certificate] {
        let found = X509Certificate.all(inPEM: text)
        guard !found.isEmpty else {
            throw RequestError(.trust(.noCertificatesFound), detail: "the text has no certificate in PEM")
        }
        return found.map(Certificate.init)
    }

    /// Reads the certificates of a file, PEM or DER.
    ///
    /// Reads the file on the caller's thread.
    ///
    /// - Parameter url: The URL of the file.
    /// - Returns: At least one certificate, in the file's order.
    /// - Throws: A `.trust(.noCertificatesFound)` error if there is none, or the file cannot be read; then with the
    ///   file system's error as the underlying one.
    public static func all(inFile url: URL) throws(RequestError) -> [Certificate] {
        try files.read(url) { data in
            if let x509 = X509Certificate(der: data) { return [Certificate(x509)] }
            return X509Certificate.all(inPEM: data).map(Certificate.init)
        }
    }

    /// Reads the certificates of the files of a directory whose names end in `.pem`, `.crt`, `.cer` or `.der`.
    ///
    /// Reads the files on the caller's thread, in the order of their names. Directories within are not entered.
    ///
    /// - Parameter url: The URL of the directory.
    /// - Returns: At least one certificate.
    /// - Throws: A `.trust(.noCertificatesFound)` error if there is none, or a file has none or cannot be read.
    public static func all(inDirectory url: URL) throws(RequestError) -> [Certificate] {
        try files.readAll(in: url, named: isFileName, all(inFile:))
    }

    private static let files = TrustFiles(noun: "certificate", reason: .noCertificatesFound)

    /// Whether a file in a directory is treated as a file of certificates, by its name.
    static func isFileName(_ name: String) -> Bool {
        [".pem", ".crt", ".cer", ".der"].contains { name.lowercased().hasSuffix($0) }
    }

    // MARK: What it says

    /// The bytes of the certificate in DER.
    public var derRepresentation: Data { x509.der }

    /// Whom the certificate is about, as RFC 2253 writes names: `CN=www.example.com,O=Example`.
    public var subject: String { x509.subject }

    /// The issuer's name, in the form of RFC 2253.
    public var issuer: String { x509.issuer }

    /// The DNS names and IP addresses that the certificate is for (RFC 5280 §4.2.1.6).
    public var names: [String] { x509.names }

    /// When the certificate begins to be valid.
    public var notBefore: Date { x509.notBefore }

    /// When the certificate ceases to be valid.
    public var notAfter: Date { x509.notAfter }

    /// The number that its issuer has given it, in upper-case hexadecimal.
    public var serialNumber: String { x509.serialNumber }

    /// The SHA-256 of the certificate's bytes, in upper-case hexadecimal with colons, as `openssl x509 -fingerprint`
    /// writes it.
    public var fingerprint: String {
        let digits = Array("0123456789ABCDEF")
        return Digest.sha256(of: derRepresentation)
            .map { "\(digits[Int($0 >> 4)])\(digits[Int($0 & 15)])" }.joined(separator: ":")
    }

    /// The public key that the certificate is about.
    public var publicKey: PublicKey { PublicKey(subjectPublicKeyInfo: x509.publicKey) }
}

extension Certificate: Hashable, Described {
    /// Whether two certificates have the same bytes.
    public static func == (left: Certificate, right: Certificate) -> Bool {
        left.x509 === right.x509 || left.derRepresentation == right.derRepresentation
    }

    /// Hashes the bytes.
    public func hash(into hasher: inout Hasher) { hasher.combine(derRepresentation) }

    /// The subject and the issuer.
    package var text: String { "\(subject), issued by \(issuer)" }
}

/// A public key, known by the SHA-256 of its `SubjectPublicKeyInfo` (RFC 7469 §2.4).
///
/// That is what `curl --pinnedpubkey` takes and what HPKP wrote: `sha256/` and the digest in Base64. It stays the same
/// when a certificate is renewed for the same key.
public struct PublicKey: Hashable, Sendable, Described {
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
    /// - Throws: A `.trust(.noPublicKeysFound)` error if it is not a valid pin.
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
    package var text: String { pin }
}

/// Decides whether a certificate is for a host, by the names and addresses in it (RFC 9525 §6).
///
/// The rules are exactly libcurl's: nothing is accepted that it refuses, nor the other way round. So the subject's
/// common name counts where there is neither a DNS name nor an address, which RFC 9525 has given up.
struct HostMatch: Equatable {
    var names: [[UInt8]] = []
    var addresses: [[UInt8]] = []
    var commonName: [UInt8]?

    /// Whether the certificate is for a host: a name in ASCII, or an address, one of IPv6 with or without brackets.
    func isFor(_ host: String) -> Bool {
        let isBracketed = host.hasPrefix("[") && host.hasSuffix("]")
        let text = isBracketed ? String(host.dropFirst().dropLast()) : host
        let address = IPAddress.bytes(of: text)
        if let address, addresses.contains(address) { return true }
        let name = Self.withoutFinalDot(Array(text.utf8)[...])
        guard !name.isEmpty else { return false }
        if address == nil, names.contains(where: { Self.matches($0, name, isAddress: false) }) { return true }
        guard names.isEmpty, addresses.isEmpty, let commonName else { return false }
        return Self.matches(commonName, name, isAddress: address != nil)
    }

    /// Whether a pattern stands for a name: the same, or any first label in place of a star.
    private static func matches(_ pattern: [UInt8], _ name: ArraySlice<UInt8>, isAddress: Bool) -> Bool {
        let pattern = withoutFinalDot(pattern[...])
        guard !pattern.isEmpty, !pattern.contains(0) else { return false }
        let dot = UInt8(ascii: ".")
        // Below a domain alone: a star for all of `.com` would be too much.
        guard pattern.starts(with: "*.".utf8), pattern.dropFirst(2).contains(dot) else { return equal(pattern, name) }
        guard !isAddress, let end = name.firstIndex(of: dot), end > name.startIndex else { return false }
        return equal(pattern.dropFirst(), name[end...])
    }

    private static func withoutFinalDot(_ name: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        name.last == UInt8(ascii: ".") ? name.dropLast() : name
    }

    /// Whether two names are the same but for upper and lower case, of ASCII alone.
    private static func equal(_ first: ArraySlice<UInt8>, _ second: ArraySlice<UInt8>) -> Bool {
        first.count == second.count && zip(first, second).allSatisfy { lowercase($0) == lowercase($1) }
    }

    private static func lowercase(_ byte: UInt8) -> UInt8 {
        (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte) ? byte | 0x20 : byte
    }
}

/// Reads certificates and the like from files, at least one value or an error.
struct TrustFiles: Sendable {
    /// The noun for the values, in error texts.
    let noun: String
    let reason: RequestError.TrustReason

    /// Returns the values in a file.
    func read<Value>(_ url: URL, _ parse: (Data) -> [Value]) throws(RequestError) -> [Value] {
        let data: Data
        do {
            data = try Data(contentsOf: url)
        } catch {
            throw unreadable(url, error)
        }
        return try atLeastOne(parse(data), in: url)
    }

    /// Returns the values in the files of a directory, in the order of their names.
    func readAll<Value>(
        in url: URL, named isWanted: (String) -> Bool, _ read: (URL) throws(RequestError) -> [Value]
    ) throws(RequestError) -> [Value] {
        let names: [String]
        do {
            names = try FileManager.default.contentsOfDirectory(atPath: url.path)
        } catch {
            throw unreadable(url, error)
        }
        var found: [Value] = []
        for name in names.sorted() where isWanted(name) { found += try read(url.appending(path: name)) }
        return try atLeastOne(found, in: url)
    }

    private func atLeastOne<Value>(_ found: [Value], in url: URL) throws(RequestError) -> [Value] {
        guard found.isEmpty else { return found }
        throw RequestError(.trust(reason), detail: "\(url.path) has no \(noun)")
    }

    private func unreadable(_ url: URL, _ error: any Error) -> RequestError {
        RequestError(.trust(reason), detail: "\(url.path) cannot be read", underlying: error)
    }
}
