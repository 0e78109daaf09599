import Testing

@testable import Bluebonnet

/// The lines of libcurl's trace that tell the fate of a stream.
struct RefusedStreamsTests {
    @Test(arguments: [
        ("[HTTP/2] [3] RESET: REFUSED_STREAM (err 7)\n", RefusedStreams.Event.reset(.refused)),
        ("[HTTP/2] [13] RESET: HTTP_1_1_REQUIRED (err 13)\n", .reset(.requiresHTTP1)),
        ("[HTTP/2] [3] RESET: INTERNAL_ERROR (err 2)\n", nil), ("[HTTP/2] [3] CLOSED\n", .closed),
        ("[HTTP/3] [40] CLOSED", .closed),
        ("[HTTP/3] [0] RESET: error 267\n", .reset(.refused)),
        ("[HTTP/3] [0] RESET: error 272\n", .reset(.requiresHTTP1)),
        ("[HTTP/2] [3] OPENED stream for https://a.test/", .opened),
        ("[HTTP/3] [0] OPENED stream for https://a.test/", .opened),
        ("[HTTP/3] h3sid[80] failed to send, connection is closing\n", .unopened),
        ("[0-0] [HTTP/3] h3sid[80] failed to send -> -402 (ERR_NOMEM)\n", nil),
        ("[HTTP/3] h3sid[80]", nil), ("[HTTP/2] h3sid[80] failed to send", nil),
        ("[0-0] [HTTP/2] [3] RESET: REFUSED_STREAM (err 7)\n", .reset(.refused)),
        ("[12-x] [HTTP/3] [4] OPENED stream for https://a.test/", .opened), ("[a-0] [HTTP/2] [3] CLOSED", nil),
        ("[HTTP/2] [3] OPEN", nil), ("[HTTP/2] [3]", nil), ("[HTTP/2] [3] ", nil), ("[0-0] ", nil), ("[", nil),
        ("[HTTP/3] [0] RESET: error 256\n", nil), ("[HTTP/3] [0] RESET: error", nil), ("", nil), ("[HTTP/", nil),
        // The text of a server, or of the request.
        ("[HTTP/2] [0] <- FRAME[GOAWAY, error=0, reason='[HTTP/2] [3] RESET: REFUSED_STREAM', last_stream=1]", nil),
        ("[HTTP/2] [1] [x: RESET: REFUSED_STREAM]", nil), ("< RESET: REFUSED_STREAM", nil),
    ])
    func `a line of libcurl's trace`(_ line: String, event: RefusedStreams.Event?) {
        let bytes = Array(line.utf8)
        #expect(unsafe bytes.withUnsafeBytes { unsafe RefusedStreams.event(in: $0) } == event)
    }

    // MARK: Before 8.3.0

    @Test(arguments: [
        ("Using Stream ID: 3 (easy handle 0x5581)\n", RefusedStreams.EarlyEvent.opened(stream: 3)),
        ("recveived GOAWAY, error=0, last_stream=41\n", .goAway(.init(error: 0, lastStream: 41))),
        ("received GOAWAY, error=13, last_stream=0", .goAway(.init(error: 13, lastStream: 0))),
        ("HTTP/2 stream 3 was not closed cleanly: HTTP_1_1_REQUIRED (err 13)\n", .requiresHTTP1),
        ("HTTP/2 stream 3 was not closed cleanly: INTERNAL_ERROR (err 2)\n", nil),
        ("Connection died, retrying a fresh connect (retry count: 1)", .sendsAgain(removesMark: false)),
        ("REFUSED_STREAM, retrying a fresh connect", .sendsAgain(removesMark: true)),
        ("Issue another request to this URL: 'https://a.test/'", .sendsAgain(removesMark: false)),
        ("Failed receiving HTTP2 data\n", .lost),
        ("recveived GOAWAY, error=", nil), ("Using Stream ID: ", nil), ("Using", nil), ("", nil),
        // The text of a server, or of the request.
        ("Server: recveived GOAWAY, error=0, last_stream=1", nil), ("Found bundle for host: Using Stream ID: 3", nil),
    ])
    func `a line of an earlier libcurl's trace`(_ line: String, event: RefusedStreams.EarlyEvent?) {
        let bytes = Array(line.utf8)
        #expect(unsafe bytes.withUnsafeBytes { unsafe RefusedStreams.earlyEvent(in: $0) } == event)
    }

    private enum MarkEvent {
        case begins
        case ends
        /// Libcurl reports that it has removed the mark, and whether this means that the server has refused the request.
        case removed(isRefusal: Bool)
    }

    /// The events of a handle, and whether its mark can be read then.
    private static let marks: [([MarkEvent], RefusalMark, isReadable: Bool)] = [
        ([.begins], .clear, false), ([.begins, .ends], .unread, true), ([.begins, .ends, .ends], .unread, true),
        // The mark may be the one of the first sending, such as one that a GOAWAY frame has refused.
        ([.begins, .ends, .begins], .stale, false), ([.begins, .ends, .begins, .ends], .stale, false),
        ([.begins, .ends, .begins, .removed(isRefusal: false)], .removed, false),
        ([.begins, .removed(isRefusal: true)], .removed, false),
        ([.begins, .removed(isRefusal: true), .ends], .removed, false),
        ([.begins, .removed(isRefusal: true), .ends, .begins, .ends], .unread, true),
        (
            [.begins, .ends, .begins, .removed(isRefusal: false), .ends, .begins, .removed(isRefusal: true)], .removed,
            false
        ),
    ]

    @Test func `a mark of an earlier sending does not tell about the latest`() {
        for (events, state, isReadable) in Self.marks {
            var mark = RefusalMark.clear
            for event in events {
                switch event {
                case .begins: mark.sendingBegins()
                case .ends: mark.sendingEnded()
                case .removed(let isRefusal): #expect(mark.wasRemoved() == isRefusal, "\(events)")
                }
            }
            #expect(mark == state && mark.isReadable == isReadable, "\(events)")
        }
    }

    @Test(arguments: [
        (0, 3, ResendPolicy.Knowledge.refused), (2, 3, .refused), (13, 3, .requiresHTTP1), (0, 5, nil), (13, 7, nil),
    ])
    func `a GOAWAY frame tells which requests were not processed`(
        error: Int, lastStream: Int, knowledge: ResendPolicy.Knowledge?
    ) {
        #expect(RefusedStreams.GoAway(error: error, lastStream: lastStream).knowledge(of: 5) == knowledge)
    }
}
