import BluebonnetLibc
import CCurl
import CSystem

/// What libcurl's own mark for a refused stream says, in versions that do not trace refusals; see ``RefusedStreams``.
///
/// Libcurl marks the handle whose stream was refused. It sends a request again on a new connection only with this mark,
/// and then removes it. But if a connection was used before, libcurl does not look at the mark, and keeps it. So the
/// mark can be read later: the handle sends a request on a local connection that ends without a response. If libcurl
/// opens a second connection, the handle was marked.
///
/// This is done only where a request would fail otherwise. The handle is not used again.
// Safety: the server outlives libcurl's call, which alone uses it.
enum RefusalMark {
    /// Libcurl has not marked the handle.
    case clear
    /// Libcurl may have marked the handle in the latest sending.
    case unread
    /// Libcurl may have marked the handle in an earlier sending.
    case stale

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
            // Libcurl would write a body to the standard output.
            unsafe bb_curl_set_long(handle, CURLOPT_NOBODY, 1)
            // The loop waits, should another program find the server.
            unsafe bb_curl_set_long(handle, CURLOPT_TIMEOUT_MS, 100)
            unsafe bb_curl_set_opensocket_callback(
                handle,
                { server, _, address in
                    guard let server = unsafe server?.assumingMemoryBound(to: Server.self) else { return -1 }
                    unsafe server.pointee.count += 1
                    guard unsafe server.pointee.count == 1, let address = unsafe address else { return -1 }
                    return unsafe socket(
                        address.pointee.family, address.pointee.socktype | Int32(SOCK_CLOEXEC.rawValue), 0)
                }, server)
            unsafe bb_curl_set_prereq_callback(
                handle,
                { server, _, _, _, _ in
                    guard let server = unsafe server?.assumingMemoryBound(to: Server.self) else { return 0 }
                    // Libcurl can still send its request.
                    unsafe server.pointee.connection = bb_accept(server.pointee.listener)
                    unsafe shutdown(server.pointee.connection, Int32(SHUT_WR))
                    return CURL_PREREQFUNC_OK
                }, server)
            unsafe curl_easy_perform(handle)
            return unsafe server.pointee.count > 1
        }
    }
}

extension Transfer {
    /// Called before a decision about a second sending, when all that libcurl reveals has been received.
    ///
    /// - Parameter isResending: Whether libcurl sends the request again by itself.
    func judgeKnowledge(isResending: Bool) {
        if resends.isUnopened, !hasTrace { resends.opened() }
        guard !RefusedStreams.areTraced, resends.isUnanswered else { return }
        if let stream, let knowledge = connection?.goAway?.knowledge(of: stream.id) {
            resends.learned(knowledge)
        } else if isResending, resends.isOnNewConnection, connection?.requestCount == 1, refusalMark == .clear {
            resends.learned(.refused)
        } else if refusalMark == .clear {
            refusalMark = .unread
        }
    }

    /// Whether the handle can tell whether the server has refused the request, once libcurl was stopped, and whether
    /// this matters.
    var canReadMark: Bool {
        refusalMark == .unread && connection?.version == .multiplexed
            && (!request.method.isIdempotent || !upload.isReplayable)
    }

    /// Whether libcurl's handle may be marked as one with a refused stream, so that it must not be used again.
    func mayHaveStaleMark(after error: RequestError?) -> Bool {
        resends.wasResent || refusalMark != .clear || (error != nil && !RefusedStreams.areTraced)
    }
}

extension TransferEngine {
    /// Learns from libcurl's handle whether the server has refused the request, if nothing else can tell.
    func readMark(of transfer: Transfer, in multi: MultiHandle) {
        guard transfer.needsMark, let easy = transfer.easy else { return }
        multi.remove(easy)
        let metrics = TransferMetrics(of: transfer, easy, now: shared.now)
        if unsafe RefusalMark.isSet(on: easy.pointer) {
            transfer.resends.learned(.refused)
        } else {
            transfer.metricsAtEnd = metrics
        }
    }
}
