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
    /// - Throws: A `.trust(.noCertificatesFound)` error if they are none.
    public init(der data: Data) throws(RequestError) {
        guard let x509 = X509Certificate(der: data) else {
            throw RequestError(.trust(.noCertificatesFound), detail: "the bytes are not one certificate in DER")
        }
        self.x509 = x509
    }

    /// Reads the first certificate of PEM text (RFC 7468).
    ///
    /// - Parameter text: The text; what is not a certificate in it is left out.
    /// - Throws: A `.trust(.noCertificatesFound)` error if there is none.
    public init(pem text: String) throws(RequestError) {
        self = try Self.all(inPEM: Data(text.utf8))[0]
    }

    /// Reads all certificates of PEM text (RFC 7468).
    ///
    /// - Parameter text: The text; what is not a certificate in it is left out.
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
    /// - Throws: A `.trust(.noCertificatesFound)` error if there is none, or the file cannot be read; then with the file
    ///   system's error as the underlying one.
    public static func all(inFile url: URL) throws(RequestError) -> [Certificate] {
        let data: Data
        do {
            data = try Data(contentsOf: url)
        } catch {
            throw RequestError(.trust(.noCertificatesFound), detail: "\(url.path) cannot be read", underlying: error)
        }
        if let x509 = X509Certificate(der: data) { return [Certificate(x509)] }
        do throws(RequestError) {
            return try all(inPEM: data)
        } catch {
            throw RequestError(.trust(.noCertificatesFound), detail: "\(url.path) has no certificate")
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
        let names: [String]
        do {
            names = try FileManager.default.contentsOfDirectory(atPath: url.path)
        } catch {
            throw RequestError(.trust(.noCertificatesFound), detail: "\(url.path) cannot be read", underlying: error)
        }
        var found: [Certificate] = []
        for name in names.sorted() where isFileName(name) { found += try all(inFile: url.appending(path: name)) }
        guard !found.isEmpty else {
            throw RequestError(.trust(.noCertificatesFound), detail: "\(url.path) has no certificate")
        }
        return found
    }

    /// Whether a file in a directory is taken for one with certificates.
    static func isFileName(_ name: String) -> Bool {
        [".pem", ".crt", ".cer", ".der"].contains { name.lowercased().hasSuffix($0) }
    }

    // MARK: What it says

    /// The bytes of the certificate in DER.
    public var derRepresentation: Data { x509.der }

    /// Whom the certificate is about, as RFC 2253 writes names: `CN=www.example.com,O=Example`.
    public var subject: String { x509.subject }

    /// Who has signed it, as RFC 2253 writes names.
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

extension Certificate: Hashable, CustomStringConvertible {
    /// Whether two certificates have the same bytes.
    public static func == (left: Certificate, right: Certificate) -> Bool {
        left.x509 === right.x509 || left.derRepresentation == right.derRepresentation
    }

    /// Hashes the bytes.
    public func hash(into hasher: inout Hasher) { hasher.combine(derRepresentation) }

    /// The subject and the issuer.
    public var description: String { "\(subject), issued by \(issuer)" }
}
