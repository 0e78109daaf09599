public import FoundationEssentials

/// An X.509 certificate (RFC 5280).
///
/// A property is parsed each time you read it. Two certificates are equal if their DER bytes are equal.
public struct Certificate: Sendable {
    let x509: X509Certificate

    init(_ x509: X509Certificate) {
        self.x509 = x509
    }

    /// Parses a certificate in DER (X.690).
    ///
    /// - Parameter data: The bytes of exactly one certificate.
    /// - Throws: A `.trust(.noCertificatesFound)` error if the bytes are not exactly one certificate.
    public init(der data: Data) throws(RequestError) {
        guard let x509 = X509Certificate(der: data) else {
            throw RequestError(.trust(.noCertificatesFound), detail: "the bytes are not one certificate in DER")
        }
        self.x509 = x509
    }

    /// Parses the first certificate in PEM text (RFC 7468).
    ///
    /// - Parameter text: The text. PEM blocks that are not certificates are skipped.
    /// - Throws: A `.trust(.noCertificatesFound)` error if the text contains no certificate, or if its first
    ///   certificate is malformed.
    public init(pem text: String) throws(RequestError) {
        self = try Self.all(inPEM: Data(text.utf8))[0]
    }

    /// Parses all certificates in PEM text (RFC 7468).
    ///
    /// If a certificate is malformed, the method returns only the certificates before the malformed certificate.
    ///
    /// - Parameter text: The text. PEM blocks that are not certificates are skipped.
    /// - Returns: At least one certificate, in the order of the text.
    /// - Throws: A `.trust(.noCertificatesFound)` error if the text contains no certificate, or if its first
    ///   certificate is malformed.
    public static func all(inPEM text: Data) throws(RequestError) -> [Certificate] {
        let found = X509Certificate.all(inPEM: text)
        guard !found.isEmpty else {
            throw RequestError(.trust(.noCertificatesFound), detail: "the text has no certificate in PEM")
        }
        return found.map(Certificate.init)
    }

    /// Reads all certificates in a file, in PEM or DER.
    ///
    /// The method reads the file synchronously, on the caller's thread. If a certificate in PEM is malformed, the
    /// method returns only the certificates before the malformed certificate.
    ///
    /// - Parameter url: The URL of the file.
    /// - Returns: At least one certificate, in the order of the file.
    /// - Throws: A `.trust(.noCertificatesFound)` error if the file cannot be read or contains no certificate, or if
    ///   its first certificate is malformed. If the file cannot be read, the file system's error is the underlying
    ///   error.
    public static func all(inFile url: URL) throws(RequestError) -> [Certificate] {
        try files.read(url) { data in
            if let x509 = X509Certificate(der: data) { return [Certificate(x509)] }
            return X509Certificate.all(inPEM: data).map(Certificate.init)
        }
    }

    /// Reads all certificates in the files of a directory.
    ///
    /// The method reads the files whose names end in `.pem`, `.crt`, `.cer` or `.der`, and ignores all other files. It
    /// reads the files synchronously, on the caller's thread, in the order of their names. It does not search
    /// subdirectories. If a certificate in a PEM file is malformed, the method skips this certificate and all later
    /// certificates in the file.
    ///
    /// - Parameter url: The URL of the directory.
    /// - Returns: At least one certificate.
    /// - Throws: A `.trust(.noCertificatesFound)` error if the directory or a file cannot be read, or if no file has
    ///   one of these extensions. The same error is thrown if a file contains no certificate, or if the first
    ///   certificate of a file is malformed.
    public static func all(inDirectory url: URL) throws(RequestError) -> [Certificate] {
        try files.readAll(in: url, named: isFileName, all(inFile:))
    }

    private static let files = TrustFiles(noun: "certificate", reason: .noCertificatesFound)

    /// Whether a file name in a directory has the extension of a certificate file.
    static func isFileName(_ name: String) -> Bool {
        [".pem", ".crt", ".cer", ".der"].contains { name.lowercased().hasSuffix($0) }
    }

    // MARK: Contents

    /// The certificate in DER.
    public var derRepresentation: Data { x509.der }

    /// The subject's distinguished name in the format of RFC 2253, such as `CN=www.example.com,O=Example`.
    public var subject: String { x509.subject }

    /// The issuer's distinguished name in the format of RFC 2253.
    public var issuer: String { x509.issuer }

    /// The DNS names and IP addresses for which the certificate is valid.
    ///
    /// These are the subject alternative names of the certificate (RFC 5280 §4.2.1.6).
    public var names: [String] { x509.names }

    /// The date and time from which the certificate is valid.
    public var notBefore: Date { x509.notBefore }

    /// The date and time until which the certificate is valid.
    public var notAfter: Date { x509.notAfter }

    /// The serial number that the issuer assigned, in upper-case hexadecimal.
    public var serialNumber: String { x509.serialNumber }

    /// The SHA-256 digest of the DER bytes, in upper-case hexadecimal with colons.
    ///
    /// The output of `openssl x509 -fingerprint -sha256` has the same format.
    public var fingerprint: String {
        let digits = Array("0123456789ABCDEF")
        return Digest.sha256(of: derRepresentation)
            .map { "\(digits[Int($0 >> 4)])\(digits[Int($0 & 15)])" }.joined(separator: ":")
    }

