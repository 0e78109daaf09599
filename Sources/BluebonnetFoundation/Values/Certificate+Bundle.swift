public import Bluebonnet
public import Foundation

extension Certificate {
    /// Reads the certificates among the resources of a bundle: its files that end in `cer`, `crt`, `der` or `pem`.
    ///
    /// - Parameter bundle: The bundle; the program's by default.
    /// - Returns: The certificates; a file that holds none is left out.
    public static func all(in bundle: Bundle = .main) -> [Certificate] {
        let endings = ["cer", "CER", "crt", "CRT", "der", "DER", "pem", "PEM"]
        var paths: Set<String> = []
        for ending in endings {
            paths.formUnion(bundle.paths(forResourcesOfType: ending, inDirectory: nil))
        }
        var certificates: [Certificate] = []
        for path in paths.sorted() { certificates += (try? all(inFile: URL(filePath: path))) ?? [] }
        return certificates
    }
}

extension PinnedCertificatesTrustEvaluator {
    /// Creates an evaluator that pins the certificates of the program's bundle; without any, it refuses every server.
    ///
    /// - Parameters:
    ///   - acceptSelfSignedCertificates: Whether a pinned certificate needs no authority; it does need one by default.
    ///   - performDefaultValidation: Whether the chain is checked; it is by default.
    ///   - validateHost: Whether the certificate has to be for the host; it has by default.
    public init(
        acceptSelfSignedCertificates: Bool = false, performDefaultValidation: Bool = true, validateHost: Bool = true
    ) {
        self.init(
            certificates: Certificate.all(), acceptSelfSignedCertificates: acceptSelfSignedCertificates,
            performDefaultValidation: performDefaultValidation, validateHost: validateHost)
    }
}

extension PublicKeysTrustEvaluator {
    /// Creates an evaluator that pins the keys of the certificates of the program's bundle; without any, it refuses every
    /// server.
    ///
    /// - Parameters:
    ///   - performDefaultValidation: Whether the chain is checked; it is by default.
    ///   - validateHost: Whether the certificate has to be for the host; it has by default.
    public init(performDefaultValidation: Bool = true, validateHost: Bool = true) {
        self.init(
            keys: Certificate.all().map(\.publicKey), performDefaultValidation: performDefaultValidation,
            validateHost: validateHost)
    }
}
