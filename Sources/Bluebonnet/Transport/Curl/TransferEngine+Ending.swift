import CCurl

/// Ends transfers.
///
/// When libcurl has ended a transfer, the transfer itself often continues: it tries another address, is sent again,
/// delivers the bytes that were received earlier, or waits until its server is evaluated.
// Safety: libcurl's texts are constants.
extension TransferEngine {
    /// A transfer that libcurl has ended.
    private struct LibcurlEnd {
        /// Libcurl's code, or `CURLE_OK` if the response is complete nevertheless.
        let code: CURLcode
        let multi: MultiHandle
        let connection: IdleConnections.Connection?
        /// The connection of the latest sending, which the transfer may have left.
        let lastConnection: ResendPolicy.Connection
        /// Whether the response is an interim one, after which libcurl accepts the end of a connection.
        let hasInterim: Bool
        /// Whether the flood guard has ended the connection.
        let isCutOff: Bool
        /// Whether the connection has ended without a final response.
        let isLost: Bool
    }

    /// Ends a transfer that libcurl has completed or failed, or continues it.
    func libcurlEnded(_ transfer: Transfer, with reported: CURLcode, of multi: MultiHandle) {
        let end = judgedEnd(of: transfer, with: reported, in: multi)
        if reported != CURLE_OK, let connection = end.connection, !transfer.resends.isRefused {
            multi.idleConnections.requestFailed(on: connection, with: reported)
        }
        leaveMulti(transfer)
        if waitsForAddresses(transfer, end.code, multi) { return }
        if reported != CURLE_OK { transfer.noteEnd(of: end.connection, end.code) }
        if end.code == CURLE_OK, let upgrade = transfer.upgrade, !upgrade.isOpen { return opened(transfer, upgrade) }
        readMark(of: transfer, in: multi)
        // After 100 (Continue), the server reads the body, and may refuse it.
        if end.hasInterim, endsWithUnreadResponse(transfer, end) { return }
        if sendIfNeeded(transfer, after: end) { return }
        if drainIfNeeded(transfer, after: end) { return }
        if evaluateIfNeeded(transfer, after: end) { return }
        if !end.hasInterim, !end.isCutOff, endsWithUnreadResponse(transfer, end) { return }
        finish(transfer, with: error(of: end, transfer))
    }

    /// Collects what is known, and tells it to the policy that decides whether to send the request again.
    private func judgedEnd(of transfer: Transfer, with reported: CURLcode, in multi: MultiHandle) -> LibcurlEnd {
        let code = reported != CURLE_OK && transfer.isCompleteOnLostConnection(reported) ? CURLE_OK : reported
        var isCutOff = false
        if transfer.isGuarded, code != CURLE_OK || transfer.responseBuffer.endsWithConnection {
            // Swift 6.2 refuses `||` here: its second operand is a closure, which would capture the transfer.
            isCutOff = multi.floods.hasCut(transfer.easy) ? true : mayBeMessageFlood(transfer, code)
        }
        let lastConnection = transfer.lastConnection
        if reported != CURLE_OK { transfer.noteFailure(reported) }
        if transfer.isUnconnected(code) { transfer.resends.learned(.unconnected) }
        let hasInterim = transfer.responseBuffer.isInformational
        let codeOfLoss = code == CURLE_OK && hasInterim ? CURLE_GOT_NOTHING : code
        let isLost = codeOfLoss == CURLE_OK ? false : isLost(codeOfLoss, transfer)
        return LibcurlEnd(
            code: code, multi: multi, connection: transfer.connection, lastConnection: lastConnection,
            hasInterim: hasInterim, isCutOff: isCutOff, isLost: isCutOff || isLost)
    }

    /// Whether a code may be the end of a connection that ``TLSObserver`` has ended a moment ago.
    private func mayBeMessageFlood(_ transfer: Transfer, _ code: CURLcode) -> Bool {
        let hasHead = transfer.responseBuffer.head != nil
        guard CurlErrorTable.mayHideAlert(code, hasHead: hasHead) else { return false }
        return shared.messageFloods.last(from: transfer.countedOrigin, at: shared.now) != nil
    }

