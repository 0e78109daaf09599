public import FoundationEssentials

extension Session.Configuration.TLS {
    /// The certificate and the key with which a client shows a server who it is.
    ///
    /// It is shown to every server that asks for one, which is why it is best given to a session that speaks to those
    /// servers only. Files are read when a connection is made. Descriptions show neither the key nor the pass phrase.
    public struct ClientIdentity: Hashable, Sendable {
        /// Where the bytes of a certificate or of a key are.
        enum Source: Hashable, Sendable {
            case file(String)
            case data(Data)
        }

        /// How the bytes are written, by the names that libcurl has for it.
        enum Format: String, Sendable {
            case pem = "PEM"
            case der = "DER"
            case pkcs12 = "P12"
        }

        let certificate: Source
        /// The key, if it is not where the certificate is.
        let key: Source?
        let passphrase: String?
        let format: Format

        /// Takes the certificate and its key from PEM files (RFC 7468).
        ///
        /// - Parameters:
        ///   - file: The path of the file with the certificate, followed by those of the authorities between it and the
        ///     one that the server trusts.
        ///   - keyFile: The path of the file with the private key; `nil` when the first file has it, too.
        ///   - passphrase: What the key is encrypted with; `nil` when it is not.
        /// - Returns: The identity.
        public static func pem(file: String, keyFile: String? = nil, passphrase: String? = nil) -> ClientIdentity {
            ClientIdentity(
                certificate: .file(file), key: keyFile.map { .file($0) }, passphrase: passphrase, format: .pem)
        }

        /// Takes the certificate and its key from PEM text (RFC 7468).
        ///
        /// - Parameters:
        ///   - data: The certificate, followed by those of the authorities between it and the one that the server trusts.
        ///   - key: The private key; `nil` when it is among the certificates.
        ///   - passphrase: What the key is encrypted with; `nil` when it is not.
        /// - Returns: The identity.
        public static func pem(data: Data, key: Data? = nil, passphrase: String? = nil) -> ClientIdentity {
            ClientIdentity(
                certificate: .data(data), key: key.map { .data($0) }, passphrase: passphrase, format: .pem)
        }

        /// Takes the certificate and its key from DER files (X.690), one each.
        ///
        /// - Parameters:
        ///   - file: The path of the file with the certificate.
        ///   - keyFile: The path of the file with the private key, which is not encrypted.
        /// - Returns: The identity.
        public static func der(file: String, keyFile: String) -> ClientIdentity {
            ClientIdentity(certificate: .file(file), key: .file(keyFile), passphrase: nil, format: .der)
        }

        /// Takes the certificate and its key in DER (X.690).
        ///
        /// - Parameters:
        ///   - data: The certificate.
        ///   - key: The private key, which is not encrypted.
        /// - Returns: The identity.
        public static func der(data: Data, key: Data) -> ClientIdentity {
            ClientIdentity(certificate: .data(data), key: .data(key), passphrase: nil, format: .der)
        }

        /// Takes certificates and key from a PKCS #12 file (RFC 7292).
        ///
        /// - Parameters:
        ///   - file: The path of the file.
        ///   - passphrase: What the file is encrypted with.
        /// - Returns: The identity.
        public static func pkcs12(file: String, passphrase: String? = nil) -> ClientIdentity {
            ClientIdentity(certificate: .file(file), key: nil, passphrase: passphrase, format: .pkcs12)
        }

        /// Takes certificates and key from the bytes of a PKCS #12 file (RFC 7292).
        ///
        /// - Parameters:
        ///   - data: What such a file holds.
        ///   - passphrase: What it is encrypted with.
        /// - Returns: The identity.
        public static func pkcs12(data: Data, passphrase: String? = nil) -> ClientIdentity {
            ClientIdentity(certificate: .data(data), key: nil, passphrase: passphrase, format: .pkcs12)
        }
    }
}

extension Session.Configuration.TLS.ClientIdentity: SecretKeeping {
    /// The format and where the certificate is from; neither the key nor the pass phrase.
    package var text: String { "ClientIdentity(\(format.rawValue), \(place))" }

    package var shownParts: KeyValuePairs<String, Any> { ["format": format.rawValue, "certificate": place] }

    private var place: String {
        switch certificate {
        case .file(let path): path.debugDescription
        case .data(let data): "\(data.count) bytes"
        }
    }
}
