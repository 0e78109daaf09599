import BluebonnetLibc
import CCurl
import FoundationEssentials

/// The transfers with connections of their own that need the engine's attention.
struct UpgradeQueues {
    /// The transfers whose connections libcurl opens.
    var opening: [TransferID: Transfer] = [:]
    /// The transfers with new bytes to send.
    var unsent: [Transfer] = []
    /// The transfers that have reached their limit for the turn.
    var waiting: [Transfer] = []
    /// The multi handle for the next connections, and the number of connections that were opened with it.
    weak var multi: MultiHandle?
    var multiUses = 0
}

/// Runs the connections of requests that ask for another protocol; see ``UpgradableConnection``.
///
/// The response passes through the same code as the responses that libcurl delivers, so cookies, limits, pauses and
/// suspensions work alike.
// Safety: buffers are used only within the calls that provide them.
extension TransferEngine {
    /// The number of bytes to receive in one turn.
    private static let turnLimit = 512 * 1024
    /// The maximum number of bytes that are received after the peer has closed the connection.
    private static let restLimit = 16 << 20
    /// The number of bytes after which more are likely to wait.
    private static let largeSize = 16 * 1024
    /// The least number of bytes for which a buffer is used further.
    private static let leastRoom = 4 * 1024

    /// The number of connections that share a multi handle.
    ///
    /// A multi handle takes about 40 KB, and up to two descriptors with libcurl before 8.9.0.
    private static let connectionsPerMulti = 16

    /// The multi handle of a transfer that opens a connection of its own.
    ///
    /// It is not the one for requests. Libcurl searches all connections of a multi handle for each call that sends or
    /// receives bytes, closes such connections to make room for others, and counts them in the limits for requests.
    func ownMulti(of transfer: Transfer) -> MultiHandle? {
        if let multi = transfer.multi { return multi }
        if upgrades.multiUses < Self.connectionsPerMulti, let multi = upgrades.multi {
            upgrades.multiUses += 1
            return multi
        }
        let multi = MultiHandle(
            loop: loop, limits: Session.Configuration.ConnectionLimits(), isMultiplexing: false,
            counts: shared.counts)
        (upgrades.multi, upgrades.multiUses) = (multi, 1)
        return multi
    }

    /// Called when a transfer's options are set, and its connection is about to be opened.
    func willOpen(_ transfer: Transfer, _ easy: EasyHandle) {
        options.applyUpgrade(to: easy)
        easy.profile = nil
        upgrades.opening[transfer.id] = transfer
    }

    /// Called when libcurl has opened the connection.
    func opened(_ transfer: Transfer, _ upgrade: UpgradableConnection) {
        upgrades.opening[transfer.id] = nil
        guard let easy = transfer.easy, let multi = transfer.multi, easy.activeSocket >= 0 else {
            return finish(transfer, with: error(.connection(.lost), "the connection was closed", of: transfer))
        }
        let socket = easy.activeSocket
        Self.limitUnsent(of: socket)
        upgrade.opened(socket, sending: head(of: transfer, upgrade))
        multi.handOver(socket)
        // The turn serves the socket: a call of the engine from here would check the isolation (900 instructions).
        loop.watch(socket, for: .readable, by: ObjectIdentifier(upgrade)) { [shared, unowned transfer] readiness in
            shared.readyUpgrades.append((transfer, readiness))
            shared.steps.ask(.serveUpgrades)
        }
        transfer.responseBuffer.lastActivity = shared.now
        sendUpgraded(transfer)
    }

    /// Limits the bytes that the system keeps for a peer that does not take them.
    ///
    /// Otherwise, these are megabytes. A ping waits behind them, and they look sent, so that the peer seems to be
    /// silent while it takes them.
    // Safety: the system reads the value only within the call.
    private static func limitUnsent(of socket: Int32) {
        var limit: Int32 = 128 << 10
        _ = unsafe setsockopt(
            socket, Int32(IPPROTO_TCP), TCP_NOTSENT_LOWAT, &limit, socklen_t(MemoryLayout<Int32>.size))
    }

