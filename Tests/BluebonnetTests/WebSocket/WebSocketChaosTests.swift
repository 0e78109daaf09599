import FoundationEssentials
import Testing

@testable import Bluebonnet

/// Random frames, most of them valid, with a few wrong bits.
@Suite struct WebSocketChaosTests {
    /// A generator that repeats its numbers.
    private struct Numbers: RandomNumberGenerator {
        var state: UInt64

        mutating func next() -> UInt64 {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return state ^ state >> 29
        }
    }

    private static func bytes(_ numbers: inout Numbers) -> [UInt8] {
        var bytes: [UInt8] = []
        for _ in 0..<Int.random(in: 1...12, using: &numbers) {
            let firsts: [UInt8] = [0x01, 0x02, 0x00, 0x80, 0x80, 0x81, 0x82, 0x89, 0x8a, 0xc1, 0x41, 0xc2, 0x88]
            let first = firsts.randomElement(using: &numbers) ?? 0x81
            let count = Int.random(in: 0...(Bool.random(using: &numbers) ? 3 : 200), using: &numbers)
            let hello = ServerFrame.hex("f248cdc9c90700")
            let isHello = first & 0x40 != 0 && Int.random(in: 0...3, using: &numbers) > 0
            let payload = isHello ? hello : (0..<count).map { UInt8(truncatingIfNeeded: 0x61 + $0 % 26) }
            bytes += ServerFrame.raw(first, payload)
        }
        if Bool.random(using: &numbers), let index = bytes.indices.randomElement(using: &numbers) {
            bytes[index] ^= 1 << UInt8.random(in: 0...7, using: &numbers)
        }
        return bytes
    }

    private static func outcomes(_ bytes: [UInt8], size: Int) -> [WebSocketOutcome] {
        var receiver = WebSocketReceiver(pieceSize: 16, deflate: .init())
        var collector = WebSocketMessageCollector()
        var outcomes: [WebSocketOutcome] = []
        for start in stride(from: 0, to: bytes.count, by: size) {
            receiver.append(Data(bytes[start..<min(start + size, bytes.count)]))
            while let event = receiver.next() {
                // The collector has no limit.
                outcomes += (try? WebSocketOutcome(event, &collector)).map { [$0] } ?? []
            }
        }
        return outcomes
    }

    @Test func `the pieces in which bytes arrive make no difference`() {
        var messages = 0
        var failures = 0
        for seed in 0..<3000 as Range<UInt64> {
            var numbers = Numbers(state: seed &* 0x9e37_79b9_7f4a_7c15)
            let bytes = Self.bytes(&numbers)
            let whole = Self.outcomes(bytes, size: bytes.count)
            for size in [1, 2, 3, 64] {
                let outcomes = Self.outcomes(bytes, size: size)
                #expect(outcomes == whole, "seed \(seed), pieces of \(size) bytes")
            }
            messages += whole.count
            if case .fail = whole.last { failures += 1 }
        }
        // The frames are neither all refused nor all accepted.
        #expect(messages > 3000)
        #expect((500...2800).contains(failures))
    }
}
