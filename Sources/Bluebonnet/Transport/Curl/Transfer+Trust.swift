import CCurl
import FoundationEssentials

/// What the transfer knows of those who judge the servers of its connection.
// Safety: OpenSSL's context is used within the callback that provides it.
extension Transfer {
    /// Has the connections of one of OpenSSL's contexts trust the session's authorities, and the policy judge them if there
    /// is one; returns whether they will.
    func prepare(_ context: OpaquePointer) -> Bool {
        handshakes += 1
        guard let authorities, let easy else { return false }
        do throws(RequestError) {
            let store = try authorities.store()
            guard easy.authorities == authorities.generation else {
                // Begun with the settings of earlier authorities, and so perhaps with a session of theirs.
                isToBeSentAnew = true
                return false
            }
            guard unsafe store.attach(to: context) else { return false }
        } catch {
            reception.fail(with: error)
            return false
        }
        guard let trust else { return true }
        guard let memory = trustMemory else { return false }
        let judge = HandshakeJudge(policy: trust, memory: memory)
        judges.append(judge)
        return unsafe judge.attach(to: context)
    }

    /// Whether the connection on which the request is about to be sent was judged by the transfer's own policy.
    ///
    /// If not, libcurl is stopped, and begins again with a connection of the transfer's own, once.
    func mayUseConnection() -> Bool {
        guard let trust, trust.judgesHost, isSecure else { return true }
        if easy?.judge?.hasAccepted(for: trust) == true { return true }
        guard needsFreshConnection else {
            needsFreshConnection = true
            isToBeSentAnew = true
            // Nobody can use it any more.
            easy?.set(CURLOPT_FORBID_REUSE, 1)
            return false
        }
        reception.fail(with: RequestError(.trust(.notEvaluated), detail: "the connection was not judged"))
        return false
    }

    /// Why the handshake was broken off, if that was decided.
    var refusal: RequestError? {
        for judge in judges { if case .refused(let error) = judge.outcome { return error } }
        return nil
    }

    /// What has to be judged off the loop, if the handshake was broken off for that.
    var undecided: (ServerTrust, any ServerTrustEvaluating)? {
        for judge in judges {
            if case .undecided(let trust, let evaluator) = judge.outcome { return (trust, evaluator) }
        }
        return nil
    }

    var isSecure: Bool {
        TransferOptions.isSecure(request.url) || easy?.upgradedURL(of: request.url) != nil
    }
}
