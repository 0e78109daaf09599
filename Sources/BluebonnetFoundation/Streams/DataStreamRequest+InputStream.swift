public import Bluebonnet
public import Foundation

extension DataStreamTask {
    /// Returns the body as a stream of Foundation's, for code that reads nothing else.
    ///
    /// `read` blocks the thread that calls it until there are bytes, so never call it in an `async` function: give it a
    /// thread of its own. One thread at a time may use the stream. It does not schedule itself in a run loop and has no
    /// delegate's events. The request is started now, and its body received at the reader's pace: when `bufferSize` bytes
    /// or more wait, and those that the session's configuration allows beside, nothing is read from the network. An error
    /// of the request is the stream's error. Closing the stream early, or dropping it, ends this reader; it cancels the
    /// request if the task does so by itself.
    ///
    /// - Parameter bufferSize: How many bytes wait for `read`, in bytes; a piece of the body more may.
    /// - Returns: The stream, not opened yet.
    public func asInputStream(bufferSize: Int = 64 * 1024) -> InputStream {
        BodyInputStream(bytes, limit: bufferSize)
    }
}

extension DataStreamRequest {
    /// Returns the body as a stream of Foundation's, as `DataStreamTask.asInputStream(bufferSize:)` does.
    ///
    /// Closing it early cancels the request, unless others read the body.
    ///
    /// - Parameter bufferSize: How many bytes wait for `read`, in bytes; a piece of the body more may.
    /// - Returns: The stream, not opened yet; optional as in Alamofire, and never `nil`.
    public nonisolated func asInputStream(bufferSize: Int = 64 * 1024) -> InputStream? {
        streamTask().asInputStream(bufferSize: bufferSize)
    }
}
