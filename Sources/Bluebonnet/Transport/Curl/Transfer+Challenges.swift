/// Challenges, which libcurl answers within the transfer.
extension Transfer {
    /// Whether a head may be that of a challenge which libcurl answers: the response is then another one.
    func isChallenge(_ head: ReceivedHead) -> Bool {
        switch head.statusCode {
        case 401: credential != nil
        case 407: isProxied
        default: false
        }
    }

    /// Whether the latest head is such a one.
    var isChallenged: Bool { reception.head.map(isChallenge) ?? false }

    /// Looks at the first challenge of the server or the proxy; returns whether libcurl may go on with it.
    ///
    /// What a proxy says to the making of a tunnel does not come by here.
    func judgeChallenge(_ head: ReceivedHead) -> Bool {
        switch head.statusCode {
        case 401:
            guard let credential, !wasChallenged else { return true }
            wasChallenged = true
            return judge(head.headers.values(for: "WWW-Authenticate"), credential, &onlyScheme)
        case 407:
            guard let proxyCredential, !wasProxyChallenged else { return true }
            wasProxyChallenged = true
            return judge(head.headers.values(for: "Proxy-Authenticate"), proxyCredential, &onlyProxyScheme)
        default:
            return true
        }
    }

    private func judge(_ fields: [String], _ credential: Credential, _ onlyScheme: inout Credential.Schemes?) -> Bool {
        let schemes = credential.schemes.intersection(Libcurl.schemes)
        switch ChallengeDecision(Challenge.parse(fields), schemes: schemes, hasBody: request.hasBody) {
        case .deliver, .answer:
            return true
        case .answerOnly(let scheme):
            onlyScheme = scheme
            isToBeSentAnew = true
            return false
        case .refuse(let reason):
            reception.fail(with: RequestError(.authentication(reason)).about(response, body: nil))
            return false
        }
    }

    /// Goes back to the beginning, if libcurl was stopped only to answer a challenge in another way.
    func takeRestart() -> Bool {
        guard isToBeSentAnew else { return false }
        isToBeSentAnew = false
        return rewindBody(to: 0)
    }
}
