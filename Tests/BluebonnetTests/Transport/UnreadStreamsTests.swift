import Testing

@testable import Bluebonnet

/// When libcurl must check for bytes that it has left unread.
///
/// Without ``UnreadStreams``, a body on a connection without other streams never ends with libcurl 7.88, now and then.
@Suite(.enabled(if: UnreadStreams.isGuarded, "a newer libcurl leaves nothing lying")) struct UnreadStreamsTests {
    @Test func `libcurl is called a moment after bytes arrive, and again while more bytes arrive`() {
        var streams = UnreadStreams()
        streams.turnEnds(at: 0, wasReading: false, isIdle: false)
        #expect(streams.due == nil)
        streams.received()
        streams.turnEnds(at: 10, wasReading: false, isIdle: false)
        #expect(streams.due == 5_000_010)
        // A busy stream puts nothing off.
        streams.received()
        streams.turnEnds(at: 20, wasReading: false, isIdle: false)
        #expect(streams.due == 5_000_010)
        let isEarly = streams.areDue(at: 5_000_009)
        let isDue = streams.areDue(at: 5_000_010)
        #expect(!isEarly && isDue && streams.due == nil)
        streams.received()
        streams.turnEnds(at: 5_000_010, wasReading: true, isIdle: false)
        #expect(streams.due == 5_000_010)
    }

    @Test func `libcurl is not called without transfers`() {
        var streams = UnreadStreams()
        streams.received()
        streams.turnEnds(at: 0, wasReading: false, isIdle: true)
        #expect(streams.due == nil)
    }
}