    /// Called when the transfer ends or is sent again: the loop no longer watches the socket, which libcurl closes.
    func leave(_ transfer: Transfer, _ upgrade: UpgradableConnection) {
        upgrades.opening[transfer.id] = nil
        if let socket = upgrade.socket, loop.isWatching(socket, for: ObjectIdentifier(upgrade)) { loop.unwatch(socket) }
        upgrade.reset()
        guard !upgrade.pieces.isEmpty else { return }
        deliverPieces(upgrade, of: transfer)
        reportProgress(of: transfer)
    }

    private func head(of transfer: Transfer, _ upgrade: UpgradableConnection) -> Data {
        var fields = options.fields(of: transfer.request)
        if let authorization = upgrade.authorization {
            fields.append(.authorization(authorization))
        } else if transfer.serverChallenges.credential == nil, !options.authenticatesItself(transfer.request),
            let field = transfer.url.userInfoField
        {
            fields.append(field)
        }
        let cookies = transfer.cookieField()
        var text = "\(transfer.request.method.rawValue) \(transfer.url.upgradeTarget) HTTP/1.1\r\n"
        if !transfer.request.headers.contains("Host") { text += "Host: \(transfer.url.upgradeHost)\r\n" }
        for field in fields { text += "\(field.name): \(field.value.trimmed)\r\n" }
        guard !cookies.isEmpty else { return Data("\(text)\r\n".utf8) }
        return Data(text.utf8) + Data("Cookie: ".utf8) + Data(cookies) + Data("\r\n\r\n".utf8)
    }

    // MARK: Sending

    func send(_ bytes: Data, on transfer: Transfer) {
        guard let upgrade = transfer.upgrade, !upgrade.isOutputClosed, !bytes.isEmpty else { return }
        upgrade.output.append(bytes)
        guard !upgrade.isListed else { return }
        upgrade.isListed = true
        upgrades.unsent.append(transfer)
    }

    /// Sends the bytes of the commands that were just performed.
    func sendUpgraded() {
        guard !upgrades.unsent.isEmpty else { return }
        // A transfer that has ended has no open connection.
        for transfer in exchange(&upgrades.unsent, with: []) {
            transfer.upgrade?.isListed = false
            sendUpgraded(transfer)
        }
    }

    private func sendUpgraded(_ transfer: Transfer) {
        guard let upgrade = transfer.upgrade, upgrade.isOpen, let easy = transfer.easy,
            !transfer.life.isSuspended, !upgrade.isOutputClosed
        else { return }
        if !transfer.sendOutput(of: upgrade, on: easy, now: shared.now) {
            // The peer may have sent a response before it closed the connection, and reading tells.
            upgrade.isOutputClosed = true
            upgrade.output = UpgradeOutput()
            if mustEnd(transfer, upgrade) { return finishWithRest(transfer, upgrade) }
        }
        align(transfer, upgrade)
    }

    /// Whether only the end of the exchange can end the waits of the senders, because the reader does not read.
    private func mustEnd(_ transfer: Transfer, _ upgrade: UpgradableConnection) -> Bool {
        upgrade.isOutputClosed && !upgrade.unread.isEmpty && transfer.receiver != nil
    }

    /// Passes the bytes that have arrived to the receiver, even if it does not want them yet, and ends the exchange.
    ///
    /// The peer sends no more bytes, so there are at most as many as the system keeps for a socket.
    private func finishWithRest(_ transfer: Transfer, _ upgrade: UpgradableConnection) {
        guard let easy = transfer.easy else { return }
        transfer.deliverPiece()
        deliverPieces(upgrade, of: transfer)
        var rest = exchange(&upgrade.unread, with: Data())
        while rest.count < Self.restLimit {
            let buffer = shared.buffers.take()
            _ = fill(buffer, of: transfer, easy)
            let piece = shared.buffers.piece(of: buffer)
            guard !piece.isEmpty else { break }
            rest += piece
        }
        upgrade.receivedBytes += Int64(rest.count)
        _ = transfer.receiver?.receive(rest)
        finish(transfer, with: error(.connection(.lost), "the connection was closed", of: transfer))
    }

