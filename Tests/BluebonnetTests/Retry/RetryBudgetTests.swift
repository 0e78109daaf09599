import FoundationEssentials
import Testing

@testable import Bluebonnet

struct RetryBudgetTests {
    @Test(arguments: [(0.1, 10 as UInt), (0.1, 0), (0.5, 3), (0, 5), (1, 1), (0.001, 0)])
    func `the number of retries is limited by the ratio of requests and the reserve`(_ ratio: Double, reserve: UInt) {
        var state = RetryBudgetState(ratio: ratio, reserve: reserve)
        var retries = 0
        for _ in 1...10_000 {
            state.requestBegan()
            // Everything fails, and wants to be tried again twice.
            for _ in 1...2 where state.retryWanted() { retries += 1 }
        }
        let earned = Int((10_000 * ratio).rounded())
        #expect(retries <= earned + Int(reserve))
        #expect(retries >= earned)
    }

    @Test func `the reserve is limited`() {
        var state = RetryBudgetState(ratio: 0.1, reserve: 3)
        for _ in 1...1000 { state.requestBegan() }
        #expect(state.balance == 3)
        #expect((1...5).map { _ in state.retryWanted() } == [true, true, true, false, false])
        for _ in 1...9 { state.requestBegan() }
        let early = state.retryWanted()
        state.requestBegan()
        let late = state.retryWanted()
        #expect(!early && late)
    }

    @Test(arguments: [Double.nan, -1, -Double.infinity])
    func `an invalid ratio adds nothing to the budget`(_ ratio: Double) {
        var state = RetryBudgetState(ratio: ratio, reserve: 0)
        for _ in 1...1000 { state.requestBegan() }
        #expect(state.balance == 0)
    }

    @Test func `a request adds at most one retry to the budget`() {
        var state = RetryBudgetState(ratio: Double.infinity, reserve: UInt.max)
        while state.balance > 999_999_990 { _ = state.retryWanted() }
        let before = state.balance
        state.requestBegan()
        #expect(state.balance == before + 1)
    }

    @Test func `all policies that share a budget use it`() throws {
        let request = HTTPRequest(url: try #require(URL(string: "http://a.test/")))
        let budget = RetryBudget(reserve: 2)
        let policies = [RetryPolicy(budget: budget), RetryPolicy(retryLimit: 7, budget: budget)]
        #expect(policies[0].budget?.withdraw(for: request) == true)
        #expect(policies[1].budget?.withdraw(for: request) == true)
        #expect(policies[0].budget?.withdraw(for: request) == false)
        #expect(budget.balance(for: request) == 0)
    }

    @Test func `each key has its own retries`() throws {
        let requests = try ["http://a.test/1", "http://a.test:80/2", "http://a.test:81/", "https://b.test/"].map {
            HTTPRequest(url: try #require(URL(string: $0)))
        }
        let perHost = RetryBudget.perHost(reserve: 1)
        #expect(requests.map { perHost.withdraw(for: $0) } == [true, false, true, true])
        let perPath = RetryBudget(reserve: 1) { $0.url.path() }
        #expect(requests.map { perPath.withdraw(for: $0) } == [true, true, true, false])
        perPath.deposit(for: requests[3])
        #expect(requests.map { perPath.balance(for: $0) } == [0, 0, 0, 0])
    }

    @Test func `the number of keys is bounded`() throws {
        let budget = RetryBudget(reserve: 1) { $0.url.path() }
        for index in 0..<3000 {
            #expect(budget.withdraw(for: HTTPRequest(url: try #require(URL(string: "http://a.test/\(index)")))))
        }
        #expect(budget.keyCount == 1000)
    }
}
