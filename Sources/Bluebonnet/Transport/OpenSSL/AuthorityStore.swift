import FoundationEssentials

/// Keeps the authorities that a session trusts in OpenSSL's form.
///
/// Belongs to the engine; never leaves the loop's thread. Libcurl could read files and directories itself, but does so anew
/// for every connection in most cases: the system's authorities are 200 KB of text.
final class AuthorityStore {
    private let authorities: Authorities
    private var known: (store: TrustStore, files: [FileStatus?])?
    /// The store that was handed out last.
    private var latest: TrustStore?
    /// How often the authorities have changed since they were first asked for.
    private(set) var generation = 0

    init(_ authorities: Authorities) {
        self.authorities = authorities
    }

    /// The store, read when it is first asked for, and again when a file or a directory has changed.
    ///
    /// - Throws: A `.trust(.configuration)` error that says what cannot be used; then nobody is trusted.
    func store() throws(RequestError) -> TrustStore {
        let store = try current()
        if let latest, latest !== store { generation += 1 }
        latest = store
        return store
    }

    private func current() throws(RequestError) -> TrustStore {
        if authorities.isSystemsAlone { return try SystemAuthorities.store() }
        let files = [authorities.file, authorities.directory].compactMap(\.self).map {
            FileSystem.status($0, followingLinks: true)
        }
        let systems = authorities.includesSystems ? SystemAuthorities.files : []
        if let known, known.files == files + systems { return known.store }
        known = nil
        let store = try TrustStore(authorities)
        known = (store, files + systems)
        return store
    }
}

/// The authorities that the system trusts, by what libcurl was built to take for them.
///
/// All sessions have them in common: to read them takes longer than many a request.
enum SystemAuthorities {
    private static let known = Locked<(store: TrustStore, files: [FileStatus?])?>(nil)

    /// What the files are like now.
    static var files: [FileStatus?] {
        [Libcurl.authorityFile, Libcurl.authorityDirectory].compactMap(\.self)
            .map { FileSystem.status($0, followingLinks: true) }
    }

    /// The store, read when it is first asked for, and again when the file or the directory has changed.
    ///
    /// - Throws: A `.trust(.configuration)` error if the file cannot be used.
    static func store() throws(RequestError) -> TrustStore {
        let files = files
        return try known.withLock { known throws(RequestError) in
            if let known, known.files == files { return known.store }
            let store = try TrustStore(systemFile: Libcurl.authorityFile, directory: Libcurl.authorityDirectory)
            known = (store, files)
            return store
        }
    }
}

extension Authorities {
    fileprivate var isSystemsAlone: Bool { file == nil && directory == nil && certificates == nil }
}