    /// The subject's public key.
    public var publicKey: PublicKey { PublicKey(subjectPublicKeyInfo: x509.publicKey) }
}

extension Certificate: Hashable, Described {
    /// Returns whether two certificates have the same DER bytes.
    public static func == (left: Certificate, right: Certificate) -> Bool {
        left.x509 === right.x509 || left.derRepresentation == right.derRepresentation
    }

    /// Hashes the DER bytes.
    public func hash(into hasher: inout Hasher) { hasher.combine(derRepresentation) }

    /// The subject and the issuer.
    package var text: String { "\(subject), issued by \(issuer)" }
}

/// A public key, identified by the SHA-256 digest of its `SubjectPublicKeyInfo` (RFC 7469 §2.4).
///
/// The `SubjectPublicKeyInfo` is the part of a certificate that contains the key and its algorithm. HTTP Public Key
/// Pinning (RFC 7469) and the option `--pinnedpubkey` of `curl` use the same digest. If a certificate is renewed with
/// the same key, the digest does not change.
public struct PublicKey: Hashable, Sendable, Described {
    /// The SHA-256 digest of the key's `SubjectPublicKeyInfo`; the digest has 32 bytes.
    public let sha256: Data

    /// Creates a key from a `SubjectPublicKeyInfo`, which is the part of a certificate that contains the key.
    ///
    /// - Parameter data: The `SubjectPublicKeyInfo` in DER.
    public init(subjectPublicKeyInfo data: Data) {
        sha256 = Digest.sha256(of: data)
    }

    /// Creates a key from a pin.
    ///
    /// - Parameter pin: `sha256/` or `sha256//`, followed by the digest in Base64.
    /// - Throws: A `.trust(.noPublicKeysFound)` error if the text is not a valid pin.
    public init(pin: String) throws(RequestError) {
        let prefix = "sha256/"
        // A digest may start with a slash. Only the length of the text distinguishes the two forms.
        let digits = pin.hasPrefix(prefix) ? pin.dropFirst(prefix.count).suffix(44) : ""
        let isPin = pin == prefix + digits || pin == prefix + "/" + digits
        guard isPin, let digest = Data(base64Encoded: String(digits)), digest.count == 32 else {
            throw RequestError(.trust(.noPublicKeysFound), detail: "not sha256/ and 32 bytes in Base64: \(pin)")
        }
        sha256 = digest
    }

    /// Creates a key from PEM text.
    ///
    /// If the text contains certificates, the first certificate's key is used. Otherwise, the key is read from the
    /// first `BEGIN PUBLIC KEY` block (RFC 7468 §13).
    ///
    /// - Parameter text: The text in PEM.
    /// - Throws: A `.trust(.noPublicKeysFound)` error if the text contains neither a valid certificate nor a valid
    ///   public key.
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

    /// The pin of the key: `sha256/` followed by the digest in Base64.
    public var pin: String { "sha256/\(sha256.base64EncodedString())" }

    /// The pin.
    package var text: String { pin }
}

/// Decides whether a certificate is valid for a host (RFC 9525 §6).
///
/// The rules accept exactly the hosts that libcurl accepts. If the certificate contains neither DNS names nor
/// addresses, the subject's common name is used, although RFC 9525 no longer allows this.
struct HostMatch: Equatable {
    var names: [[UInt8]] = []
    var addresses: [[UInt8]] = []
    var commonName: [UInt8]?

    /// Whether the certificate is valid for a host.
    ///
    /// The host is an ASCII name or an IP address. An IPv6 address may have brackets.
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

    /// Whether a pattern matches a name: both are equal, or a star replaces the first label.
    private static func matches(_ pattern: [UInt8], _ name: ArraySlice<UInt8>, isAddress: Bool) -> Bool {
        let pattern = withoutFinalDot(pattern[...])
        guard !pattern.isEmpty, !pattern.contains(0) else { return false }
        let dot = UInt8(ascii: ".")
        // The name after the star must contain a dot, because a certificate for all names in `.com` would be unsafe.
        guard pattern.starts(with: "*.".utf8), pattern.dropFirst(2).contains(dot) else { return equal(pattern, name) }
        guard !isAddress, let end = name.firstIndex(of: dot), end > name.startIndex else { return false }
        return equal(pattern.dropFirst(), name[end...])
    }

    private static func withoutFinalDot(_ name: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        name.last == UInt8(ascii: ".") ? name.dropLast() : name
    }

    /// Whether two names are equal, ignoring the case of ASCII letters.
    private static func equal(_ first: ArraySlice<UInt8>, _ second: ArraySlice<UInt8>) -> Bool {
        first.count == second.count && FieldSyntax.isSame(first.span, second.span)
    }
}

/// Reads values, such as certificates, from files; returns at least one value or throws.
struct TrustFiles: Sendable {
    /// The name of the values in error messages.
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

    /// Returns the values in the files of a directory, in the order of the file names.
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
