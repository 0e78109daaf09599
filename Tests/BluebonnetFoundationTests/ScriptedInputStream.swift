import Foundation

/// A value that threads share.
// Safety: the value is accessed only while the lock is held.
final class Box<Value: Sendable>: @unchecked Sendable {
    private let lock = NSLock()
    private var stored: Value

    init(_ value: Value) { stored = value }

    var value: Value { lock.withLock { stored } }

    func set(_ value: Value) { lock.withLock { stored = value } }
}

/// Blocks threads until it is opened.
final class Latch: Sendable {
    private let semaphore = DispatchSemaphore(value: 0)

    func open() { semaphore.signal() }

    /// Blocks the thread; lets the next one through, too.
    func wait() {
        semaphore.wait()
        semaphore.signal()
    }
}

/// A stream that follows a list of steps, and blocks where a step requires it.
final class ScriptedInputStream: InputStream {
    enum Step: Sendable {
        case bytes(Data)
        case wait(Latch)
        case failure(any Error)
    }

    /// Opened when the stream is closed.
    let closed = Latch()
    private var steps: [Step]
    private let onRead: @Sendable (_ taken: Int) -> Void
    private var taken = 0
    private var status = Stream.Status.notOpen
    private var error: (any Error)?

    init(_ steps: [Step], onRead: @escaping @Sendable (_ taken: Int) -> Void = { _ in }) {
        self.steps = steps
        self.onRead = onRead
        super.init(data: Data())
    }

    override func open() { status = .open }

    override func close() {
        status = .closed
        closed.open()
    }

    override var streamStatus: Stream.Status { status }

    override var streamError: (any Error)? { error }

    override var hasBytesAvailable: Bool { true }

    override func read(_ buffer: UnsafeMutablePointer<UInt8>, maxLength count: Int) -> Int {
        while !steps.isEmpty {
            switch steps.removeFirst() {
            case .wait(let latch): latch.wait()
            case .failure(let error):
                self.error = error
                status = .error
                return -1
            case .bytes(let data):
                let now = data.prefix(count)
                if now.count < data.count { steps.insert(.bytes(data.dropFirst(now.count)), at: 0) }
                // Safety: the caller guarantees that the memory has room for the given number of bytes.
                unsafe now.copyBytes(to: buffer, count: now.count)
                taken += now.count
                onRead(taken)
                return now.count
            }
        }
        status = .atEnd
        return 0
    }
}
