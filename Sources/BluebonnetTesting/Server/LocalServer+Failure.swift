extension LocalServer {
    /// Says why a server could not do what it was asked for.
    @nonexhaustive
    public enum Failure: Error, Hashable, Sendable {
        /// A system call failed, with its `errno`; such as when the process has no descriptors left.
        case system(call: String, code: Int32)
        /// The server was stopped.
        case stopped
        /// The client went away, or the server closed its connection.
        case connectionClosed
        /// The request was received, but is not kept any more; see ``LocalServer/Options/recordedRequests``.
        case notRecorded
        /// A body was written that is longer than the length which was promised, in bytes.
        case bodyTooLong(promised: Int)
        /// The body of a request cannot be understood, or is too long; with the status to answer.
        case malformedBody(status: Int, reason: String)
    }
}

extension LocalServer.Failure: CustomStringConvertible {
    /// What went wrong, in one line.
    public var description: String {
        switch self {
        case .system(let call, let code): "\(call): \(Socket.text(for: code))"
        case .stopped: "the server was stopped"
        case .notRecorded: "the request is not kept any more"
        case .connectionClosed: "the connection is closed"
        case .bodyTooLong(let promised): "the body is longer than the promised \(promised) bytes"
        case .malformedBody(_, let reason): reason
        }
    }
}
