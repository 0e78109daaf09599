/// The status codes that a validator accepts.
enum StatusCodes: Hashable, Sendable {
    case range(Range<Int>)
    case set(Set<Int>)

    /// How many elements of a sequence are looked at: more than there are status codes, and an end to endless ones.
    static let sequenceLimit = 10_000

    init(_ codes: some Sequence<Int>) {
        switch codes {
        case let range as Range<Int>: self = .range(range)
        case let range as ClosedRange<Int>:
            // Int.max is no status code; leaving it out keeps the conversion from overflowing.
            self = .range(range.lowerBound..<(range.upperBound == .max ? .max : range.upperBound + 1))
        case let range as PartialRangeFrom<Int>: self = .range(range.lowerBound..<Int.max)
        default: self = .set(Set(codes.prefix(Self.sequenceLimit)))
        }
    }

    func contains(_ code: Int) -> Bool {
        switch self {
        case .range(let range): range.contains(code)
        case .set(let set): set.contains(code)
        }
    }
}
