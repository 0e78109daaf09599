import BluebonnetLibc
import CCurl
import CSystem

/// What is known about libcurl's own mark for a refused stream, before 8.3.0; see ``RefusedStreams``.
///
/// Libcurl marks the handle whose stream was refused. On a connection that was not used before, libcurl sends the
/// request again only with this mark; it then removes the mark, and reports it. On other connections, libcurl always
/// sends the request again, and keeps the mark. So the mark can be read later: the handle sends a request on a local
/// connection that ends without a response. If libcurl opens a second connection, the handle was marked.
///
/// This is done only where a request would fail otherwise. The handle is not used again.
// Safety: the server outlives libcurl's call, which alone uses it.
enum RefusalMark: Equatable {
    /// The handle was not marked before the latest sending.
    case clear
    /// The handle is not marked after the latest sending.
    case removed
    /// The latest sending may have marked the handle.
    case unread
    /// An earlier sending may have marked the handle.
    case stale

    /// Whether the handle can tell whether the latest sending was refused.
    var isReadable: Bool { self == .unread }

    /// Called when the request is about to be sent.
    mutating func sendingBegins() {
        switch self {
        case .clear, .stale: break
        case .removed: self = .clear
        case .unread: self = .stale
        }
    }

    /// Called when a sending has ended.
    mutating func sendingEnded() { if self == .clear { self = .unread } }

    /// Called when libcurl reports that it has removed the mark; returns whether the latest sending was refused.
    mutating func wasRemoved() -> Bool {
        defer { self = .removed }
        return self == .clear
    }

    /// A local server that ends its connection without a response.
    private struct Server {
        let listener: Int32
        var connection: Int32 = -1
        /// The number of connections that libcurl has opened.
        var count = 0
    }

    /// Reads and removes the mark of a handle, which is in no multi handle and loses its settings.
    fileprivate static func isSet(on handle: UnsafeMutableRawPointer) -> Bool {
        var name: [CChar] = Array(repeating: 0, count: 6)
        var server = Server(listener: unsafe bb_listen_locally(&name))
        guard server.listener >= 0 else { return false }
        defer { for socket in [server.listener, server.connection] where socket >= 0 { close(socket) } }
        return unsafe withUnsafeMutablePointer(to: &server) { server in
            unsafe curl_easy_reset(handle)
            unsafe bb_curl_set_string(handle, CURLOPT_URL, "http://127.0.0.1/")
            unsafe bb_curl_set_string(handle, CURLOPT_PROXY, "")
            unsafe bb_curl_set_string(handle, CURLOPT_ABSTRACT_UNIX_SOCKET, name)
            unsafe bb_curl_set_long(handle, CURLOPT_HTTP_VERSION, Int(CURL_HTTP_VERSION_1_1))
            unsafe bb_curl_set_long(handle, CURLOPT_NOSIGNAL, 1)
            // Without bodies, libcurl does not call its own functions, which use the standard input and output.
            unsafe bb_curl_set_long(handle, CURLOPT_NOBODY, 1)
            // The loop waits, should another program find the server.
            unsafe bb_curl_set_long(handle, CURLOPT_TIMEOUT_MS, 100)
            unsafe bb_curl_set_opensocket_callback(
                handle,
                { server, _, address in
                    guard let server = unsafe server?.assumingMemoryBound(to: Server.self) else { return -1 }
                    unsafe server.pointee.count += 1
                    guard unsafe server.pointee.count == 1, unsafe address?.pointee.family == AF_UNIX else {
                        return -1
                    }
                    return socket(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
                }, server)
            unsafe bb_curl_set_prereq_callback(
                handle,
                { server, _, _, _, _ in
                    guard let server = unsafe server?.assumingMemoryBound(to: Server.self) else {
                        return CURL_PREREQFUNC_ABORT
                    }
                    unsafe server.pointee.connection = bb_accept(server.pointee.listener)
                    // Libcurl can still send its request.
                    let isEnded = unsafe shutdown(server.pointee.connection, Int32(SHUT_WR)) == 0
                    return isEnded ? CURL_PREREQFUNC_OK : CURL_PREREQFUNC_ABORT
                }, server)
            unsafe curl_easy_perform(handle)
            return unsafe server.pointee.count > 1
        }
    }
}

extension Transfer {
    /// Whether the handle can tell, once libcurl was stopped, whether the server has refused the request, and whether
    /// this matters.
    var canReadMark: Bool {
        refusalMark.isReadable && !trace.isLost && connection?.version == .multiplexed
            && (!request.method.isIdempotent || upload.isConsumed)
    }

    /// Whether libcurl's handle may be marked as one with a refused stream, so that it must not be used again.
    func mayHaveStaleMark(after error: RequestError?) -> Bool {
        resends.wasResent || refusalMark != .clear || (error != nil && !RefusedStreams.areTraced)
    }
}

extension TransferEngine {
    /// Learns from libcurl's handle whether the server has refused the request, if nothing else can tell.
    func readMark(of transfer: Transfer, in multi: MultiHandle) {
        guard transfer.resends.halt == .toAsk, let easy = transfer.easy else { return }
        multi.remove(easy)
        // Afterwards, the handle has the metrics of another request.
        let metrics = TransferMetrics(of: transfer, easy, now: shared.now)
        transfer.metricsAtEnd = { metrics }
        if unsafe RefusalMark.isSet(on: easy.pointer) { transfer.resends.learned(.refused) }
    }
}
