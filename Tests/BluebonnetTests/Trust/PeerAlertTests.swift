import Foundation
import Glibc
import TestSupport
import Testing

@testable import Bluebonnet

@Suite struct PeerAlertTests {
    private static func origin(_ host: String) -> Origin {
        Origin(of: URL(string: "https://\(host)/") ?? URL(filePath: "/"))
    }

    @Test(arguments: [
        (42, "bad certificate", RequestError.TrustReason.clientCertificateRefused),
        (45, "certificate expired", .clientCertificateRefused), (48, "unknown ca", .clientCertificateRefused),
        (49, "access denied", .clientCertificateRefused), (116, "certificate required", .clientCertificateRequired),
        (40, "handshake failure", .handshake), (47, "illegal parameter", .handshake),
        (112, "unrecognized name", .handshake), (255, "255", .handshake),
    ])
    func `an alert has a name and a reason`(number: UInt8, name: String, reason: RequestError.TrustReason) throws {
        let alert = try #require(PeerAlert(number))
        #expect(alert.name == name && alert.reason == reason)
    }

    @Test(arguments: [
        (20, false, false, RequestError.Kind.trust(.handshake)), (20, true, false, .connection(.lost)),
        (80, true, false, .connection(.lost)), (40, true, false, .trust(.handshake)),
        (116, true, false, .trust(.clientCertificateRequired)), (49, true, false, .trust(.clientCertificateRefused)),
        (49, true, true, .connection(.lost)), (80, true, true, .connection(.lost)),
    ])
    func `the kind depends on what the connection was used for`(
        number: UInt8, wasSent: Bool, hasHead: Bool, kind: RequestError.Kind
    ) throws {
        #expect(try #require(PeerAlert(number)).kind(wasSent: wasSent, hasHead: hasHead) == kind)
    }

    private static func session(_ files: TestCertificates, _ policy: RetryPolicy? = nil) -> Session {
        var configuration = Session.Configuration()
        configuration.proxy = .none
        configuration.tls.caFile = files.authority
        return Session(configuration: configuration, interceptor: policy)
    }

    @Test(.timeLimit(.minutes(5)), arguments: ["/within", "/before"])
    func `an alert after the handshake is a lost connection`(_ path: String) async throws {
        let files = try TestCertificates()
        let program = try Python.start("servers/alert.py", [files.server, files.serverKey])
        defer { program.send(SIGKILL) }
        var lines = program.lines.makeAsyncIterator()
        let session = Self.session(files)
        for version in ["1.2", "1.3"] {
            let port = try #require(await lines.next())
            // A request that is not sent again.
            let request = session.request("https://127.0.0.1:\(port)\(path)", method: .post)
            let error = try #require(await request.serializingData().response.error)
            #expect(error.kind == .connection(.lost), "TLS \(version): \(error)")
            #expect(error.detail?.contains("the server sent the alert bad record mac") == true, "\(version): \(error)")
            #expect(error.statusCode == (path == "/within" ? 200 : nil))
        }
        await session.shutdown()
    }

    /// Without ``HiddenVerdicts``, it is a failed handshake before 8.23, which a policy repeats.
    @Test(.timeLimit(.minutes(5))) func `a certificate with a wrong signature is refused`() async throws {
        let files = try TestCertificates()
        let pem = try String(contentsOf: URL(filePath: files.server), encoding: .utf8)
        let (begin, end) = ("-----BEGIN CERTIFICATE-----\n", "\n-----END CERTIFICATE-----")
        let first = try #require(pem.range(of: begin)).upperBound
        let last = try #require(pem.range(of: end)).lowerBound
        var bytes = try #require(Data(base64Encoded: pem[first..<last].filter { $0 != "\n" }))
        bytes[bytes.count - 1] ^= 1
        let file = FileManager.default.temporaryDirectory.appending(path: "bluebonnet-\(UUID().uuidString).pem")
        defer { try? FileManager.default.removeItem(at: file) }
        try Data((begin + bytes.base64EncodedString() + end + "\n").utf8).write(to: file)
        let program = try Python.start("servers/alert.py", [file.path, files.serverKey])
        defer { program.send(SIGKILL) }
        var lines = program.lines.makeAsyncIterator()
        let session = Self.session(files, RetryPolicy())
        for _ in 1...2 {
            let port = try #require(await lines.next())
            let request = session.request("https://127.0.0.1:\(port)/")
            let error = await request.serializingData().response.error
            #expect(error?.kind == .trust(.certificateRefused), "\(String(describing: error))")
            #expect(request.retryCount == 0)
        }
        await session.shutdown()
    }

    @Test(arguments: [0, 90, 100] as [UInt8])
    func `these alerts are not errors`(number: UInt8) { #expect(PeerAlert(number) == nil) }

    @Test func `an alert explains the failures of its origin for a second`() throws {
        let (first, second) = (try #require(PeerAlert(42)), try #require(PeerAlert(116)))
        var alerts = PeerActs<PeerAlert>()
        alerts.received(first, from: Self.origin("a.test"), at: 0)
        alerts.received(second, from: Self.origin("b.test"), at: 500_000_000)
        #expect(alerts.last(from: Self.origin("a.test"), at: 1_000_000_000) == first)
        #expect(alerts.last(from: Self.origin("a.test"), at: 1_000_000_001) == nil)
        #expect(alerts.last(from: Self.origin("b.test"), at: 1_000_000_001) == second)
        #expect(alerts.last(from: Self.origin("c.test"), at: 0) == nil)
        for number in 0..<1000 { alerts.received(first, from: Self.origin("\(number).test"), at: 600_000_000) }
        #expect(alerts.last(from: Self.origin("999.test"), at: 600_000_000) == first)
        #expect(alerts.last(from: Self.origin("1.test"), at: 600_000_000) == nil)
    }
}