    // MARK: Receiving

    /// Handles the sockets that are ready.
    func serveReadyUpgrades() {
        for (transfer, readiness) in exchange(&shared.readyUpgrades, with: []) { becameReady(transfer, readiness) }
    }

    private func becameReady(_ transfer: Transfer, _ readiness: Readiness) {
        guard !transfer.hasEnded, let upgrade = transfer.upgrade, upgrade.isOpen else { return }
        if readiness.contains(.refused) {
            return finish(transfer, with: error(.connection(.failed), SystemError(ENOSPC).message, of: transfer))
        }
        if readiness.contains(.writable), !upgrade.output.isEmpty { sendUpgraded(transfer) }
        if readiness != .writable { receive(on: transfer) }
    }

    /// Continues after a pause or a suspension, or begins one.
    func continueUpgraded(_ transfer: Transfer) {
        receive(on: transfer)
        guard !transfer.hasEnded, let upgrade = transfer.upgrade else { return }
        if mustEnd(transfer, upgrade) { finishWithRest(transfer, upgrade) } else { sendUpgraded(transfer) }
    }

    /// Continues the transfers that had reached their limit for the turn.
    func receiveWaitingUpgraded() {
        for transfer in exchange(&upgrades.waiting, with: []) where !transfer.hasEnded {
            transfer.upgrade?.isWaiting = false
            receive(on: transfer)
        }
    }

    /// Receives bytes until there are none, since TLS may keep bytes that the system does not report.
    private func receive(on transfer: Transfer) {
        guard let upgrade = transfer.upgrade, let easy = transfer.easy, let multi = transfer.multi else { return }
        let kept = exchange(&upgrade.unread, with: Data())
        if !kept.isEmpty { received(kept, on: transfer, upgrade) }
        var budget = Self.turnLimit
        while upgrade.isOpen, upgrade.unread.isEmpty, !upgrade.isWaiting, !transfer.life.isSuspended {
            // A message of 64 KiB fills most of the first buffer, so it is not copied. If there is more, larger pieces
            // take less time.
            let pool = budget == Self.turnLimit ? RecycledBuffers.frames : shared.buffers
            let buffer = pool.take()
            let code = fill(buffer, of: transfer, easy)
            let piece = pool.piece(of: buffer)
            if !piece.isEmpty { received(piece, on: transfer, upgrade) }
            if code == CURLE_AGAIN { break }
            if let code {
                guard upgrade.isOpen, upgrade.unread.isEmpty else { break }
                return connectionEnded(transfer, upgrade, code, multi)
            }
            budget -= piece.count
            guard budget <= 0 else { continue }
            upgrade.isWaiting = true
            upgrades.waiting.append(transfer)
            shared.steps.ask(.resumeUpgrades)
        }
        align(transfer, upgrade)
    }

    /// Receives bytes into a buffer; returns `nil` if it is full.
    ///
    /// Otherwise, the result is `CURLE_AGAIN` if no more bytes have arrived, or the code with which the connection has
    /// ended.
    private func fill(_ buffer: RecycledBuffer, of transfer: Transfer, _ easy: EasyHandle) -> CURLcode? {
        // Without TLS, libcurl keeps no bytes back, and the system reports the bytes that arrive after a few.
        let isPlain = !transfer.isSecure && !transfer.isProxied
        while buffer.room >= Self.leastRoom {
            var (code, count) = (CURLE_OK, 0)
            unsafe buffer.fill(upTo: .max) { room in
                unsafe (code, count) = easy.receive(into: room)
                return code == CURLE_OK ? count : 0
            }
            guard code == CURLE_OK, count > 0 else { return code }
            if isPlain, count < Self.largeSize { return CURLE_AGAIN }
        }
        return nil
    }