    private func error(of end: LibcurlEnd, _ transfer: Transfer) -> RequestError? {
        let isMultiplexed = end.connection.map { $0.version == .multiplexed }
        if end.isCutOff {
            let kind = isMultiplexed == true ? RequestError.Kind.connection(.http2) : .connection(.lost)
            return error(kind, FloodGuard.message, of: transfer).afterTransportRetries
        }
        if end.code == CURLE_OK { return transfer.responseBuffer.endError }
        if end.code == CURLE_GOT_NOTHING, let easy = transfer.easy, isMultiplexed ?? (transfer.httpVersion != .http1_1),
            end.multi.unreadResponses.wasOpen(localPort: easy.long(CURLINFO_LOCAL_PORT))
        {
            let message = "the server broke the rules of HTTP/2, and the connection was closed"
            return error(.connection(.http2), message, of: transfer)
        }
        return error(for: end.code, of: transfer)
    }

    /// Ends the transfer with the response that libcurl has not read; returns whether there is one.
    private func endsWithUnreadResponse(_ transfer: Transfer, _ end: LibcurlEnd) -> Bool {
        guard end.code == CURLE_SEND_ERROR, let easy = transfer.easy,
            transfer.mayUseUnreadResponse(from: end.connection?.version),
            let data = end.multi.unreadResponses.data(ofLocalPort: easy.long(CURLINFO_LOCAL_PORT)),
            transfer.responseBuffer.receivedUnreadResponse(data, now: shared.now)
        else { return false }
        finish(transfer, with: transfer.responseBuffer.unreadResponseError)
        return true
    }

    /// Keeps a transfer whose last bytes are not delivered yet; returns whether there are such bytes.
    ///
    /// They are delivered as fast as their receiver takes them.
    private func drainIfNeeded(_ transfer: Transfer, after end: LibcurlEnd) -> Bool {
        guard transfer.responseBuffer.state.hasRest, transfer.responseBuffer.failure == nil else { return false }
        let error = end.code == CURLE_OK ? nil : error(of: end, transfer)
        perform(transfer.life.drains(error), on: transfer)
        return true
    }

    /// Evaluates the server if the handshake was ended for this purpose; returns whether it was.
    private func evaluateIfNeeded(_ transfer: Transfer, after end: LibcurlEnd) -> Bool {
        guard end.code != CURLE_OK, let easy = transfer.easy, let (trust, evaluator) = transfer.trust.undecided else {
            return false
        }
        end.multi.remove(easy)
        upgrades.opening[transfer.id] = nil
        awaitVerdict(on: trust, by: evaluator, for: transfer)
        return true
    }

    /// Whether a code means that a connection has ended without a response, and not that the server refuses to respond.
    private func isLost(_ code: CURLcode, _ transfer: Transfer) -> Bool {
        let connection = transfer.connection
        let isOld =
            connection?.isShared == true || !transfer.resends.isOnNewConnection || transfer.resends.isUnopened
        let hasInterim = transfer.responseBuffer.isInformational
        return switch code {
        // Before 8.1.0, libcurl reports the end of an HTTP/2 connection as the end of a body.
        case CURLE_SEND_ERROR, CURLE_RECV_ERROR, CURLE_PARTIAL_FILE, CURLE_HTTP3:
            isOld || hasInterim && connection?.version == .multiplexed
                || connection.map { QUICConnections.isQUIC($0.socket) } ?? false
        // After an interim response, libcurl does not send the request again itself.
        case CURLE_GOT_NOTHING: isOld && hasInterim
        case CURLE_HTTP2: isOld || !CurlErrorText.omitsCloseReason
        case CURLE_HTTP2_STREAM: CurlErrorText(of: code, saying: transfer.easy?.errorMessage ?? "") == .goingAway
        default: false
        }
    }

