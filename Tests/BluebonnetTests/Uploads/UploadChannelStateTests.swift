import FoundationEssentials
import Testing

@testable import Bluebonnet

@Suite struct UploadChannelStateTests {
    private let ten = Data(0..<10)

    private func state(length: Int64? = nil) -> UploadChannelState {
        UploadChannelState(length: length, highWatermark: 20, lowWatermark: 5)
    }

    private func expect<First: Equatable, Second: Equatable>(
        _ pair: (First, Second), _ first: First, _ second: Second, sourceLocation: SourceLocation = #_sourceLocation
    ) {
        #expect(pair.0 == first, sourceLocation: sourceLocation)
        #expect(pair.1 == second, sourceLocation: sourceLocation)
    }

    /// Reads bytes like libcurl.
    private func take(_ limit: Int, from state: inout UploadChannelState) -> (UploadChannelState.TakeAction, [UInt8]) {
        var taken: [UInt8] = []
        let action = state.bytesWanted(limit) { piece, offset, count in
            taken += piece[piece.startIndex + offset..<piece.startIndex + offset + count]
        }
        return (action, taken)
    }

    @Test func `the reader waits at the high watermark and continues once at the low watermark`() {
        var state = state()
        expect(state.written(ten), .proceed, false)
        expect(state.written(ten), .wait, false)
        #expect(state.keepsReaderWaiting)
        expect(take(12, from: &state), .took(12, resumesReader: false), Array(0..<10) + [0, 1])
        expect(take(4, from: &state), .took(4, resumesReader: true), [2, 3, 4, 5])
        #expect(!state.keepsReaderWaiting)
        expect(take(100, from: &state), .took(4, resumesReader: false), [6, 7, 8, 9])
        expect(take(100, from: &state), .wait, [])
    }

    @Test func `a waiting loop is resumed once, by bytes, by the end or by a failure`() {
        var bytes = state()
        expect(take(1, from: &bytes), .wait, [])
        expect(bytes.written(Data()), .proceed, false)
        expect(bytes.written(ten), .proceed, true)
        expect(bytes.written(ten), .wait, false)
        var end = state()
        _ = take(1, from: &end)
        #expect(end.ended() == true)
        expect(take(1, from: &end), .end, [])
        var failure = state()
        _ = take(1, from: &failure)
        #expect(failure.failed(with: RequestError(.requestBody(.sequenceFailed))) == true)
        expect(take(1, from: &failure), .fail, [])
    }

    @Test func `the end follows the last byte and no bytes are accepted after it`() {
        var state = state()
        _ = state.written(ten)
        #expect(state.ended() == false)
        expect(take(100, from: &state), .took(10, resumesReader: false), Array(0..<10))
        expect(take(100, from: &state), .end, [])
        expect(state.written(ten), .stop, false)
    }

    @Test func `more bytes than announced are never sent`() {
        var state = state(length: 15)
        expect(state.written(ten), .proceed, false)
        expect(state.written(ten), .stop, false)
        #expect(state.failure?.kind == .requestBody(.lengthMismatch(expected: 15, actual: 20)))
        expect(take(100, from: &state), .fail, [])
    }

    @Test func `the last announced byte waits for the end`() {
        var state = state(length: 30)
        expect(state.written(ten), .proceed, false)
        expect(state.written(ten), .wait, false)
        expect(take(15, from: &state), .took(15, resumesReader: true), Array(0..<10) + Array(0..<5))
        expect(state.written(ten), .proceed, false)
        expect(take(100, from: &state), .took(14, resumesReader: false), Array(5..<10) + Array(0..<9))
        expect(take(100, from: &state), .wait, [])
        #expect(state.ended() == true)
        expect(take(100, from: &state), .took(1, resumesReader: false), [9])
        expect(take(100, from: &state), .end, [])
    }

    @Test func `one announced byte, and a piece beyond the high watermark, do not stop the upload`() {
        var one = state(length: 1)
        _ = take(1, from: &one)
        expect(one.written(Data([7])), .proceed, false)
        expect(take(1, from: &one), .wait, [])
        #expect(one.ended() == true)
        expect(take(1, from: &one), .took(1, resumesReader: false), [7])
        var many = state(length: 100)
        expect(many.written(Data(repeating: 1, count: 100)), .proceed, false)
        #expect(many.ended() == false)
        expect(take(200, from: &many), .took(100, resumesReader: false), [UInt8](repeating: 1, count: 100))
    }

    @Test func `excess bytes are detected before the last announced byte is sent`() {
        var state = state(length: 10)
        expect(state.written(ten), .proceed, false)
        expect(take(100, from: &state), .took(9, resumesReader: false), Array(0..<9))
        expect(take(100, from: &state), .wait, [])
        expect(state.written(Data([1])), .stop, true)
        expect(take(100, from: &state), .fail, [])
    }

    @Test func `an end before the announced length is a failure`() {
        var state = state(length: 15)
        _ = state.written(ten)
        _ = take(100, from: &state)
        _ = take(100, from: &state)
        #expect(state.ended() == true)
        #expect(state.failure?.kind == .requestBody(.lengthMismatch(expected: 15, actual: 10)))
    }

    @Test func `an abandoned channel stops its reader and retains nothing`() {
        var state = state()
        _ = state.written(ten)
        _ = state.written(ten)
        state.abandoned()
        #expect(!state.keepsReaderWaiting)
        #expect(state.count == 0)
        expect(state.written(ten), .stop, false)
    }
}