    private func connectionEnded(
        _ transfer: Transfer, _ upgrade: UpgradableConnection, _ code: CURLcode, _ multi: MultiHandle
    ) {
        if code == CURLE_OK, upgrade.framing.mayEnd { return libcurlEnded(transfer, with: CURLE_OK, of: multi) }
        let isAnswered = transfer.responseBuffer.head != nil
        let cause = code != CURLE_OK ? code : isAnswered ? CURLE_PARTIAL_FILE : CURLE_GOT_NOTHING
        finish(transfer, with: error(for: cause, of: transfer))
    }

    /// Passes bytes to the transfer, and keeps the bytes that it does not take.
    private func received(_ bytes: Data, on transfer: Transfer, _ upgrade: UpgradableConnection) {
        transfer.responseBuffer.lastActivity = shared.now
        upgrade.receivedBytes += Int64(bytes.count)
        shared.counts.add(bytes.count)
        var rest = bytes
        while !rest.isEmpty, upgrade.isOpen {
            let part = upgrade.framing.passesAll ? .body(rest.count) : upgrade.framing.part(of: rest.span)
            let count: Int
            switch part {
            case .head(let length, let isEnd):
                count = length
                // Of a challenge, libcurl would be stopped before it answers with a scheme that it does not implement.
                let isAccepted =
                    unsafe rest.prefix(count).withUnsafeBytes { unsafe transfer.receivedHead($0) }
                    || transfer.resends.takeHalt()
                upgrade.framing.consumed(part, of: rest.span)
                upgrade.headBytes += count
                let limit = options.configuration.maximumResponseHeadBytes
                guard isAccepted, upgrade.headBytes <= limit else {
                    let reason = isAccepted ? RequestError.InvalidResponseReason.headTooLarge(limit: limit) : .malformed
                    return finish(transfer, with: RequestError(.invalidResponse(reason)))
                }
                if isEnd, !headEnded(transfer, upgrade) { return }
            case .body(let length):
                count = length
                switch receivedBody(count < rest.count ? rest.prefix(count) : rest, on: transfer, upgrade) {
                case .accept: if !upgrade.framing.passesAll { upgrade.framing.consumed(part, of: rest.span) }
                case .pause:
                    upgrade.receivedBytes -= Int64(rest.count)
                    return upgrade.unread = rest
                case .refuse: return finish(transfer, with: RequestError(.invalidResponse(.malformed)))
                }
            case .skipped(let length):
                count = length
                upgrade.framing.consumed(part, of: rest.span)
            case .end: count = rest.count
            case .malformed: return finish(transfer, with: RequestError(.invalidResponse(.malformed)))
            }
            rest = count < rest.count ? rest.dropFirst(count) : Data()
        }
        if upgrade.framing.isComplete, let multi = transfer.multi { libcurlEnded(transfer, with: CURLE_OK, of: multi) }
    }

    /// Receives bytes of the body or of the upgraded protocol; returns the state's decision.
    private func receivedBody(
        _ bytes: Data, on transfer: Transfer, _ upgrade: UpgradableConnection
    ) -> TransferState.BodyAction {
        guard transfer.receiver != nil, transfer.responseBuffer.decoder == nil else {
            return unsafe bytes.withUnsafeBytes { unsafe transfer.receivedBody($0) }
        }
        let action = transfer.responseBuffer.state.bodyBytesReceived(bytes.count)
        guard action == .accept else { return action }
        transfer.noteProgress()
        upgrade.pieces.append(bytes)
        upgrade.pieceBytes += bytes.count
        if upgrade.pieceBytes >= shared.buffers.size { deliverPieces(upgrade, of: transfer) }
        return .accept
    }

    /// Passes the received bytes to the receiver.
    ///
    /// This is done at the end of the turn. The tasks that await the bytes of several connections are then resumed
    /// together, and a task that awaits many bytes is resumed once.
    func deliverPieces(_ upgrade: UpgradableConnection, of transfer: Transfer) {
        guard let receiver = transfer.receiver else { return }
        upgrade.pieceBytes = 0
        var isStopped = false
        for piece in upgrade.pieces.takeAll() where !isStopped {
            switch receiver.receive(piece) {
            case .proceed: break
            case .pause: transfer.responseBuffer.state.bodyHeld()
            case .stop: (isStopped, transfer.receiver) = (true, nil)
            }
        }
        if isStopped { finish(transfer, with: RequestError(.cancelled)) }
    }

