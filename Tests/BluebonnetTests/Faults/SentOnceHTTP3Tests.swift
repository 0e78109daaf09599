import BluebonnetTesting
import FoundationEssentials
import TestSupport
import Testing

@testable import Bluebonnet

/// The table of ``SentOnceTests`` for HTTP/3, by a server on aioquic.
///
/// Libcurl does not report which streams a GOAWAY has refused, so a POST that was sent fails after one. It is never sent
/// twice.
@Suite(.enabled(if: Libcurl.hasHTTP3, "libcurl with HTTP/3"), .timeLimit(.minutes(10))) struct SentOnceHTTP3Tests {
    enum End: String, CaseIterable, Sendable {
        case refused
        case http1
        case goAwayBelow = "goaway-below"
        case goAwayAbove = "goaway-above"
        case reset
        case cancelled
        case close
        case closeError = "close-error"
        case statelessReset = "stateless-reset"

        /// Whether the server says that it has not processed the request.
        var isRefusal: Bool { [.refused, .http1, .goAwayBelow].contains(self) }
    }

    private typealias Cell = SentOnce.Cell<End>
    private typealias Outcome = SentOnce.Outcome

    /// The possible outcomes of a cell.
    private static func outcomes(of cell: Cell) -> Set<Outcome> {
        // With OpenSSL's QUIC, connections also fail by themselves under load.
        if QUICConnections.areHidden { return [.sentAgain, .failed, .notReplayable] }
        if cell.moment == .head { return [.failed] }
        // Whether the body was read by then depends on the race of both sides.
        let isBeforeBody = cell.body == .oneShot && cell.moment == .opened
        if cell.end == .refused {
            guard cell.body == .oneShot else { return [.sentAgain] }
            return isBeforeBody ? [.sentAgain, .notReplayable] : [.notReplayable]
        }
        guard cell.method != .post else { return [.failed] }
        // Whatever has happened to the stream: libcurl before 8.15 tells no reason.
        guard cell.body == .oneShot else { return [.sentAgain] }
        return isBeforeBody ? [.sentAgain, .failed] : [.failed]
    }

    @Test(arguments: End.allCases)
    func `a request is sent again exactly if it was not processed, or may be repeated`(_ end: End) async throws {
        let directory = try TestDirectory()
        let file = directory.url.appending(path: "body")
        try SentOnce.bytes.write(to: file)
        for cell in SentOnce.cells(end) { try await check(cell, file) }
    }

    private func check(_ cell: Cell, _ file: URL) async throws {
        let session = try HTTP3Tests.session(retries: false) {
            $0.eventLoops = 1
            if QUICConnections.areHidden { $0.timeouts = Timeouts(connect: .seconds(3), idle: .seconds(3)) }
        }
        let server = TestServers.http3
        let key = UUID().uuidString
        if cell.place != .new {
            let first = await session.request(try server.url("/fields")).serializingData().response
            #expect(first.error == nil || QUICConnections.areHidden, "\(first)")
        }
        // The other request on the connection ends when the test has seen enough.
        let other = cell.place == .shared ? session.streamRequest(try server.url("/drip")) : nil
        if let other { _ = try? await other.streamTask().response }
        let url = try server.url("/fate?key=\(key)&at=\(cell.moment.rawValue)&by=\(cell.end.rawValue)")
        let body = SentOnce.requestBody(cell.body, file)
        let answer = await session.request(url, method: cell.method) { $0.body = body }.validate()
            .serializingString().response
        other?.cancel()
        let counting = try HTTP3Tests.session()
        let counts = try await counting.request(try server.url("/counts?key=\(key)"))
            .serializingDecodable(SentOnce.Counts.self).value
        await counting.shutdown()
        SentOnce.judge(answer, counts, in: cell, isRefusal: cell.end.isRefusal, expecting: Self.outcomes(of: cell))
        await session.shutdown()
    }

    /// Without ``RefusedStreams``, the POST fails, because it is not known that it was not sent.
    @Test(.enabled(if: !QUICConnections.areHidden))
    func `a request that cannot be opened after a GOAWAY uses another connection`() async throws {
        let session = try HTTP3Tests.session(retries: false) { $0.eventLoops = 1 }
        let server = TestServers.http3
        // The connection stays open for this response.
        let other = session.streamRequest(try server.url("/drip"))
        _ = try await other.streamTask().response
        let last = await session.request(try server.url("/goaway")).serializingString().response
        #expect(last.value == "last", "\(last)")
        let key = UUID().uuidString
        let answer = await session.request(try server.url("/fate?key=\(key)&at=all&by=none"), method: .post) {
            $0.body = .data(SentOnce.bytes)
        }.validate().serializingString().response
        other.cancel()
        #expect(answer.value == "\(SentOnce.sum)", "\(answer)")
        #expect(answer.metrics?.localAddress?.port != last.metrics?.localAddress?.port)
        await session.shutdown()
    }
}
