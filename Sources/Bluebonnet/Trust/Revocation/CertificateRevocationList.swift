public import FoundationEssentials

/// A list of revoked certificates, as an authority publishes it (CRL, RFC 5280 §5).
public struct CertificateRevocationList: Sendable {
    let list: X509RevocationList

    /// Reads the lists of a file, PEM or DER.
    ///
    /// Reads the file on the caller's thread.
    ///
    /// - Parameter url: The URL of the file.
    /// - Returns: At least one list.
    /// - Throws: A `.trust(.configuration)` error if there is none, or the file cannot be read.
    public static func all(inFile url: URL) throws(RequestError) -> [CertificateRevocationList] {
        let data: Data
        do {
            data = try Data(contentsOf: url)
        } catch {
            throw RequestError(.trust(.configuration), detail: "\(url.path) cannot be read", underlying: error)
        }
        let found = X509RevocationList.all(in: data)
        guard !found.isEmpty else {
            throw RequestError(.trust(.configuration), detail: "\(url.path) has no revocation list")
        }
        return found.map(CertificateRevocationList.init)
    }

    /// Reads the lists of the files of a directory whose names end in `.pem`, `.crl` or `.der`, or in `.r` and a number, as
    /// `openssl rehash` names them.
    ///
    /// Reads the files on the caller's thread. Directories within are not entered.
    ///
    /// - Parameter url: The URL of the directory.
    /// - Returns: At least one list.
    /// - Throws: A `.trust(.configuration)` error if there is none, or a file has none or cannot be read.
    public static func all(inDirectory url: URL) throws(RequestError) -> [CertificateRevocationList] {
        let names: [String]
        do {
            names = try FileManager.default.contentsOfDirectory(atPath: url.path)
        } catch {
            throw RequestError(.trust(.configuration), detail: "\(url.path) cannot be read", underlying: error)
        }
        var found: [CertificateRevocationList] = []
        for name in names.sorted() {
            let file = url.appending(path: name)
            if isNameOfList(file.pathExtension.lowercased()) { found += try all(inFile: file) }
        }
        guard !found.isEmpty else {
            throw RequestError(.trust(.configuration), detail: "\(url.path) has no revocation list")
        }
        return found
    }

    private static func isNameOfList(_ ending: String) -> Bool {
        ["pem", "crl", "der"].contains(ending) || ending.first == "r" && Int(ending.dropFirst()) != nil
    }
}
