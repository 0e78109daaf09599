import FoundationEssentials
import Testing

@testable import Bluebonnet

@Suite struct ByteChannelStateTests {
    private let ten = Data(repeating: 1, count: 10)

    @Test func `A producer pauses at the high watermark and goes on at the low one, once`() {
        var state = ByteChannelState(highWatermark: 20, lowWatermark: 5)
        #expect(state.written(ten) == .goOn)
        #expect(state.written(ten) == .pause)
        #expect(state.written(ten) == .pause)
        #expect(state.readRequested(upTo: 24) == .take(Data(repeating: 1, count: 24), resumesProducer: false))
        #expect(state.readRequested(upTo: 1) == .take(Data([1]), resumesProducer: true))
        #expect(state.readRequested() == .take(Data(repeating: 1, count: 5), resumesProducer: false))
        #expect(state.readRequested() == .wait)
    }

    @Test func `An end and a failure come after the last byte, and the first counts`() {
        var complete = ByteChannelState(highWatermark: 20, lowWatermark: 5)
        _ = complete.written(ten)
        complete.finished(with: nil)
        complete.finished(with: RequestError(.cancelled))
        #expect(complete.written(ten) == .stop)
        #expect(complete.readRequested() == .take(ten, resumesProducer: false))
        #expect(complete.readRequested() == .end)
        #expect(complete.readRequested() == .end)
        var failed = ByteChannelState(highWatermark: 20, lowWatermark: 5)
        _ = failed.written(ten)
        failed.finished(with: RequestError(.connection(.lost)))
        #expect(failed.readRequested() == .take(ten, resumesProducer: false))
        #expect(failed.readRequested() == .fail(.connection(.lost)))
    }

    @Test func `An abandoned channel stops its producer and holds nothing`() {
        var state = ByteChannelState(highWatermark: 20, lowWatermark: 5)
        _ = state.written(ten)
        state.abandoned()
        #expect(state.count == 0)
        #expect(state.written(ten) == .stop)
    }

    @Test(arguments: [(0, 0), (-1, -1), (10, 20)])
    func `Watermarks that make no sense still let every byte through`(high: Int, low: Int) {
        var state = ByteChannelState(highWatermark: high, lowWatermark: low)
        _ = state.written(ten)
        #expect(state.readRequested() == .take(ten, resumesProducer: high < 10 || low >= 0))
    }
}

@Suite(.timeLimit(.minutes(10))) struct ByteChannelRaces {
    @Test func `Every byte arrives in order between a pausing producer and a slow consumer`() async throws {
        for round in 0..<200 {
            let (demand, demanded) = AsyncStream<Void>.makeStream()
            let channel = ByteChannel(highWatermark: 64, lowWatermark: 16) { demanded.yield() }
            let producer = Task {
                var demands = demand.makeAsyncIterator()
                for number in 0..<500 {
                    let action = channel.write(Data([UInt8(truncatingIfNeeded: number)]))
                    if action == .pause { await demands.next() }
                }
                channel.finish()
            }
            var received: [UInt8] = []
            while let bytes = try await channel.read(upTo: 1 + round % 40) { received += bytes }
            await producer.value
            #expect(received == (0..<500).map { UInt8(truncatingIfNeeded: $0) })
        }
    }

    @Test func `A cancelled reader is let go, and another reads on`() async throws {
        for _ in 0..<1000 {
            let channel = ByteChannel {}
            let reader = Task { await failure(of: channel) }
            reader.cancel()
            let kind = await reader.value
            #expect(kind == .cancelled)
            _ = channel.write(Data([7]))
            let bytes = try await channel.read()
            #expect(bytes == Data([7]))
        }
    }

    private func failure(of channel: ByteChannel) async -> RequestError.Kind? {
        do {
            _ = try await channel.read()
            return nil
        } catch {
            return error.kind
        }
    }
}
