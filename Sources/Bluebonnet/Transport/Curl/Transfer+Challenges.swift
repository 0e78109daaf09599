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

    /// Looks at the first challenge of the server; returns whether libcurl may go on with it.
    func judgeChallenge(_ head: ReceivedHead) -> Bool {
        guard head.statusCode == 401, let credential, !wasChallenged else { return true }
        wasChallenged = true
        let challenges = Challenge.parse(head.headers.values(for: "WWW-Authenticate"))
        let schemes = credential.schemes.intersection(Libcurl.schemes)
        switch ChallengeDecision(challenges, schemes: schemes, hasBody: request.body != nil) {
        case .deliver, .answer:
            return true
        case .answerOnly(let scheme):
            onlyScheme = scheme
            isToBeSentAnew = true
            return false
        case .refuse(let reason):
            reception.fail(with: RequestError(.authentication(reason)))
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
