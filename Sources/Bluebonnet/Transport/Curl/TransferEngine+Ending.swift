import CCurl

/// Ends transfers.
// Safety: libcurl's texts are constants.
extension TransferEngine {
    /// Ends a transfer that libcurl has completed or failed.
    func finish(_ transfer: Transfer, with reported: CURLcode, of multi: MultiHandle) {
        let code = reported != CURLE_OK && transfer.isCompleteOnLostConnection(reported) ? CURLE_OK : reported
        let isCutOff =
            transfer.isGuarded && (code != CURLE_OK || transfer.responseBuffer.endsWithConnection)
            && multi.floods.hasCut(transfer.easy?.connectionEnds)
        let (connection, lastConnection) = (transfer.connection, transfer.lastConnection)
        let version = connection?.version
        if reported != CURLE_OK { transfer.noteFailure(reported) }
        if transfer.isUnconnected(code) { transfer.resends.learned(.unconnected) }
        // Libcurl accepts a connection that ended within the head of an interim response.
        let hasInterim = transfer.responseBuffer.isInformational
        let codeOfLoss = code == CURLE_OK && hasInterim ? CURLE_GOT_NOTHING : code
        let isLost = isCutOff || (codeOfLoss != CURLE_OK && isLost(codeOfLoss, transfer))
        if reported != CURLE_OK, let connection, !transfer.resends.isRefused {
            multi.idleConnections.requestFailed(on: connection, with: reported)
        }
        leaveMulti(transfer)
        if waitsForAddresses(transfer, code, multi) { return }
        if reported != CURLE_OK { transfer.noteEnd(of: connection, code) }
        if code == CURLE_OK, let upgrade = transfer.upgrade, !upgrade.isOpen { return opened(transfer, upgrade) }
        readMark(of: transfer, in: multi)
        // After 100 (Continue), the server reads the body, and may refuse it.
        if hasInterim, takesUnreadResponse(transfer, code, version, multi) {
            return finish(transfer, with: transfer.responseBuffer.unreadResponseError)
        }
        if let easy = transfer.easy,
            transfer.takeRestart() || transfer.takeResend(after: lastConnection, isLost: isLost || transfer.needsMark)
        {
            return sendAgain(transfer, easy, multi)
        }
        if transfer.responseBuffer.state.hasRest, transfer.responseBuffer.failure == nil {
            // Bytes that were received earlier are delivered first, as fast as their receiver takes them.
            transfer.end =
                code == CURLE_OK
                ? .complete : .failed(isCutOff ? errorOfFlood(version, transfer) : error(for: code, of: transfer))
            return leaveGate(transfer)
        }
        if code != CURLE_OK, let easy = transfer.easy, let (trust, evaluator) = transfer.undecided {
            multi.remove(easy)
            upgrades.opening[transfer.id] = nil
            return awaitVerdict(on: trust, by: evaluator, for: transfer)
        }
        if isCutOff { return finish(transfer, with: errorOfFlood(version, transfer)) }
        if !hasInterim, takesUnreadResponse(transfer, code, version, multi) {
            return finish(transfer, with: transfer.responseBuffer.unreadResponseError)
        }
        if code == CURLE_GOT_NOTHING, let easy = transfer.easy,
            version.map({ $0 == .multiplexed }) ?? (transfer.httpVersion != .http1_1),
            multi.unreadResponses.wasOpen(localPort: easy.long(CURLINFO_LOCAL_PORT))
        {
            let message = "the server broke the rules of HTTP/2, and the connection was closed"
            return finish(transfer, with: error(.connection(.http2), message, of: transfer))
        }
        finish(transfer, with: code == CURLE_OK ? transfer.responseBuffer.endError : error(for: code, of: transfer))
    }

    private func errorOfFlood(_ version: IdleConnections.Version?, _ transfer: Transfer) -> RequestError {
        let kind = version == .multiplexed ? RequestError.Kind.connection(.http2) : .connection(.lost)
        return error(kind, FloodGuard.message, of: transfer).afterTransportRetries
    }

