import FoundationEssentials

/// The destination of the response bodies of one kind of request.
enum ResponseSink: Sendable {
    /// The body is collected in memory for serializers.
    case memory
    /// The body is delivered to its readers while it arrives.
    case stream(BodyFanOut)
    /// The body is written to a file.
    case file(DownloadPlan)
    /// The connection becomes a WebSocket.
    case socket(WebSocketConnection)

    /// Whether the head is checked before any of the body is received.
    var pausesBody: Bool {
        switch self {
        case .memory: false
        case .stream, .file, .socket: true
        }
    }

    /// Whether the first exchange requires preparation, which must not run on the thread of the caller.
    var needsPreparation: Bool { if case .file = self { true } else { false } }

    /// Ends the body after the request has ended.
    func finish(with error: RequestError?) {
        switch self {
        case .memory, .file: break
        case .stream(let body): body.finish(with: error)
        case .socket(let socket): socket.finish(with: error)
        }
    }

    /// The connection of a WebSocket.
    var socket: WebSocketConnection? { if case .socket(let socket) = self { socket } else { nil } }
}

/// The settings of a download in addition to its request.
final class DownloadPlan: Sendable {
    let destination: DownloadDestination
    /// The resume data of an earlier download.
    let resumeData: Data?
    /// Whether the partial file is removed if the request is cancelled.
    let discardsPartialFile = Locked(false)
    /// The validators of the complete file, which run before the file is moved to its destination.
    let validators = Locked<[Validation]>([])
    /// The expected checksum of the complete file.
    let checksum = Locked<DownloadChecksum?>(nil)

    /// A validator of the complete file; see ``DownloadRequest/validate(_:)``.
    typealias Validation =
        @Sendable (_ request: HTTPRequest?, _ response: HTTPResponse, _ fileURL: URL?) throws -> ValidationResult

    /// A closure that waits for a duration, and ends early if its task is cancelled.
    typealias Sleep = @Sendable (Duration) async throws -> Void

    /// The closure that waits between the attempts of a download that resumes automatically.
    let sleep: Sleep

    init(destination: DownloadDestination, resumeData: Data?, sleep: @escaping Sleep) {
        self.destination = destination
        self.resumeData = resumeData
        self.sleep = sleep
    }
}
