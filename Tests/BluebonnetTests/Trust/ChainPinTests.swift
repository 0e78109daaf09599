import Bluebonnet
import FoundationEssentials
import TestSupport
import Testing

/// Pins of a real chain: a server, an intermediate authority, a root.
@Suite(.timeLimit(.minutes(10))) struct ChainPinTests {
    /// The pinned certificate or key of the chain.
    enum Pin: String, CaseIterable, Sendable {
        case leaf = "three-levels"
        case intermediate
        case root
        case otherLeaf = "extra"
        case otherIntermediate = "other-intermediate"

        var isOfTheChain: Bool { self == .leaf || self == .intermediate || self == .root }

        func certificate() throws -> Certificate {
            guard self == .root else { return try TrustFixture.chainCertificate(rawValue) }
            return try Certificate.all(inFile: URL(filePath: try TestCertificates().authority))[0]
        }
    }

    /// How pins are looked for.
    enum PinSearch: CaseIterable, Sendable {
        case certificates, certificatesAlone, certificatesAsAuthorities, keys, keysAlone

        func evaluator(_ pins: [Certificate]) -> any ServerTrustEvaluating {
            switch self {
            case .certificates: .pinnedCertificates(pins)
            case .certificatesAlone: .pinnedCertificates(pins, performDefaultValidation: false, validateHost: false)
            case .certificatesAsAuthorities: .pinnedCertificates(pins, acceptSelfSignedCertificates: true)
            case .keys: .publicKeys(pins.map(\.publicKey))
            case .keysAlone:
                .publicKeys(pins.map(\.publicKey), performDefaultValidation: false, validateHost: false)
            }
        }

        /// The reason when no pin matches.
        var reason: RequestError.TrustReason {
            switch self {
            case .certificates, .certificatesAlone: .certificatePinningFailed
            case .certificatesAsAuthorities: .untrustedIssuer
            case .keys, .keysAlone: .publicKeyPinningFailed
            }
        }
    }

    private static func kind(
        _ evaluator: any ServerTrustEvaluating, _ server: ChainServer
    ) async throws -> RequestError.Kind? {
        let session = try TrustFixture.session(evaluator)
        let response = await session.request("https://127.0.0.1:\(try server.port())/").serializingData().response
        await session.shutdown()
        return response.error?.kind
    }

    @Test(arguments: Pin.allCases, PinSearch.allCases)
    func `a pin of any certificate in the chain is accepted`(_ pin: Pin, _ search: PinSearch) async throws {
        let kind = try await Self.kind(search.evaluator([try pin.certificate()]), .threeLevels)
        #expect(kind == (pin.isOfTheChain ? nil : .trust(search.reason)))
        // In what order the authorities are shown, if at all, does not matter.
        guard pin == .intermediate || pin == .root else { return }
        #expect(try await Self.kind(search.evaluator([try pin.certificate()]), .reversed) == nil)
    }

    @Test(arguments: PinSearch.allCases)
    func `one matching pin of several is enough, at any position`(_ search: PinSearch) async throws {
        let (right, wrong) = (try Pin.intermediate.certificate(), try Pin.otherIntermediate.certificate())
        #expect(try await Self.kind(search.evaluator([wrong, right]), .threeLevels) == nil)
        #expect(try await Self.kind(search.evaluator([right, wrong]), .threeLevels) == nil)
    }

    /// These servers send the pinned certificate, which has signed nothing in their chain.
    @Test(arguments: [Pin.intermediate, .root], PinSearch.allCases)
    func `a pinned certificate that is sent but has signed nothing does not match`(_ pin: Pin, _ search: PinSearch)
        async throws
    {
        let kind = try await Self.kind(search.evaluator([try pin.certificate()]), .impostor)
        #expect(kind == .trust(search == .keys || search == .certificates ? .untrustedIssuer : search.reason))
    }

    @Test(arguments: PinSearch.allCases)
    func `a certificate outside of the chain does not match a pin`(_ search: PinSearch) async throws {
        let kind = try await Self.kind(search.evaluator([try Pin.otherIntermediate.certificate()]), .extra)
        #expect(kind == .trust(search.reason))
    }

    /// Otherwise the owner of a certificate by the pinned authority could issue more of them.
    @Test(arguments: [PinSearch.certificatesAlone, .keysAlone])
    func `a pin does not match through a certificate that is no authority`(_ search: PinSearch) async throws {
        let middle = try TrustFixture.chainCertificate("leaf-authority")
        let kind = try await Self.kind(search.evaluator([middle]), .notAuthority)
        #expect(kind == .trust(search.reason))
    }

    @Test func `a server with a new key is refused at the next connection`() async throws {
        let server = try await Recorder(.threeLevels)
        let leaf = try Pin.leaf.certificate()
        let session = try TrustFixture.session(.publicKeys([leaf.publicKey]))
        for _ in 1...2 { #expect(await session.request(server.url("/before")).serializingData().response.error == nil) }
        #expect(try await server.counts().connections == 1)
        try await server.change(to: "rotated")
        let response = await session.request(server.url("/after"), method: .post).serializingData().response
        #expect(response.error?.kind == .trust(.publicKeyPinningFailed))
        #expect(try await !server.counts().requests.contains { $0.contains("/after") })
        // A pin of the intermediate authority is for whatever key comes next.
        let lenient = try TrustFixture.session(.publicKeys([try Pin.intermediate.certificate().publicKey]))
        #expect(await lenient.request(server.url("/lenient")).serializingData().response.error == nil)
        try await server.change(to: "three-levels")
        #expect(await session.request(server.url("/again")).serializingData().response.error == nil)
        await session.shutdown()
        await lenient.shutdown()
        try await server.stop()
    }

    @Test(arguments: [TestServers.proxy, .socks])
    func `pins are checked through a proxy, over HTTP/2 and HTTP/1.1`(_ proxy: TestServers) async throws {
        let route = Session.Configuration.Proxy.url(try proxy.proxyURL())
        for version in [HTTPVersionPreference.automatic, .http1_1] {
            for (pin, kind) in [
                (Pin.intermediate, nil), (.otherIntermediate, RequestError.Kind.trust(.certificatePinningFailed)),
            ] {
                let server = try await Recorder(.threeLevels)
                let session = try TrustFixture.session(.pinnedCertificates([try pin.certificate()])) {
                    $0.proxy = route
                    $0.httpVersion = version
                }
                let response = await session.request(server.url("/?secret")).serializingData().response
                #expect(response.error?.kind == kind)
                #expect(try await (server.counts().bytes > 0) == (kind == nil))
                #expect(try await server.counts().connections == 1)
                await session.shutdown()
                try await server.stop()
            }
        }
    }

    @Test func `the pin of a host does not apply to another host`() async throws {
        let port = try ChainServer.wildcard.port()
        let own = try TrustFixture.chainCertificate("wildcard")
        let manager = ServerTrustManager(evaluators: [
            "a.example.test": .pinnedCertificates([own]),
            "b.example.test": .pinnedCertificates([try Pin.leaf.certificate()]),
            "*.example.test": .publicKeys([try Pin.leaf.certificate().publicKey]),
        ])
        let session = try TrustFixture.session(manager) { $0.dns.connectTo = [":\(port)": "127.0.0.1:\(port)"] }
        for (host, kind) in [
            ("a", nil), ("A", nil), ("b", RequestError.Kind.trust(.certificatePinningFailed)),
            ("c", .trust(.publicKeyPinningFailed)),
        ] {
            let response = await session.request("https://\(host).example.test:\(port)/").serializingData().response
            #expect(response.error?.kind == kind, "\(host)")
        }
        await session.shutdown()
    }

    /// An address has several spellings, which all connect to the same server.
    @Test(arguments: ["127.0.0.1", "127.1", "2130706433", "0x7f.0.0.1", "0177.0.0.1"])
    func `the pin of an address applies in any spelling`(_ host: String) async throws {
        let manager = ServerTrustManager(
            allHostsMustBeEvaluated: false,
            evaluators: ["127.0.0.1": .pinnedCertificates([try Pin.otherLeaf.certificate()])])
        let session = try TrustFixture.session(manager)
        let url = "https://\(host):\(try ChainServer.threeLevels.port())/"
        let error = await session.request(url).serializingData().response.error
        #expect(error?.kind == .trust(.certificatePinningFailed))
        await session.shutdown()
    }

    /// A session that was resumed would show no certificate to look for a pin in.
    @Test(arguments: [Session.Configuration.TLS.Version.v1_2, .v1_3])
    func `no TLS session is resumed and no early data is sent`(
        _ version: Session.Configuration.TLS.Version
    ) async throws {
        let count = Counter()
        let intermediate = try Pin.intermediate.certificate()
        let evaluator = ClosureTrustEvaluator { trust, host in
            count.next()
            try PinnedCertificatesTrustEvaluator(certificates: [intermediate]).evaluate(trust, forHost: host)
        }
        let session = try TrustFixture.session(evaluator) {
            $0.tls.minimumVersion = version
            $0.tls.maximumVersion = version
            $0.httpVersion = .http1_1
        }
        let answers = try await Self.answers(5, from: session)
        #expect(Set(answers.map { $0[0] }).count == 5 && count.value == 5)
        #expect(answers.allSatisfy { $0.dropFirst() == [".", "early"] })
        // The server would have it: without a manager, sessions are resumed.
        var configuration = Session.Configuration()
        configuration.tls.caFile = try TestCertificates().authority
        configuration.tls.minimumVersion = version
        configuration.tls.maximumVersion = version
        configuration.httpVersion = .http1_1
        configuration.proxy = .none
        let withoutManager = try await Self.answers(5, from: Session(configuration: configuration))
        #expect(withoutManager.contains { $0[1] == "r" })
        #expect(withoutManager.allSatisfy { $0[2] == "early" })
    }

    /// A server's answers on so many connections, one after the other.
    private static func answers(_ count: Int, from session: Session) async throws -> [[Substring]] {
        let url = "https://127.0.0.1:\(try ChainServer.threeLevels.port())/"
        var answers: [[Substring]] = []
        for _ in 1...count {
            let answer = try await session.request(url, headers: ["Connection": "close"]).serializingString().value
            let words = answer.split(whereSeparator: \.isWhitespace)
            try #require(words.count == 3)
            answers.append(words)
        }
        await session.shutdown()
        return answers
    }
}