    /// Takes the response that libcurl has not read; returns whether there is one.
    private func takesUnreadResponse(
        _ transfer: Transfer, _ code: CURLcode, _ version: IdleConnections.Version?, _ multi: MultiHandle
    ) -> Bool {
        guard code == CURLE_SEND_ERROR, let easy = transfer.easy, transfer.mayUseUnreadResponse(from: version),
            let data = multi.unreadResponses.data(ofLocalPort: easy.long(CURLINFO_LOCAL_PORT))
        else { return false }
        return transfer.responseBuffer.receivedUnreadResponse(data, now: shared.now)
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

    /// Sends a request again, immediately or when it is no longer suspended.
    private func sendAgain(_ transfer: Transfer, _ easy: EasyHandle, _ multi: MultiHandle) {
        multi.remove(easy)
        transfer.responseBuffer.sentAgain()
        // The bytes would be delivered before the bytes of the next response.
        if transfer.mayHoldBytes { easy.freePausedBytes() }
        if transfer.mayHoldBytes || transfer.refusalMark == .unread || transfer.refusalMark == .stale {
            easy.transfer = nil
            transfer.easy = nil
            transfer.handleIsLeft()
        }
        guard !transfer.responseBuffer.state.isSuspended else {
            leaveGate(transfer)
            return transfer.responseBuffer.state.withdrawn()
        }
        add(transfer)
    }

    func finish(_ transfer: Transfer, with error: RequestError?) {
        guard !transfer.hasEnded else { return }
        transfer.hasEnded = true
        transfers[transfer.id] = nil
        if transfer.wasSent, error != nil, transfer.mayBeStream { shared.counts.streamCancelled() }
        if let upgrade = transfer.upgrade { leave(transfer, upgrade) }
        leaveMulti(transfer)
        if transfer.slowAddresses != nil { endAttempts(of: transfer) }
        if transfer.isAwaitingVerdict { trust?.forget(transfer) }
        leaveQueues(transfer)
        if transfer.speed != nil { leaveSpeedQueues(transfer) }
        if case .copied(let data) = transfer.upload, transfer.wasSent {
            reportSent(Int64(data.count), by: transfer)
        } else {
            reportSent(Int64(transfer.uploadOffset), by: transfer)
        }
        let error = transfer.responseBuffer.failure ?? transfer.upload.failure ?? error
        let isUnprocessed = !transfer.resends.mayBeProcessed
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
            transfer.observer.exchangeDidReceive(transfer.reportedReceivedBytes, ofExpected: nil, fraction: 1)
        }
        // In a closure for `map`, the runtime would check the isolation (350 instructions).
        let metrics =
            if let metrics = transfer.metricsAtEnd {
                metrics()
            } else if let easy = transfer.easy {
                TransferMetrics(of: transfer, easy, now: shared.now)
            } else {
                TransferMetrics(ofQueued: transfer, now: shared.now)
            }
        let outcome = ExchangeOutcome(
            response: transfer.response, body: transfer.responseBuffer.body,
            error: isUnprocessed ? error?.safeToRetry(true) : error, metrics: metrics)
        if let easy = transfer.easy {
            transfer.multi?.remove(easy)
            if transfer.isTraced { transfer.endTrace() }
            if transfer.mayHoldBytes { easy.freePausedBytes() }
            transfer.easy = nil
            transfer.multi = nil
            easy.transfer = nil
            // Libcurl has sent the request again. It counts the attempts until the handle is reset, and fails after
            // five attempts.
            // Before 8.9.0, a lookup over HTTPS continues after its transfer, until the handle is reset.
            if easy.offset(CURLINFO_REDIRECT_TIME_T) > 0 || !transfer.wasSent && options.looksUpOverHTTPS {
                easy.profile = nil
            }
            // Libcurl may keep bytes of a paused body in the handle, which must not reach the next exchange. After a
            // 417, versions since 8.14.1 no longer send an `Expect` field.
            if pool.count < Self.poolLimit, !transfer.mayHoldBytes, transfer.upgrade == nil,
                !transfer.mayHaveStaleMark(after: error), transfer.expectation != .omitted
            {
                // Header fields and bodies may be secret or large, and must not stay in memory until the handle is
                // reused.
                if easy.profile == nil { easy.reset() }
                pool.append(easy)
            }
        }
        ConnectionBudget.shared.exchangeEnded()
        group.ended(transfer.id, outcome.response?.httpVersion)
        ended.append((transfer.observer, outcome))
    }

    func error(for code: CURLcode, of transfer: Transfer) -> RequestError {
        guard let easy = transfer.easy else { return RequestError(.internal) }
        if let refusal = transfer.refusal { return refusal }
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
        let isProxied = transfer.isProxied && !options.secureProxyHosts(for: transfer.request).isEmpty
        if let identity = tls.proxyClientIdentity, isProxied, transfer.handshakes == 0 {
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
