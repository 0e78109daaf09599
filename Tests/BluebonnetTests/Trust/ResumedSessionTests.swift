import Foundation
import TestSupport
import Testing

@testable import Bluebonnet

/// A resumed TLS session has no certificate, so the first evaluation of the server would still apply.
///
/// Libcurl stores TLS sessions in ``SharedTLSSessions`` before 8.12, and in the multi handle since 8.12.
@Suite(.timeLimit(.minutes(10))) struct ResumedSessionTests {
    typealias Version = Session.Configuration.TLS.Version

    /// A file with one of two authorities, and a session that uses the file.
    private struct FixtureSession {
        let file: URL
        let session: Session

        init(_ version: Version, _ change: (inout Session.Configuration) throws -> Void = { _ in }) throws {
            file = FileManager.default.temporaryDirectory.appending(path: "bluebonnet-\(UUID().uuidString).pem")
            var configuration = Session.Configuration()
            configuration.proxy = .none
            configuration.httpVersion = .http1_1
            configuration.tls.caFile = file.path
            configuration.tls.minimumVersion = version
            configuration.tls.maximumVersion = version
            try change(&configuration)
            session = Session(configuration: configuration)
        }

        func trust(_ authority: String) throws {
            try? FileManager.default.removeItem(at: file)
            try FileManager.default.copyItem(at: URL(filePath: authority), to: file)
        }

        /// What so many requests come to, each on a connection of its own, one after the other or all at once.
        func outcomes(_ count: Int, _ url: String, atOnce: Bool = false) async -> [Outcome] {
            guard atOnce else {
                var outcomes: [Outcome] = []
                for _ in 0..<count { outcomes.append(await outcome(url)) }
                return outcomes
            }
            return await withTaskGroup(of: Outcome.self) { group in
                for _ in 0..<count { group.addTask { await outcome(url) } }
                return await group.reduce(into: []) { $0.append($1) }
            }
        }

        private func outcome(_ url: String) async -> Outcome {
            let response = await session.request(url, headers: ["Connection": "close"]).serializingString().response
            guard let text = response.value else { return .failed(response.error?.kind) }
            // The server says of each connection whether its session was resumed.
            return text.split(whereSeparator: \.isWhitespace).dropFirst().first == "r" ? .resumed : .full
        }

        func end() async {
            await session.shutdown()
            try? FileManager.default.removeItem(at: file)
        }
    }

    private enum Outcome: Equatable {
        case full, resumed
        case failed(RequestError.Kind?)
    }

    private static let untrusted = Outcome.failed(.trust(.untrustedIssuer))

    /// Without ``SharedTLSSessions``, only one is resumed before 8.12.
    ///
    /// A ticket of TLS 1.3 is used once (RFC 8446 §C.4), and how many have arrived when the burst begins is chance.
    @Test(arguments: [(Version.v1_2, 8), (.v1_3, 1)])
    func `connections that are opened at once resume sessions`(_ version: Version, minimum: Int) async throws {
        let scene = try FixtureSession(version)
        try scene.trust(TestCertificates().authority)
        let url = "https://127.0.0.1:\(try ChainServer.threeLevels.port())/"
        #expect(await scene.outcomes(1, url) == [.full])
        let burst = await scene.outcomes(8, url, atOnce: true)
        #expect(burst.count { $0 == .resumed } >= minimum, "\(burst)")
        await scene.end()
    }

    @Test(arguments: [Version.v1_2, .v1_3], [false, true])
    func `no session is resumed after its authority was removed`(
        _ version: Version, _ atOnce: Bool
    ) async throws {
        let files = try TestCertificates()
        let url = "https://127.0.0.1:\(try ChainServer.threeLevels.port())/"
        let scene = try FixtureSession(version)
        try scene.trust(files.authority)
        // The control: sessions are resumed while nothing changes.
        let first = await scene.outcomes(8, url, atOnce: atOnce) + scene.outcomes(2, url)
        #expect(first.contains(.resumed) && first.allSatisfy { $0 == .full || $0 == .resumed }, "\(first)")
        for _ in 1...2 {
            try scene.trust(files.untrustedAuthority)
            let second = await scene.outcomes(8, url, atOnce: atOnce) + scene.outcomes(2, url)
            #expect(second.allSatisfy { $0 == Self.untrusted }, "\(second)")
            try scene.trust(files.authority)
            let third = await scene.outcomes(8, url, atOnce: atOnce) + scene.outcomes(2, url)
            #expect(third.contains(.resumed) && third.allSatisfy { $0 == .full || $0 == .resumed }, "\(third)")
        }
        await scene.end()
    }

    @Test(arguments: [Version.v1_2, .v1_3])
    func `no proxy's session is resumed after its authority was removed`(_ version: Version) async throws {
        let files = try TestCertificates()
        let proxy = try TestServers.secureProxy.proxyURL()
        let url = try TestServers.nginx.url("/small.json").absoluteString
        let scene = try FixtureSession(version) { $0.proxy = .url(proxy) }
        for _ in 1...2 {
            try scene.trust(files.authority)
            #expect(await scene.outcomes(4, url) == Array(repeating: .full, count: 4))
            try scene.trust(files.untrustedAuthority)
            #expect(await scene.outcomes(4, url) == Array(repeating: Self.untrusted, count: 4))
        }
        await scene.end()
    }
}
