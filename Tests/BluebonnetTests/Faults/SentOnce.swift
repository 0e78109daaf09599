import Bluebonnet
import FoundationEssentials
import Testing

/// What the tables of ``SentOnceTests`` and ``SentOnceHTTP3Tests`` have in common.
enum SentOnce {
    /// Where the request was when it was ended.
    enum Moment: String, CaseIterable, Sendable {
        case opened
        case part
        case all
        /// A response with status code 103 had arrived.
        case interim
        case head
    }

    enum Body: CaseIterable, Sendable {
        case none
        case data
        case file
        case oneShot
    }

    /// The connection: opened for the request, kept from an earlier one, or shared with another one.
    enum Place: CaseIterable, Sendable {
        case new
        case kept
        case shared
    }

    struct Cell<End: Sendable>: Sendable, CustomStringConvertible {
        let end: End
        let moment: Moment
        let method: HTTPMethod
        let body: Body
        let place: Place

        var description: String { "\(end) \(moment) \(method.rawValue) \(body) \(place)" }
    }

    enum Outcome: Hashable {
        case sentAgain
        case failed
        case notReplayable
    }

    /// What the server has counted.
    struct Counts: Decodable {
        let requests: Int
        let processed: Int
        let sums: [UInt32]
    }

    static let bytes = Data((0..<60_000).map { UInt8(truncatingIfNeeded: $0 &* 7) })
    static let sum: UInt32 = {
        var sum = ~UInt32(0)
        for byte in bytes {
            sum ^= UInt32(byte)
            for _ in 0..<8 { sum = sum & 1 == 1 ? sum >> 1 ^ 0xedb8_8320 : sum >> 1 }
        }
        return ~sum
    }()

    static func cells<End>(_ end: End) -> [Cell<End>] {
        Moment.allCases.flatMap { moment in
            [(HTTPMethod.get, [Body.none]), (.put, Body.allCases), (.post, Body.allCases)].flatMap { method, bodies in
                bodies.filter { $0 != .none || moment != .part }.flatMap { body in
                    Place.allCases.map { Cell(end: end, moment: moment, method: method, body: body, place: $0) }
                }
            }
        }
    }

    static func requestBody(_ body: Body, _ file: URL) -> RequestBody? {
        switch body {
        case .none: nil
        case .data: .data(bytes)
        case .file: .file(file)
        case .oneShot:
            .stream(
                AsyncStream {
                    $0.yield(bytes)
                    $0.finish()
                }, length: 60_000)
        }
    }

    /// Compares the outcome of a request and the counts of the server with those that a cell permits.
    static func judge<End>(
        _ answer: DataResponse<String, RequestError>, _ counts: Counts, in cell: Cell<End>, isRefusal: Bool,
        expecting outcomes: Set<Outcome>
    ) {
        let outcome: Outcome =
            answer.error == nil
            ? .sentAgain
            : answer.error?.kind == .requestBody(.notReplayable) ? .notReplayable : .failed
        #expect(outcomes.contains(outcome), "\(cell): \(answer), \(counts)")
        #expect(counts.processed <= (cell.method == .post ? 1 : 2), "\(cell): \(counts)")
        #expect(counts.requests <= 2, "\(cell): \(counts)")
        #expect(Set(counts.sums).isSubset(of: [cell.body == .none ? 0 : sum]), "\(cell): \(counts)")
        #expect(answer.error?.isSafeToRetry != true || counts.processed == 0, "\(cell): \(answer), \(counts)")
        if outcome == .sentAgain {
            #expect(counts.sums.count == 1, "\(cell): \(counts)")
            #expect(answer.value == "\(counts.sums.first ?? 1)", "\(cell)")
        } else if isRefusal, cell.moment != .head {
            #expect(counts.processed == 0, "\(cell): \(counts)")
        }
    }
}
