import Foundation
import TestSupport
import Testing

@testable import Bluebonnet

/// Chains that are designed to take a long time.
@Suite(.timeLimit(.minutes(10))) struct LongChainTests {
    // MARK: The search

    /// A certificate without cryptography.
    private struct Link: ChainLink, Equatable {
        let number: Int
        let name: String
        let issuerName: String
        let issuer: Int

        var isSelfIssued: Bool { name == issuerName }
        func isIssued(by issuer: Link) -> Bool { issuer.name == issuerName }
        func isSigned(by issuer: Link) -> Bool { issuer.number == self.issuer }
    }

    /// The links from 0 on, each of which has been signed by the next; the last by itself.
    private static func links(_ count: Int, name: (Int) -> String) -> [Link] {
        (0..<count).map { number in
            let issuer = min(number + 1, count - 1)
            return Link(number: number, name: name(number), issuerName: name(issuer), issuer: issuer)
        }
    }

    /// All certificates except the first and the last have two names.
    ///
    /// The last certificate is in the correct position.
    private static func namesakes(_ count: Int) -> [Link] {
        links(count) { $0 == 0 ? "leaf" : $0 == count - 1 ? "root" : "\($0 % 2)" }
    }

    @Test(arguments: [1, 2, 3, 50, 101]) func `a chain needs one check for each signature`(_ count: Int) {
        let links = Self.links(count) { "\($0)" }
        for shown in [links, [links[0]] + links.dropFirst().reversed()] {
            let search = ChainSearch(shown)
            #expect(search.chain == links)
            #expect(search.checks == count - 1)
        }
    }

    @Test func `certificates with other names need no checks`() {
        let links = Self.links(3) { "\($0)" }
        let others = (10..<500).map { Link(number: $0, name: "other", issuerName: "other \($0)", issuer: 0) }
        let search = ChainSearch([links[0]] + others + [links[2], links[1]])
        #expect(search.chain == links)
        #expect(search.checks == 2)
    }

    @Test func `each of a few certificates with the same name is tried`() {
        let links = Self.namesakes(10)
        let search = ChainSearch([links[0]] + links.dropFirst().reversed())
        #expect(search.chain == links)
        #expect(search.checks > 9 && search.checks < 45)
    }

    @Test(arguments: [102, 210, 1000]) func `a chain that needs more than 100 checks is refused`(_ count: Int) {
        for links in [Self.links(count) { "\($0)" }, Self.namesakes(count)] {
            for shown in [links, [links[0]] + links.dropFirst().reversed()] {
                let search = ChainSearch(shown)
                #expect(search.chain == nil)
                #expect(search.checks == 100)
            }
        }
    }

    @Test func `a chain without an issuer is verified as far as possible`() {
        let links = Self.links(5) { "\($0)" }
        #expect(ChainSearch([Link]()).chain == [])
        #expect(ChainSearch(Array(links.prefix(3))).chain == Array(links.prefix(3)))
        #expect(ChainSearch([links[0], links[2]]).chain == [links[0]])
    }

    // MARK: On the wire

    /// The ways in which evaluators search for their own chain.
    enum PinSearch: CaseIterable, Sendable {
        case ownAuthorities, certificatesAlone, keysAlone, closure, awaitedClosure, composite, revocation

        func evaluator(_ pins: [Certificate]) -> any ServerTrustEvaluating {
            switch self {
            case .ownAuthorities: .pinnedCertificates(pins, acceptSelfSignedCertificates: true)
            case .certificatesAlone: .pinnedCertificates(pins, performDefaultValidation: false)
            case .keysAlone: .publicKeys(pins.map(\.publicKey), performDefaultValidation: false)
            case .closure: ClosureTrustEvaluator { trust, _ in _ = trust.authenticatedChain[0] }
            case .awaitedClosure: AsyncClosureTrustEvaluator { trust, _ in _ = trust.authenticatedChain[0] }
            case .composite:
                .composite((1...10).map { _ in ClosureTrustEvaluator { trust, _ in _ = trust.authenticatedChain } })
            case .revocation: .revocation(performDefaultValidation: false)
            }
        }
    }

    /// Calls a function with a server that shows a long chain, and with the last one's issuer.
    private static func withServer(
        _ shape: String, _ count: Int, _ body: (Recorder, Certificate) async throws -> Void
    ) async throws {
        let file = FileManager.default.temporaryDirectory.appending(path: "bluebonnet-\(UUID().uuidString)").path
        defer {
            for end in ["chain.pem", "root.pem", "key"] {
                try? FileManager.default.removeItem(atPath: "\(file).\(end)")
            }
        }
        _ = try await Python.run("servers/long_chain.py", [file, shape, "\(count)"])
        let server = try await Recorder(path: file)
        try await body(server, try Certificate.all(inFile: URL(filePath: "\(file).root.pem"))[0])
        try await server.stop()
    }

    @Test(arguments: ["line", "names"])
    func `a server that sends 210 certificates is refused and nothing is sent`(_ shape: String) async throws {
        try await Self.withServer(shape, 209) { server, root in
            for search in PinSearch.allCases {
                let session = try TrustFixture.session(search.evaluator([root]))
                for _ in 1...2 {
                    let error = await session.request(server.url()).serializingData().response.error
                    #expect(error?.kind == .trust(.chainTooLong), "\(search): \(error.map { "\($0)" } ?? "no error")")
                    #expect(error?.detail == "210 certificates were shown, and no more than 100 signatures are checked")
                }
                await session.shutdown()
            }
            #expect(try await server.counts().bytes == 0)
            guard shape == "line" else { return }
            // Without a manager, and by an authority that is trusted, OpenSSL stops at the same depth.
            let session = TestHarness.session { $0.tls.caCertificates = [root] }
            let error = await session.request(server.url()).serializingData().response.error
            #expect(error?.kind == .trust(.chainTooLong), "\(error.map { "\($0)" } ?? "no error")")
            await session.shutdown()
        }
    }

    /// The control: the same certificates, but few enough.
    @Test func `a server that sends 41 certificates is evaluated with all of them`() async throws {
        try await Self.withServer("line", 40) { server, root in
            let last = Locked<Certificate?>(nil)
            let session = try TrustFixture.session(
                ClosureTrustEvaluator { trust, _ in
                    let chain = trust.authenticatedChain
                    last.withLock { $0 = chain.last }
                    guard chain.count == 41 else { throw TestFailure("\(chain.count)") }
                })
            #expect(await session.request(server.url()).serializingData().response.error == nil)
            await session.shutdown()
            let pin = try #require(last.withLock { $0 })
            for search in [PinSearch.ownAuthorities, .certificatesAlone, .keysAlone] {
                let session = try TrustFixture.session(search.evaluator([pin]))
                let error = await session.request(server.url()).serializingData().response.error
                #expect(error == nil, "\(search): \(error.map { "\($0)" } ?? "")")
                await session.shutdown()
            }
            let session2 = try TrustFixture.session(PinSearch.ownAuthorities.evaluator([root]))
            #expect(await session2.request(server.url()).serializingData().response.error == nil)
            await session2.shutdown()
        }
    }

    /// A trusted server needs no search.
    @Test func `a server that sends 210 unnecessary certificates is accepted without a search`() async throws {
        try await Self.withServer("line", 209) { server, _ in
            let session = try TrustFixture.session(.disabled)
            #expect(await session.request(server.url()).serializingData().response.error == nil)
            await session.shutdown()
        }
    }
}
