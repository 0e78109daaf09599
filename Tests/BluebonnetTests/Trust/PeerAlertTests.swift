import FoundationEssentials
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

    @Test(arguments: [0, 90, 100] as [UInt8])
    func `these alerts are not errors`(number: UInt8) { #expect(PeerAlert(number) == nil) }

    @Test func `an alert explains the failures of its origin for a second`() throws {
        let (first, second) = (try #require(PeerAlert(42)), try #require(PeerAlert(116)))
        var alerts = PeerAlerts()
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
