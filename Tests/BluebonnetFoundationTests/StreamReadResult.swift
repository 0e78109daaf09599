import Foundation

/// The bytes read from a stream, by a thread that may be blocked.
struct StreamReadResult: Sendable {
    var data = Data()
    var error: (any Error)?
    var status = Stream.Status.notOpen
    var lastCount = 0

    /// Opens the stream, reads it to its end in pieces, and closes it.
    static func all(of stream: InputStream, by count: Int = 10_000) -> StreamReadResult {
        stream.open()
        defer { stream.close() }
        return rest(of: stream, by: count)
    }

    static func rest(of stream: InputStream, by count: Int = 10_000) -> StreamReadResult {
        var reading = StreamReadResult()
        repeat {
            reading.lastCount = some(of: stream, count, into: &reading.data)
        } while reading.lastCount > 0
        reading.status = stream.streamStatus
        if reading.status == .error { reading.error = stream.streamError }
        return reading
    }

    /// Reads once.
    static func some(of stream: InputStream, _ count: Int, into data: inout Data) -> Int {
        var bytes = [UInt8](repeating: 0, count: count)
        // Safety: the array has as many bytes as are named.
        let read = unsafe stream.read(&bytes, maxLength: count)
        if read > 0 { data.append(contentsOf: bytes.prefix(read)) }
        return read
    }
}
