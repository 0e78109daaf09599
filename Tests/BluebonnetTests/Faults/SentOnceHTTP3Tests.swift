import BluebonnetTesting
import FoundationEssentials
import TestSupport
import Testing

@testable import Bluebonnet

/// The table of ``SentOnceTests`` for HTTP/3, by a server on aioquic.
///
/// Libcurl does not report which streams a GOAWAY has refused, so a POST that was sent fails after one. It is never sent
/// twice.
@Suite(.enabled(if: Libcurl.hasHTTP3, "libcurl with HTTP/3"), .timeLimit(.minutes(5))) struct SentOnceHTTP3Tests {
    typealias Moment = SentOnceTests.Moment
    typealias Body = SentOnceTests.Body
    typealias Place = SentOnceTests.Place
    typealias Outcome = SentOnceTests.Outcome

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

    struct Cell: Sendable, CustomStringConvertible {
        let end: End
        let moment: Moment
        let method: HTTPMethod
        let body: Body
        let place: Place

        var description: String { "\(end) \(moment) \(method.rawValue) \(body) \(place)" }
    }

    private static func cells(_ end: End) -> [Cell] {
        Moment.allCases.flatMap { moment in
            [(HTTPMethod.get, [Body.none]), (.put, Body.allCases), (.post, Body.allCases)].flatMap { method, bodies in
                bodies.filter { $0 != .none || moment != .part }.flatMap { body in
                    Place.allCases.map { Cell(end: end, moment: moment, method: method, body: body, place: $0) }
                }
            }
        }
    }

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
        try SentOnceTests.bytes.write(to: file)
        for cell in Self.cells(end) { try await check(cell, file) }
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
        let body = SentOnceTests.requestBody(cell.body, file)
        let answer = await session.request(url, method: cell.method) { $0.body = body }.validate()
            .serializingString().response
        other?.cancel()
        let counting = try HTTP3Tests.session()
        let counts = try await counting.request(try server.url("/counts?key=\(key)"))
            .serializingDecodable(SentOnceTests.Counts.self).value
        await counting.shutdown()
        let outcome: Outcome =
            answer.error == nil
            ? .sentAgain
            : answer.error?.kind == .requestBody(.notReplayable) ? .notReplayable : .failed
        #expect(Self.outcomes(of: cell).contains(outcome), "\(cell): \(answer), \(counts)")
        #expect(counts.processed <= (cell.method == .post ? 1 : 2), "\(cell): \(counts)")
        #expect(counts.requests <= 2, "\(cell): \(counts)")
        let sum = cell.body == .none ? 0 : SentOnceTests.sum
        #expect(Set(counts.sums).isSubset(of: [sum]), "\(cell): \(counts)")
        #expect(answer.error?.isSafeToRetry != true || counts.processed == 0, "\(cell): \(answer), \(counts)")
        if outcome == .sentAgain {
            #expect(counts.sums.count == 1, "\(cell): \(counts)")
            #expect(answer.value == "\(counts.sums.first ?? 1)", "\(cell)")
        } else if cell.end.isRefusal, cell.moment != .head {
            #expect(counts.processed == 0, "\(cell): \(counts)")
        }
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
            $0.body = .data(SentOnceTests.bytes)
        }.validate().serializingString().response
        other.cancel()
        #expect(answer.value == "\(SentOnceTests.sum)", "\(answer)")
        #expect(answer.metrics?.localAddress?.port != last.metrics?.localAddress?.port)
        await session.shutdown()
    }
}