    /// Sends a request again, immediately or when it is no longer suspended; returns whether it is sent again.
    private func sendIfNeeded(_ transfer: Transfer, after end: LibcurlEnd) -> Bool {
        guard let easy = transfer.easy,
            transfer.takeRestart()
                || transfer.takeResend(
                    after: end.lastConnection, isLost: end.isLost || transfer.resends.halt == .toAsk)
        else { return false }
        end.multi.remove(easy)
        transfer.responseBuffer.sentAgain()
        // The bytes would be delivered before the bytes of the next response.
        if transfer.mayHoldBytes { easy.freePausedBytes() }
        if transfer.mayHoldBytes || transfer.refusalMark == .unread || transfer.refusalMark == .stale {
            easy.transfer = nil
            transfer.easy = nil
            transfer.handleIsLeft()
        }
        perform(transfer.life.sendsAgain(), on: transfer)
        return true
    }

    /// Ends a transfer with its response or with an error.
    func finish(_ transfer: Transfer, with error: RequestError?) {
        guard let place = transfer.life.ends() else { return }
        transfers[transfer.id] = nil
        if transfer.wasSent, error != nil, transfer.mayBeStream { shared.counts.streamCancelled() }
        leave(transfer, place)
        let error = transfer.responseBuffer.failure ?? transfer.upload.body.failure ?? error
        reportEnd(of: transfer, error)
        let outcome = outcome(of: transfer, error)
        if let easy = transfer.easy { release(easy, of: transfer, after: error) }
        ConnectionBudget.shared.exchangeEnded()
        group.ended(transfer.id, outcome.response?.httpVersion)
        ended.append((transfer.observer, outcome))
    }

    /// Removes a transfer from all lists and limits.
    private func leave(_ transfer: Transfer, _ place: TransferLife.Place) {
        if let upgrade = transfer.upgrade { leave(transfer, upgrade) }
        leaveMulti(transfer)
        if transfer.slowAddresses != nil { endAttempts(of: transfer) }
        if case .awaitingVerdict(let key, _) = place { trust?.forget(transfer.id, key) }
        leaveQueues(transfer)
        if transfer.speed != nil { leaveSpeedQueues(transfer) }
    }

    /// Reports what was not reported yet.
    private func reportEnd(of transfer: Transfer, _ error: RequestError?) {
        if case .copied(let data) = transfer.upload.body, transfer.wasSent {
            reportSent(Int64(data.count), by: transfer)
        } else {
            reportSent(Int64(transfer.upload.offset), by: transfer)
        }
        // A challenge is the response only if it is complete; otherwise, the request failed before the challenge was
        // answered.
        if error == nil || !transfer.isChallenged { transfer.noteHead() }
        transfer.upload.abandon()
        if let receiver = transfer.receiver, let piece = transfer.responseBuffer.takePiece() {
            _ = receiver.receive(piece)
            reportProgress(of: transfer)
        }
        // The end of a coding has no bytes that would be reported.
        if error == nil, transfer.codedFraction != nil {
            transfer.observer.exchangeDidReceive(transfer.progress.received, ofExpected: nil, fraction: 1)
        }
    }

    private func outcome(of transfer: Transfer, _ error: RequestError?) -> ExchangeOutcome {
        // In a closure for `map`, the runtime would check the isolation (350 instructions).
        let metrics =
            if let metrics = transfer.metricsAtEnd {
                metrics()
            } else if let easy = transfer.easy {
                TransferMetrics(of: transfer, easy, now: shared.now)
            } else {
                TransferMetrics(ofQueued: transfer, now: shared.now)
            }
        return ExchangeOutcome(
            response: transfer.response, body: transfer.responseBuffer.body,
            error: transfer.resends.mayBeProcessed ? error : error?.safeToRetry(true), metrics: metrics)
    }

    /// Keeps a transfer's handle for the next transfer, if nothing of this one could remain in it.
    private func release(_ easy: EasyHandle, of transfer: Transfer, after error: RequestError?) {
        transfer.multi?.remove(easy)
        if transfer.trace.isOn { transfer.endTrace() }
        if transfer.mayHoldBytes { easy.freePausedBytes() }
        (transfer.easy, transfer.multi, easy.transfer) = (nil, nil, nil)
        // Libcurl has sent the request again. It counts the attempts until the handle is reset, and fails after five
        // attempts.
        // Before 8.9.0, a lookup over HTTPS continues after its transfer, until the handle is reset.
        let mayLookUp = options.looksUpOverHTTPS
        if easy.offset(CURLINFO_REDIRECT_TIME_T) > 0 || !transfer.wasSent && mayLookUp { easy.profile = nil }
        // Libcurl may keep bytes of a paused body in the handle, which must not reach the next exchange. After a 417,
        // versions since 8.14.1 no longer send an `Expect` field.
        guard pool.count < Self.poolLimit, !transfer.mayHoldBytes, transfer.upgrade == nil,
            !transfer.mayHaveStaleMark(after: error), transfer.expectation != .omitted
        else { return }
        // Header fields and bodies may be secret or large, and must not stay in memory until the handle is reused.
        if easy.profile == nil { easy.reset() }
        pool.append(easy)
    }

