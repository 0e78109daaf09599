/// Gives the first who claims it what was made beforehand, and everyone after that something of their own.
final class Offer<Value: Sendable>: Sendable {
    private let first: Locked<Value?>
    private let makeAnother: @Sendable () -> Value

    init(_ make: @escaping @Sendable () -> Value) {
        first = Locked(make())
        makeAnother = make
    }

    func claim() -> Value { first.withLock { $0.take() } ?? makeAnother() }
}
