import FoundationEssentials

/// The record of the requests and connections of a server; a value type without I/O.
struct ServerRecord: Sendable {
    private let bodyLimit: Int
    private(set) var requests: RecentElements<LocalServer.Request>
    private(set) var connectionCount = 0
    private(set) var openConnectionCount = 0
    var traffic = LocalServer.Traffic()
    /// The number of the request that `nextRequest()` returned last.
    private var given = 0
    var isStopped = false

    init(_ options: LocalServer.Options) {
        bodyLimit = max(0, options.recordedBodyBytes)
        requests = RecentElements(capacity: options.recordedRequests)
    }

    // MARK: Events

    /// Records a request and returns its number.
    mutating func requestReceived(_ request: LocalServer.Request) -> Int {
        var kept = request
        if kept.body.count > bodyLimit { kept.body = Data(kept.body.prefix(bodyLimit)) }
        kept.sequence = requests.count + 1
        requests.append(kept)
        return kept.sequence
    }

    /// Records a new connection and returns its number.
    mutating func connectionOpened() -> Int {
        connectionCount += 1
        openConnectionCount += 1
        return connectionCount
    }

    mutating func connectionClosed() { openConnectionCount -= 1 }

    // MARK: Awaited values; `nil` until they are available

    /// The first recorded request that this method has not returned yet.
    mutating func nextRequest() -> Result<LocalServer.Request, any Error>? {
        let number = max(given, requests.droppedCount) + 1
        let result = request(number)
        if case .success = result { given = number }
        return result
    }

    /// The request with a number, which is 1 for the first request.
    func request(_ number: Int) -> Result<LocalServer.Request, any Error>? {
        if let request = requests[number] { return .success(request) }
        if number <= requests.count { return .failure(LocalServer.Failure.notRecorded) }
        return isStopped ? .failure(LocalServer.Failure.stopped) : nil
    }

    /// Success if the condition holds; failure if the server was stopped.
    func once(_ isSo: Bool) -> Result<Void, any Error>? {
        if isSo { return .success(()) }
        return isStopped ? .failure(LocalServer.Failure.stopped) : nil
    }
}

/// The latest elements, up to a maximum number, and the count of all elements.
struct RecentElements<Element: Sendable>: Sendable {
    private let capacity: Int
    /// A ring buffer; `start` is the index of the oldest element once the buffer is full.
    private var ring: [Element] = []
    private var start = 0

    /// The total number of elements appended.
    private(set) var count = 0

    init(capacity: Int) {
        self.capacity = max(0, capacity)
    }

    /// The kept elements, the oldest element first.
    var elements: [Element] { Array(ring[start...] + ring[..<start]) }

    /// The number of elements that were dropped.
    var droppedCount: Int { count - ring.count }

    /// The element with a number, which is 1 for the first element; `nil` if the element is not kept.
    subscript(number: Int) -> Element? {
        let index = number - droppedCount - 1
        guard index >= 0, index < ring.count else { return nil }
        return ring[(start + index) % ring.count]
    }

    /// Appends an element; returns the element that was dropped to make room.
    @discardableResult
    mutating func append(_ element: Element) -> Element? {
        count += 1
        guard capacity > 0 else { return nil }
        guard ring.count == capacity else {
            ring.append(element)
            return nil
        }
        defer { start = (start + 1) % capacity }
        return exchange(&ring[start], with: element)
    }
}
