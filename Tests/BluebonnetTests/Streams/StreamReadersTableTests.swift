import BluebonnetTesting
import FoundationEssentials
import Testing

@testable import Bluebonnet

/// Every pair of sequences over one body, created and started at every moment.
@Suite(.serialized, .timeLimit(.minutes(10))) struct StreamReadersTableTests {
    /// A kind of sequence, and how the body of the test looks in it.
    enum Kind: CaseIterable {
        case bytes, lines, decodables, serverSentEvents
        case streamingData, streamingStrings, streamingLines, streamingDecodables, streamingResponses

        /// The elements of the whole body; of pieces, whose borders mean nothing, all text.
        var body: [String] {
            switch self {
            case .bytes, .streamingData, .streamingStrings, .streamingResponses: ["data:1\n\ndata:2\n\n"]
            case .lines, .streamingLines: ["data:1", "", "data:2", ""]
            case .decodables, .streamingDecodables: ["data:1", "data:2"]
            case .serverSentEvents: ["1", "2"]
            }
        }

        /// Creates the sequence, and returns a closure that begins to read it.
        func sequence(of task: DataStreamTask) -> () -> Reader {
            switch self {
            case .bytes: begins(task.bytes) { String(decoding: $0, as: UTF8.self) }
            case .lines: begins(task.lines) { $0 }
            case .decodables: begins(task.decodables(of: String.self, decoder: TextDecoder())) { $0 }
            case .serverSentEvents: begins(task.serverSentEvents) { $0.data }
            case .streamingData: events(task.streamingData()) { String(decoding: $0, as: UTF8.self) }
            case .streamingStrings: events(task.streamingStrings()) { $0 }
            case .streamingLines: events(task.streamingLines()) { $0 }
            case .streamingDecodables:
                events(task.streamingDecodables(of: String.self, decoder: TextDecoder())) { $0 }
            case .streamingResponses: events(task.streamingResponses(using: StringStreamSerializer())) { $0 }
            }
        }

        private func begins<Sequence: AsyncSequence>(
            _ sequence: Sequence, _ text: @escaping (Sequence.Element) throws -> String?
        ) -> () -> Reader {
            { SequenceReader(kind: self, iterator: sequence.makeAsyncIterator(), text: text) }
        }

        private func events<Success, Failure>(
            _ sequence: StreamOf<DataStreamRequest.Stream<Success, Failure>>, _ text: @escaping (Success) -> String
        ) -> () -> Reader {
            begins(sequence) { event in
                if let error = event.completion?.error { throw error }
                return event.value.map(text)
            }
        }
    }

    /// When the second sequence is begun: before the first reads, while it reads, or after its end.
    enum Moment: CaseIterable {
        case before, during, after
    }

    /// When the second sequence is created: before the first sequence, after it, or when it is begun.
    enum Creation: CaseIterable {
        case first, second, late
    }

    /// Reads one sequence by hand.
    class Reader {
        private let kind: Kind
        private(set) var elements: [String] = []

        init(kind: Kind) { self.kind = kind }

        fileprivate nonisolated(nonsending) func next() async throws -> String? { nil }

        /// Reads one element; returns whether there was one.
        nonisolated(nonsending) func readOne() async throws -> Bool {
            guard let element = try await next() else { return false }
            elements.append(element)
            return true
        }

        /// Reads the rest; returns the error that ended it.
        nonisolated(nonsending) func readAll() async -> RequestError? {
            do {
                while try await readOne() {}
                return nil
            } catch {
                return error as? RequestError ?? RequestError(.internal, underlying: error)
            }
        }

        var hasWholeBody: Bool { (kind.body.count == 1 ? [elements.joined()] : elements) == kind.body }
    }

    private final class SequenceReader<Iterator: AsyncIteratorProtocol>: Reader {
        private var iterator: Iterator
        private let text: (Iterator.Element) throws -> String?

        init(kind: Kind, iterator: Iterator, text: @escaping (Iterator.Element) throws -> String?) {
            self.iterator = iterator
            self.text = text
            super.init(kind: kind)
        }

        fileprivate override nonisolated(nonsending) func next() async throws -> String? {
            var next = iterator
            defer { iterator = next }
            return try await next.next(isolation: #isolation).flatMap(text)
        }
    }

    private struct TextDecoder: DataDecoder {
        func decode<Value: Decodable>(_ type: Value.Type, from data: Data) throws -> Value {
            guard let value = String(decoding: data, as: UTF8.self) as? Value else { throw RequestError(.internal) }
            return value
        }
    }

    /// Two readers on one task.
    ///
    /// The second reader receives the whole body if it begins before the first byte is delivered, and otherwise an
    /// error.
    @Test(arguments: Kind.allCases, Kind.allCases)
    func `a reader gets the whole body or an error`(first: Kind, second: Kind) async throws {
        try await forEachRow { task, gate, moment, creation in
            let late = try await run(
                { first.sequence(of: task) }, { second.sequence(of: task) }, gate, moment, creation)
            switch moment {
            case .before: #expect(late.error == nil && late.reader.hasWholeBody, "\(moment) \(creation)")
            case .during, .after:
                #expect(late.error?.kind == .bodyAlreadyRead, "\(moment) \(creation)")
                #expect(late.reader.elements.isEmpty)
            }
        }
    }

    /// Two readers that share a body; both receive the whole body at every moment.
    @Test(arguments: Kind.allCases, Kind.allCases)
    func `readers that share a body all get the whole of it`(first: Kind, second: Kind) async throws {
        try await forEachRow { task, gate, moment, creation in
            let readers = task.readers(2)
            let late = try await run(
                { first.sequence(of: readers[0]) }, { second.sequence(of: readers[1]) }, gate, moment, creation)
            #expect(late.error == nil && late.reader.hasWholeBody, "\(moment) \(creation)")
        }
    }

    /// Two readers that begin after the head was awaited, while the body waits, or after the request has failed.
    @Test(arguments: Kind.allCases, Kind.allCases)
    func `readers that begin after the head was awaited get the whole body`(first: Kind, second: Kind) async throws {
        let gate = Gate()
        gate.open()
        let server = try await server([gate])
        let session = TestHarness.session()
        let task = session.streamRequest(server.url("/0")).streamTask()
        _ = try await task.response
        for await progress in task.request.downloadProgressUpdates() where progress.completed > 0 { break }
        let readers = (first.sequence(of: task)(), second.sequence(of: task)())
        #expect(await readers.0.readAll() == nil && readers.0.hasWholeBody)
        #expect(await readers.1.readAll() == nil && readers.1.hasWholeBody)
        let failed = session.streamRequest("http://127.0.0.1:1/").streamTask()
        await #expect(throws: RequestError.self) { try await failed.response }
        for kind in [first, second] {
            let reader = kind.sequence(of: failed)()
            #expect(await reader.readAll()?.kind == .connection(.refused) && reader.elements.isEmpty)
        }
        try await TestHarness.end(session, server)
    }

    /// A server whose bodies have two parts; the second part of `/0`, `/1` and so on waits for the gate of that number.
    private func server(_ gates: [Gate]) async throws -> LocalServer {
        try await LocalServer { router in
            for (number, gate) in gates.enumerated() {
                router.get("/\(number)") { _ in
                    .stream { writer in
                        try await writer.write("data:1\n\n")
                        await gate.wait()
                        try await writer.write("data:2\n\n")
                    }
                }
            }
        }
    }

    private func forEachRow(_ body: (DataStreamTask, Gate, Moment, Creation) async throws -> Void) async throws {
        let rows = Moment.allCases.flatMap { moment in Creation.allCases.map { (moment, $0) } }
        let gates = rows.map { _ in Gate() }
        let server = try await server(gates)
        let session = TestHarness.session()
        for (number, (moment, creation)) in rows.enumerated() {
            let task = session.streamRequest(server.url("/\(number)")).streamTask()
            try await body(task, gates[number], moment, creation)
        }
        try await TestHarness.end(session, server)
    }

    /// Runs both readers, checks the first, and returns the second with the error that ended it.
    private func run(
        _ createFirst: () -> () -> Reader, _ createSecond: () -> () -> Reader, _ gate: Gate, _ moment: Moment,
        _ creation: Creation
    ) async throws -> (reader: Reader, error: RequestError?) {
        let early = creation == .first ? createSecond() : nil
        let beginFirst = createFirst()
        let beginSecond = early ?? (creation == .second ? createSecond() : nil)
        let first = beginFirst()
        let second: Reader
        switch moment {
        case .before:
            second = (beginSecond ?? createSecond())()
            #expect(try await first.readOne())
            gate.open()
            #expect(await first.readAll() == nil)
        case .during:
            #expect(try await first.readOne())
            second = (beginSecond ?? createSecond())()
            gate.open()
            #expect(await first.readAll() == nil)
        case .after:
            gate.open()
            #expect(await first.readAll() == nil)
            second = (beginSecond ?? createSecond())()
        }
        #expect(first.hasWholeBody)
        return (second, await second.readAll())
    }
}
