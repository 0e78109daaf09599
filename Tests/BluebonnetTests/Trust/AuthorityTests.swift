import Foundation
import TestSupport
import Testing

@testable import Bluebonnet

/// The sources of a session's authorities.
///
/// Two valid servers with certificates of different authorities.
@Suite(.timeLimit(.minutes(10))) struct AuthorityTests {
    typealias TLS = Session.Configuration.TLS

    /// The ways to name authorities.
    enum AuthoritySource: String, CaseIterable {
        case file, directory, hashedDirectory, certificates

        /// Has the settings name the authorities of PEM files in this way, with a directory of the test's own.
        func name(_ files: [String], in tls: inout TLS, _ folder: URL) async throws {
            switch self {
            case .file:
                let all = try files.map { try Data(contentsOf: URL(filePath: $0)) }.reduce(Data(), +)
                let file = folder.appending(path: "all.pem")
                try all.write(to: file)
                tls.caFile = file.path
            case .directory, .hashedDirectory:
                let directory = folder.appending(path: rawValue)
                try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
                let isHashed = self == .hashedDirectory
                for (number, file) in files.enumerated() {
                    // Not a name by which a file is read for itself.
                    let name = isHashed ? try await AuthorityTests.hash(of: file) + ".0" : "\(number).PEM"
                    try FileManager.default.copyItem(at: URL(filePath: file), to: directory.appending(path: name))
                }
                try Data("not a certificate".utf8).write(to: directory.appending(path: "README"))
                tls.caDirectory = directory.path
            case .certificates:
                tls.caCertificates = try files.flatMap { try Certificate.all(inFile: URL(filePath: $0)) }
            }
        }
    }

    private static func hash(of file: String) async throws -> String {
        let outcome = try await Subprocess.run("/usr/bin/openssl", ["x509", "-in", file, "-noout", "-hash"])
        return String(decoding: outcome.output, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
    }

    /// Does something with a directory that is removed afterwards.
    private static func withFolder(_ body: (URL) async throws -> Void) async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "bluebonnet-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        try await body(folder)
    }

    private static func session(_ tls: TLS, _ evaluator: (any ServerTrustEvaluating)? = nil) -> Session {
        var configuration = Session.Configuration()
        configuration.proxy = .none
        configuration.tls = tls
        let manager = evaluator.map { ServerTrustManager(evaluators: ["127.0.0.1": $0]) }
        return Session(configuration: configuration, serverTrustManager: manager)
    }

    /// Whether the servers of the two authorities are trusted, with and without an evaluator.
    private static func expect(
        _ tls: TLS, trusts: (first: Bool, second: Bool), sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        for evaluator in [nil, DefaultTrustEvaluator()] {
            let session = session(tls, evaluator)
            for (server, isTrusted) in [
                (TestServers.nginxTLS, trusts.first), (.untrustedAuthority, trusts.second),
            ] {
                let error = await session.request(try server.url("/small.json")).serializingData().response.error
                let kind = isTrusted ? nil : RequestError.Kind.trust(.untrustedIssuer)
                #expect(error?.kind == kind, "\(String(describing: error))", sourceLocation: sourceLocation)
            }
            await session.shutdown()
        }
    }

    @Test(arguments: AuthoritySource.allCases) func `only the configured authorities are trusted`(
        _ source: AuthoritySource
    ) async throws {
        let files = try TestCertificates()
        try await Self.withFolder { folder in
            var tls = TLS()
            try await source.name([files.authority], in: &tls, folder)
            try await Self.expect(tls, trusts: (true, false))
        }
        try await Self.withFolder { folder in
            var tls = TLS()
            try await source.name([files.untrustedAuthority], in: &tls, folder)
            try await Self.expect(tls, trusts: (false, true))
        }
        try await Self.withFolder { folder in
            var tls = TLS()
            try await source.name([files.authority, files.untrustedAuthority], in: &tls, folder)
            try await Self.expect(tls, trusts: (true, true))
        }
    }

    @Test(arguments: [
        (AuthoritySource.file, AuthoritySource.certificates), (.file, .directory), (.hashedDirectory, .certificates),
    ])
    func `authorities of two options are trusted`(_ one: AuthoritySource, _ other: AuthoritySource) async throws {
        let files = try TestCertificates()
        try await Self.withFolder { folder in
            var tls = TLS()
            try await one.name([files.authority], in: &tls, folder)
            try await other.name([files.untrustedAuthority], in: &tls, folder)
            try await Self.expect(tls, trusts: (true, true))
        }
    }

    /// A root of the system's, which is in the file and in the directory.
    private static func systemRoot() throws -> X509Certificate {
        let file = try #require(Libcurl.authorityFile)
        return try #require(try Certificate.all(inFile: URL(filePath: file)).first).x509
    }

    /// No server here has a certificate by one of the system's authorities, so a root itself is looked at.
    @Test(arguments: AuthoritySource.allCases)
    func `the system's authorities are trusted only if they are configured`(_ source: AuthoritySource) async throws {
        let root = try Self.systemRoot()
        let files = try TestCertificates()
        try await Self.withFolder { folder in
            var tls = TLS()
            #expect(try Self.knows(root, tls))
            try await source.name([files.authority], in: &tls, folder)
            #expect(try !Self.knows(root, tls))
            tls.includesSystemAuthorities = true
            #expect(try Self.knows(root, tls))
            try await Self.expect(tls, trusts: (true, false))
        }
    }

    /// Whether a root is one that OpenSSL would go by; whether it may be a server's is no matter.
    private static func knows(_ root: X509Certificate, _ tls: TLS) throws -> Bool {
        let store = try AuthorityStore(Authorities(tls)).store()
        let code = store.verify([root], level: 1).verdict.code
        // 18: a certificate that signs itself and is not known.
        return code != 18
    }

    /// Reading a file changes the time of its last access, with `relatime` once a day.
    @Test func `a file that was only read has not changed`() {
        var status = stat()
        status.st_mtim.tv_sec = 1
        let version = FileStatus(status).version
        status.st_atim.tv_sec = 2
        #expect(FileStatus(status).version == version)
        status.st_nlink = 2
        #expect(FileStatus(status).version == version)
        let changes: [(inout stat) -> Void] = [
            { $0.st_mtim.tv_sec += 1 }, { $0.st_ctim.tv_nsec += 1 }, { $0.st_size += 1 }, { $0.st_ino += 1 },
        ]
        for change in changes {
            var other = status
            change(&other)
            #expect(FileStatus(other).version != version)
        }
    }

    @Test func `the system's authorities are read once for all sessions`() throws {
        let stores = try (1...2).map { _ in try AuthorityStore(Authorities(TLS())).store() }
        #expect(stores[0] === stores[1])
    }

    enum Flaw: String, CaseIterable {
        case noFile, emptyFile, garbage, noDirectory, fileAsDirectory, emptyDirectory, directoryWithoutCertificates
        case garbageInDirectory, garbageBesideCertificate, noCertificates, emptyPath

        func name(in tls: inout TLS, _ folder: URL) throws {
            let file = folder.appending(path: "file.pem")
            let authority = try TestCertificates().authority
            switch self {
            case .noFile: tls.caFile = file.path
            case .emptyFile, .garbage:
                try Data(self == .garbage ? "-----BEGIN CERTIFICATE-----\nAAAA\n".utf8 : "".utf8).write(to: file)
                tls.caFile = file.path
            case .noDirectory: tls.caDirectory = file.path
            case .fileAsDirectory: tls.caDirectory = authority
            case .emptyDirectory: tls.caDirectory = folder.path
            case .directoryWithoutCertificates:
                try Data("a".utf8).write(to: folder.appending(path: "README"))
                tls.caDirectory = folder.path
            case .garbageInDirectory, .garbageBesideCertificate:
                try Data("a".utf8).write(to: file)
                if self == .garbageBesideCertificate {
                    let other = folder.appending(path: "other.pem")
                    try FileManager.default.copyItem(at: URL(filePath: authority), to: other)
                }
                tls.caDirectory = folder.path
            case .noCertificates: tls.caCertificates = []
            case .emptyPath: tls.caDirectory = ""
            }
        }

        var option: String {
            switch self {
            case .noFile, .emptyFile, .garbage: "tls.caFile: "
            case .noCertificates: "tls.caCertificates: "
            default: "tls.caDirectory: "
            }
        }
    }

    /// Whatever else is named: the server's authority would be among it.
    @Test(arguments: Flaw.allCases, [false, true])
    func `with unreadable authorities, no server is trusted`(_ flaw: Flaw, _ isEvaluated: Bool) async throws {
        try await Self.withFolder { folder in
            var tls = TLS()
            try flaw.name(in: &tls, folder)
            if tls.caFile == nil { tls.caFile = try TestCertificates().authority }
            tls.includesSystemAuthorities = true
            let session = Self.session(tls, isEvaluated ? .disabled : nil)
            for _ in 1...2 {
                try await TestHarness.expect(
                    session.request(try TestServers.nginxTLS.url("/small.json")).serializingData(), in: session,
                    failsWith: .trust(.configuration), saying: "the TLS configuration cannot be used", flaw.option)
            }
            await session.shutdown()
        }
    }

    @Test func `authorities that change are read again`() async throws {
        let files = try TestCertificates()
        try await Self.withFolder { folder in
            let file = folder.appending(path: "authority.pem")
            var tls = TLS()
            tls.caFile = file.path
            let session = Self.session(tls)
            let url = try TestServers.nginxTLS.url("/small.json")
            for (authority, kind) in [
                (nil, RequestError.Kind.trust(.configuration)), (files.untrustedAuthority, .trust(.untrustedIssuer)),
                (files.authority, nil), (files.untrustedAuthority, .trust(.untrustedIssuer)),
                (nil, .trust(.configuration)),
            ] {
                try? FileManager.default.removeItem(at: file)
                if let authority { try FileManager.default.copyItem(at: URL(filePath: authority), to: file) }
                let request = session.request(url, headers: ["Connection": "close"]) { $0.httpVersion = .http1_1 }
                let error = await request.serializingData().response.error
                #expect(error?.kind == kind, "\(authority ?? "nothing"): \(String(describing: error))")
            }
            await session.shutdown()
        }
    }

    @Test func `a proxy is checked with the same authorities`() async throws {
        let files = try TestCertificates()
        let proxy = try TestServers.secureProxy.proxyURL()
        for (file, kind) in [
            (files.authority, nil), (files.untrustedAuthority, RequestError.Kind.trust(.untrustedIssuer)),
        ] {
            var configuration = Session.Configuration()
            configuration.proxy = .url(proxy)
            configuration.tls.caCertificates = try Certificate.all(inFile: URL(filePath: file))
            let session = Session(configuration: configuration)
            let error = await session.request(try TestServers.nginxTLS.url("/small.json")).serializingData().response
                .error
            #expect(error?.kind == kind)
            await session.shutdown()
        }
    }
}
