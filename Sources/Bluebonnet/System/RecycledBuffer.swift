import BluebonnetLibc
import FoundationEssentials

/// Reused memory for one piece of a body.
///
/// The reuse saves memory, but hardly any run time. Without it, eight simultaneous streams of 64 MB need 52 MB instead
/// of 35 MB.
// Safety: a buffer has one owner at a time: the pool, the writer that fills it, or the `Data` made from it. The `Data`
// only reads the buffer, and returns it when released. Ownership is passed under the pool's lock, or by the reference
// count of `Data`.
@safe
final class RecycledBuffer: @unchecked Sendable {
    private var memory: UnsafeMutableRawPointer
    private var capacity: Int
    /// The number of bytes in the buffer.
    private(set) var count = 0

    fileprivate init(capacity: Int) {
        self.capacity = capacity
        unsafe memory = .allocate(byteCount: capacity, alignment: 64)
    }

    deinit {
        unsafe memory.deallocate()
    }

    /// The number of bytes that can be added without growth.
    var room: Int { capacity - count }

    /// Adds bytes, usually 16 KiB from libcurl; the buffer grows if there is not enough room.
    func append(_ bytes: UnsafeRawBufferPointer) {
        if bytes.count > room { grow(to: max(count + bytes.count, 2 * capacity)) }
        guard let source = bytes.baseAddress else { return }
        unsafe memcpy(memory + count, source, bytes.count)
        count += bytes.count
    }

    func withUnsafeBytes<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
        unsafe body(UnsafeRawBufferPointer(start: memory, count: count))
    }

    /// Calls a closure that writes at most the given number of bytes and returns the number of written bytes.
    func fill<Failure: Error>(
        upTo limit: Int, _ write: (UnsafeMutableRawBufferPointer) throws(Failure) -> Int
    ) throws(Failure) {
        let free = unsafe UnsafeMutableRawBufferPointer(start: memory + count, count: min(limit, room))
        count += unsafe try write(free)
    }

    /// Creates a piece with the content of the buffer.
    ///
    /// If the buffer is at least a quarter full, the piece uses the buffer's memory, which returns to the pool when the
    /// piece is released. Otherwise, the piece is a copy, because most of the memory would be unused.
    fileprivate func piece(for pool: RecycledBuffers) -> Data {
        guard count >= capacity / 4 else {
            let copy = unsafe Data(bytes: memory, count: count)
            pool.recycle(self)
            return copy
        }
        return unsafe Data(bytesNoCopy: memory, count: count, deallocator: .custom { _, _ in pool.recycle(self) })
    }

    private func grow(to newCapacity: Int) {
        let larger = UnsafeMutableRawPointer.allocate(byteCount: newCapacity, alignment: 64)
        unsafe larger.copyMemory(from: memory, byteCount: count)
        unsafe memory.deallocate()
        unsafe memory = unsafe larger
        capacity = newCapacity
    }

    /// Empties the buffer; returns whether the buffer still has the pool's standard size.
    fileprivate func isReusable(size: Int) -> Bool {
        count = 0
        return capacity == size
    }
}

/// Stores unused buffers for the next writer.
final class RecycledBuffers: Sendable {
    /// The buffers for bodies that are read from files.
    static let files = RecycledBuffers(size: 256 * 1024)
    /// The buffers for received bytes and sent frames of WebSockets.
    ///
    /// A frame with 64 KiB, which is the longest that is sent, fills most of a buffer. Memory of this size that is
    /// allocated by one thread and freed by another costs about twelve page faults for each message.
    static let frames = RecycledBuffers(size: 80 * 1024, limit: 64)

    /// The size of each buffer in bytes.
    let size: Int

    private let free = Locked<[RecycledBuffer]>([])
    /// The maximum number of unused buffers that are kept.
    private let limit: Int

    init(size: Int, limit: Int = 6) {
        self.size = size
        self.limit = limit
    }

    func take() -> RecycledBuffer { free.withLock { $0.popLast() } ?? RecycledBuffer(capacity: size) }

    /// Creates a piece with the content of a buffer; the caller must no longer use the buffer.
    func piece(of buffer: RecycledBuffer) -> Data { buffer.piece(for: self) }

    /// Joins two pieces in a buffer; returns `nil` if they would not fill most of it.
    func joined(_ one: Data, _ other: Data) -> Data? {
        let count = one.count + other.count
        guard count >= size / 2, count <= size else { return nil }
        let buffer = take()
        for piece in [one, other] { unsafe piece.withUnsafeBytes { unsafe buffer.append($0) } }
        return piece(of: buffer)
    }

    fileprivate func recycle(_ buffer: RecycledBuffer) {
        guard buffer.isReusable(size: size) else { return }
        free.withLock { free in
            if free.count < limit { free.append(buffer) }
        }
    }
}

extension Data {
    /// The same bytes with indices from 0, which are not copied if there are many.
    // Safety: the closure keeps the owner of the memory, and no other part of the program uses these bytes of it.
    var rebased: Data {
        guard startIndex != 0 else { return self }
        guard count >= 1024 else { return Data(self) }
        return unsafe withUnsafeBytes { bytes in
            guard let base = bytes.baseAddress else { return Data() }
            let start = unsafe UnsafeMutableRawPointer(mutating: base)
            return unsafe Data(
                bytesNoCopy: start, count: bytes.count,
                deallocator: .custom { [self] _, _ in withExtendedLifetime(self) {} })
        }
    }
}
