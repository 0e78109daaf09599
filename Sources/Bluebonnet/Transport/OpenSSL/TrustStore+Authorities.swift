import COpenSSL
import FoundationEssentials

/// Stores of authorities, and OpenSSL's contexts that use them.
// Safety: a store is filled by the initializer that makes it; contexts add references of their own.
extension TrustStore {
    /// Reads what a configuration names.
    ///
    /// - Throws: A `.trust(.configuration)` error that says what cannot be read or holds no certificate.
    convenience init(_ authorities: Authorities) throws(RequestError) {
        unsafe try self.init(filledBy: { store throws(RequestError) in
            if let file = authorities.file, unsafe !Self.load(file: file, into: store) {
                throw Self.flaw("tls.caFile", "\(file.debugDescription) is no file of certificates")
            }
            if let directory = authorities.directory { unsafe try Self.load(directory: directory, into: store) }
            if let certificates = authorities.certificates {
                guard !certificates.isEmpty else { throw Self.flaw("tls.caCertificates", "there is none") }
                unsafe try Self.add(certificates, "tls.caCertificates", to: store)
            }
            if authorities.includesSystems {
                let systems = try SystemAuthorities.store()
                unsafe Self.add(systems, to: store)
            }
        })
    }

    /// Reads the system's authorities.
    ///
    /// - Parameters:
    ///   - file: The file that has them all, if there is one.
    ///   - directory: The directory in which OpenSSL looks for others, if there is one.
    /// - Throws: A `.trust(.configuration)` error if the file cannot be read or holds no certificate.
    convenience init(systemFile file: String?, directory: String?) throws(RequestError) {
        unsafe try self.init(filledBy: { store throws(RequestError) in
            if let file, unsafe !Self.load(file: file, into: store) {
                throw Self.flaw("the system's authorities", "\(file.debugDescription) is no file of certificates")
            }
            if let directory { unsafe X509_STORE_load_path(store, directory) }
            if file == nil, directory == nil { unsafe X509_STORE_set_default_paths(store) }
        })
    }

    private convenience init(filledBy fill: (OpaquePointer) throws(RequestError) -> Void) throws(RequestError) {
        defer { ERR_clear_error() }
        guard let store = unsafe X509_STORE_new() else { throw RequestError(.internal, detail: "out of memory") }
        do throws(RequestError) {
            // As libcurl does: what is trusted goes before what a server shows, and need not be a root.
            let flags = UInt(X509_V_FLAG_TRUSTED_FIRST) | UInt(X509_V_FLAG_PARTIAL_CHAIN)
            unsafe X509_STORE_set_flags(store, flags)
            unsafe try fill(store)
        } catch {
            unsafe X509_STORE_free(store)
            throw error
        }
        unsafe self.init(owning: store)
    }

    /// Has the connections of a context trust this store's authorities; returns whether they will.
    func attach(to context: OpaquePointer) -> Bool { unsafe bb_ssl_context_use_store(context, pointer) == 1 }

    private static func load(file: String, into store: OpaquePointer) -> Bool {
        // An empty name would be none to OpenSSL.
        !file.isEmpty && !file.utf8.contains(0) && (unsafe X509_STORE_load_file(store, file)) == 1
    }

    private static func load(directory: String, into store: OpaquePointer) throws(RequestError) {
        let option = "tls.caDirectory"
        let names: [String]
        do {
            guard !directory.isEmpty, !directory.utf8.contains(0) else {
                throw flaw(option, "the path of a directory is needed")
            }
            names = try FileManager.default.contentsOfDirectory(atPath: directory)
        } catch {
            let words = "\(directory.debugDescription) is no directory that can be read"
            throw error as? RequestError ?? flaw(option, words, underlying: error)
        }
        let isHashed = names.contains(where: isHash)
        if isHashed, unsafe X509_STORE_load_path(store, directory) != 1 {
            throw flaw(option, "OpenSSL cannot use \(directory.debugDescription)")
        }
        guard !isHashed || names.contains(where: Certificate.isFileName) else { return }
        do throws(RequestError) {
            unsafe try add(Certificate.all(inDirectory: URL(filePath: directory)), option, to: store)
        } catch {
            throw flaw(option, error.detail ?? "\(directory.debugDescription) has no certificate", underlying: error)
        }
    }

    /// Whether OpenSSL looks for a certificate under such a name: eight hexadecimal digits, a dot and a number.
    private static func isHash(_ name: String) -> Bool {
        let parts = name.split(separator: ".", omittingEmptySubsequences: false)
        return parts.count == 2 && parts[0].count == 8 && parts[0].allSatisfy(\.isHexDigit)
            && !parts[1].isEmpty && parts[1].allSatisfy(\.isNumber)
    }

    private static func add(
        _ certificates: [Certificate], _ option: String, to store: OpaquePointer
    ) throws(RequestError) {
        for certificate in certificates where unsafe X509_STORE_add_cert(store, certificate.x509.pointer) != 1 {
            throw flaw(option, "OpenSSL cannot use the certificate of \"\(certificate.subject)\"")
        }
    }

    /// Adds what another store holds, and has OpenSSL look where it looks in the system.
    private static func add(_ other: TrustStore, to store: OpaquePointer) {
        let stack = unsafe X509_STORE_get1_all_certs(other.pointer)
        defer { unsafe bb_x509_stack_free(stack) }
        // A failure leaves it out, and so accepts less.
        for index in 0..<(unsafe bb_x509_stack_count(stack)) {
            _ = unsafe X509_STORE_add_cert(store, bb_x509_stack_at(stack, index))
        }
        if let directory = Libcurl.authorityDirectory { unsafe X509_STORE_load_path(store, directory) }
        if Libcurl.authorityFile == nil, Libcurl.authorityDirectory == nil {
            unsafe X509_STORE_set_default_paths(store)
        }
    }

    private static func flaw(_ option: String, _ words: String, underlying: (any Error)? = nil) -> RequestError {
        RequestError(.trust(.configuration), detail: "\(option): \(words)", underlying: underlying)
    }
}