    func error(for code: CURLcode, of transfer: Transfer) -> RequestError {
        guard let easy = transfer.easy else { return RequestError(.internal) }
        if let refusal = transfer.trust.refusal { return refusal }
        if let shortage = transfer.multi?.shortage(behind: code) {
            return error(.connection(.failed), shortage, of: transfer)
        }
        let hasHead = transfer.responseBuffer.head != nil
        if CurlErrorTable.mayHideAlert(code, hasHead: hasHead),
            let alert = shared.alerts.last(from: transfer.countedOrigin, at: shared.now)
        {
            let kind = alert.kind(wasSent: transfer.wasSent, hasHead: hasHead)
            return error(kind, "the server sent the alert \(alert.name)", of: transfer)
        }
        let verifyResults = [CURLINFO_SSL_VERIFYRESULT, CURLINFO_PROXY_SSL_VERIFYRESULT].map(easy.long)
        let message = easy.errorMessage
        let context = CurlErrorTable.FailureContext(
            message: message, verifyResult: verifyResults.first { $0 != 0 } ?? 0,
            wasSent: transfer.wasSent, wasResent: transfer.resends.wasResent,
            hasHead: hasHead,
            headLimit: options.configuration.maximumResponseHeadBytes)
        var detail = CurlErrorTable.message(for: code, in: context) ?? CurlErrorText.redacted(context.message)
        if detail.isEmpty { detail = unsafe String(cString: curl_easy_strerror(code)) }
        if code == CURLE_COULDNT_CONNECT, let path = options.configuration.unixSocketPath {
            // Libcurl names the host and the port of the URL, neither of which is used.
            let reason = easy.long(CURLINFO_OS_ERRNO)
            detail = "the Unix socket \(path)" + (reason == 0 ? "" : ": \(SystemError(Int32(reason)).message)")
        }
        if let option = CurlErrorTable.option(for: code) {
            detail = "\(option): \(detail)"
        } else if let (option, identity) = identity(for: code, message, of: transfer) {
            let isKey = CurlErrorText(of: code, saying: message) == .unusableKey
            detail = "\(option): \(isKey ? identity.keyFault ?? detail : detail)"
        }
        let kind = CurlErrorTable.kind(of: code, in: context)
        let error = error(kind, detail, of: transfer)
        return CurlErrorText(of: code, saying: context.message) == .resendsExhausted
            ? error.afterTransportRetries : error
    }

    /// The identity to which an error code refers, and its option.
    ///
    /// The identity for an HTTPS proxy is used first, before any handshake.
    private func identity(
        for code: CURLcode, _ message: String, of transfer: Transfer
    ) -> (option: String, Session.Configuration.TLS.ClientIdentity)? {
        guard code == CURLE_SSL_CERTPROBLEM || CurlErrorText(of: code, saying: message) == .unusableKey else {
            return nil
        }
        let tls = options.configuration.tls
        if let identity = tls.proxyClientIdentity, transfer.isProxied, transfer.trust.handshakes == 0,
            !options.secureProxyHosts(for: transfer.request).isEmpty
        {
            return ("tls.proxyClientIdentity", identity)
        }
        return transfer.easy?.identity.map { ($0.option, $0.identity) }
    }

    /// Creates the error of a transfer, which names the proxy in use.
    func error(_ kind: RequestError.Kind, _ message: String, of transfer: Transfer) -> RequestError {
        let proxy = options.proxyDescription(of: transfer, kind)
        return RequestError(kind, detail: proxy.map { "\(message), \($0)" } ?? message)
    }
}