    /// Called when a head is complete; returns whether the response continues on this connection.
    private func headEnded(_ transfer: Transfer, _ upgrade: UpgradableConnection) -> Bool {
        let head = transfer.responseBuffer.head
        upgrade.framing.headEnded(head)
        if head?.statusCode == 101 {
            transfer.limits.upgraded(idleTimeout: upgrade.idleTimeout)
            checkLimits(of: transfer)
            return true
        }
        guard head?.statusCode == 401, upgrade.authorization == nil,
            let credential = transfer.serverChallenges.credential, let challenges = transfer.serverChallenges.received
        else { return true }
        let offered = challenges.compactMap { Credential.Schemes(name: $0.scheme) }
        let usable = Credential.Schemes(offered).intersection(credential.schemes)
        guard usable.contains(.basic) else {
            guard !usable.isEmpty else { return true }
            let reason = RequestError.AuthenticationReason.unsupportedScheme(usable.names)
            finish(transfer, with: RequestError(.authentication(reason)).about(transfer.response, body: nil))
            return false
        }
        let field = HTTPHeader.authorization(username: credential.username, password: credential.password)
        leave(transfer, upgrade)
        upgrade.authorization = field.value
        if let easy = transfer.easy { transfer.multi?.remove(easy) }
        perform(transfer.life.sendsAgain(), on: transfer)
        return false
    }

    /// Sets the events of the socket that the connection waits for.
    private func align(_ transfer: Transfer, _ upgrade: UpgradableConnection) {
        guard let socket = upgrade.socket, loop.isWatching(socket, for: ObjectIdentifier(upgrade)) else { return }
        var interest: Interest = []
        if !transfer.life.isSuspended {
            if upgrade.unread.isEmpty, !upgrade.isWaiting { interest.insert(.readable) }
            if !upgrade.output.isEmpty, !upgrade.isOutputClosed { interest.insert(.writable) }
        }
        if loop.interest(in: socket) != interest { loop.setInterest(interest, of: socket) }
    }
}

extension URL {
    /// The path and the query for a request line, without a fragment (RFC 9112 §3.2.1).
    fileprivate var upgradeTarget: String {
        let text = curlString
        let rest = Substring(text.utf8.dropFirst(URLSyntax(text.utf8.span).authority.upperBound))
        return rest.hasPrefix("/") ? String(rest) : "/\(rest)"
    }

    /// The field with the user info of the URL, which libcurl sends with other requests; `nil` if there is none.
    fileprivate var userInfoField: HTTPHeader? {
        let (user, password) = (user(percentEncoded: false) ?? "", password(percentEncoded: false) ?? "")
        return user.isEmpty && password.isEmpty ? nil : .authorization(username: user, password: password)
    }

    /// The value of the `Host` field: the host, and the port if it is not the default port of the scheme.
    fileprivate var upgradeHost: String {
        let host = host(percentEncoded: false) ?? ""
        let name = host.contains(":") ? "[\(host)]" : HostName.ascii(host)
        guard let port, port != (isSecure ? 443 : 80) else { return name }
        return "\(name):\(port)"
    }
}

extension Transfer {
    /// Sends what its connection has to send; returns whether libcurl can still send.
    fileprivate func sendOutput(of upgrade: UpgradableConnection, on easy: EasyHandle, now: Int64) -> Bool {
        unsafe upgrade.output.send { bytes in
            let (code, count) = unsafe easy.send(bytes)
            guard code == CURLE_OK || code == CURLE_AGAIN else { return nil }
            let sent = upgrade.sent(count)
            if count > 0 { responseBuffer.lastActivity = now }
            if sent > 0 {
                upload.sent(sent)
                noteProgress()
            }
            return count
        }
    }
}
