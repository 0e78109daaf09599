public import FoundationEssentials

extension Session.Configuration.TLS {
    /// A client certificate and its private key.
    ///
    /// `TLS.clientIdentities` contains identities for particular hosts. A server that is not listed there receives
    /// `TLS.clientIdentity` if it requests a client certificate. Files are read when a connection is made. After
    /// the replacement of a file, TLS sessions from before are not resumed. The
    /// description of an identity contains neither the key nor the passphrase.
    public struct ClientIdentity: Hashable, Sendable {
        /// The location of a certificate or a key.
        enum Source: Hashable, Sendable {
            case file(String)
            case data(Data)
        }

        /// The file format, under the name that libcurl uses.
        enum Format: String, Sendable {
            case pem = "PEM"
            case der = "DER"
            case pkcs12 = "P12"
        }

        let certificate: Source
        /// The key, unless it is stored with the certificate.
        let key: Source?
        let passphrase: String?
        let format: Format

        /// Creates an identity from PEM files (RFC 7468).
        ///
        /// - Parameters:
        ///   - file: The path of the certificate file. The client's certificate comes first. Intermediate certificates
        ///     can follow.
        ///   - keyFile: The path of the private key file; `nil`, the default, if the key is in the certificate file.
        ///   - passphrase: The passphrase of the key; `nil`, the default, if the key is not encrypted.
        /// - Returns: The identity of the client.
        public static func pem(file: String, keyFile: String? = nil, passphrase: String? = nil) -> ClientIdentity {
            ClientIdentity(
                certificate: .file(file), key: keyFile.map { .file($0) }, passphrase: passphrase, format: .pem)
        }

        /// Creates an identity from PEM text (RFC 7468).
        ///
        /// - Parameters:
        ///   - data: The certificate. The client's certificate comes first. Intermediate certificates can follow.
        ///   - key: The private key; `nil`, the default, if the key is in `data`.
        ///   - passphrase: The passphrase of the key; `nil`, the default, if the key is not encrypted.
        /// - Returns: The identity of the client.
        public static func pem(data: Data, key: Data? = nil, passphrase: String? = nil) -> ClientIdentity {
            ClientIdentity(
                certificate: .data(data), key: key.map { .data($0) }, passphrase: passphrase, format: .pem)
        }

        /// Creates an identity from two DER files (X.690).
        ///
        /// - Parameters:
        ///   - file: The path of the certificate file.
        ///   - keyFile: The path of the private key file. The key must not be encrypted.
        /// - Returns: The identity of the client.
        public static func der(file: String, keyFile: String) -> ClientIdentity {
            ClientIdentity(certificate: .file(file), key: .file(keyFile), passphrase: nil, format: .der)
        }

        /// Creates an identity from DER data (X.690).
        ///
        /// - Parameters:
        ///   - data: The certificate of the client.
        ///   - key: The private key, which must not be encrypted.
        /// - Returns: The identity of the client.
        public static func der(data: Data, key: Data) -> ClientIdentity {
            ClientIdentity(certificate: .data(data), key: .data(key), passphrase: nil, format: .der)
        }

        /// Creates an identity from a PKCS #12 file (RFC 7292), which contains the certificates and the key.
        ///
        /// - Parameters:
        ///   - file: The path of the file.
        ///   - passphrase: The passphrase of the file; `nil`, the default, for an empty passphrase.
        /// - Returns: The identity of the client.
        public static func pkcs12(file: String, passphrase: String? = nil) -> ClientIdentity {
            ClientIdentity(certificate: .file(file), key: nil, passphrase: passphrase, format: .pkcs12)
        }

        /// Creates an identity from the content of a PKCS #12 file (RFC 7292).
        ///
        /// - Parameters:
        ///   - data: The content of the file.
        ///   - passphrase: The passphrase of the content; `nil`, the default, for an empty passphrase.
        /// - Returns: The identity of the client.
        public static func pkcs12(data: Data, passphrase: String? = nil) -> ClientIdentity {
            ClientIdentity(certificate: .data(data), key: nil, passphrase: passphrase, format: .pkcs12)
        }
    }
}

extension Session.Configuration.TLS.ClientIdentity: SecretKeeping {
    /// The format and the location of the certificate, without the key and the passphrase.
    package var text: String { "ClientIdentity(\(format.rawValue), \(place))" }

    package var shownParts: KeyValuePairs<String, Any> { ["format": format.rawValue, "certificate": place] }

    private var place: String {
        switch certificate {
        case .file(let path): path.debugDescription
        case .data(let data): "\(data.count) bytes"
        }
    }
}
