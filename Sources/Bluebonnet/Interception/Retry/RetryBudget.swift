/// Limits the retries of many requests together, so that a server that fails is not finished off by them.
///
/// Each request that is made for the first time earns a part of a retry, each retry costs a whole one, and when nothing
/// is left there is none. With the default ratio of 0.1, a server that fails everything sees 1.1 times the requests
/// instead of three times as many, once what had been saved up is spent.
///
/// One budget is shared by all copies of a policy, and by as many policies as are given it. A policy tells it of requests
/// as an adapter: in ``Session``'s `interceptor:`, or with ``Request/interceptor(_:)``. One that is used as a retrier only
/// spends what was saved up.
public final class RetryBudget: Sendable {
    private let state: Locked<RetryBudgetState>

    /// Creates a budget with all that can be saved up.
    ///
    /// - Parameters:
    ///   - ratio: How many retries each request earns, from 0 to 1; 0.1 by default.
    ///   - reserve: How many retries can be saved up; 10 by default.
    public init(ratio: Double = 0.1, reserve: UInt = 10) {
        state = Locked(RetryBudgetState(ratio: ratio, reserve: reserve))
    }

    /// How many retries could be made now.
    public var balance: Int { state.withLock { $0.balance } }

    /// Earns a part of a retry; called for each request that is made for the first time.
    public func deposit() { state.withLock { $0.requestBegan() } }

    /// Takes a retry.
    ///
    /// - Returns: Whether there was one.
    public func withdraw() -> Bool { state.withLock { $0.retryWanted() } }
}

/// Counts thousandths of retries, as a value.
struct RetryBudgetState: Hashable, Sendable {
    private let earning: Int
    private let reserve: Int
    private var saved: Int

    init(ratio: Double, reserve: UInt) {
        earning = Int((min(max(0, ratio.isNaN ? 0 : ratio), 1) * Double(Self.unit)).rounded())
        self.reserve = Int(min(reserve, 1_000_000_000)) * Self.unit
        saved = self.reserve
    }

    private static let unit = 1000

    /// How many retries could be made now.
    var balance: Int { saved / Self.unit }

    /// A request was made for the first time.
    mutating func requestBegan() {
        // What a single retry costs can be saved up even if there is no reserve.
        saved = min(saved + earning, max(reserve, Self.unit))
    }

    /// A request is to be tried again; returns whether it may.
    mutating func retryWanted() -> Bool {
        guard saved >= Self.unit else { return false }
        saved -= Self.unit
        return true
    }
}
