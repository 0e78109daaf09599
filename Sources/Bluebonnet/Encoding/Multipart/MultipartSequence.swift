import FoundationEssentials

/// Makes readers of the sequence that a part comes from: any number of them, or only one.
struct MultipartSequence: Sendable {
    /// How many bytes there will be, if somebody has said so.
    let length: Int64?

    private let make: @Sendable () -> any BodyReader
    /// Who may have the one reader, of all copies of the form; `nil` when there can be any number.
    private let claim: OneTimeClaim?

    /// A sequence that may be good for one reading only.
    init<S: AsyncSequence & Sendable>(once sequence: S, length: Int64?) where S.Element: DataProtocol {
        self.length = length
        make = { SequenceReader(sequence) }
        claim = OneTimeClaim()
    }

    /// A sequence that is made anew for each reading.
    init<S: AsyncSequence & SendableMetatype>(length: Int64?, make: @escaping @Sendable () -> S)
    where S.Element: DataProtocol {
        self.length = length
        self.make = { SequenceReader(make()) }
        claim = nil
    }

    /// Whether there can be a second reader.
    var isReplayable: Bool { claim == nil }

    /// Whether there can be no reader any more.
    var isUsedUp: Bool { claim?.isTaken == true }

    /// Returns whether there may be a reader now; of a sequence that can be read once, only the first time.
    func take() -> Bool { claim?.take() ?? true }

    /// Begins the sequence; whoever calls this has taken it.
    func makeReader() -> any BodyReader { make() }
}
