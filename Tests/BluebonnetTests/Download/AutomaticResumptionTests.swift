import Testing

@testable import Bluebonnet

@Suite struct AutomaticResumptionTests {
    typealias Kind = RequestError.Kind

    static let interruptions: [Kind] = [
        .connection(.nameNotResolved), .connection(.refused), .connection(.lost), .connection(.http2),
        .timedOut(.connect), .timedOut(.idle), .invalidResponse(.truncated), .invalidResponse(.http2Stream),
    ]

    static let verdicts: [Kind] = [
        .cancelled, .sessionShutDown, .internal, .invalidURL, .timedOut(.total), .trust(.certificateExpired),
        .trust(.handshake), .connection(.proxy), .connection(.proxyNameNotResolved), .connection(.failed),
        .invalidResponse(.malformed), .invalidResponse(.headTooLarge(limit: 1)),
        .invalidResponse(.bodyTooLarge(limit: 1)),
        .invalidResponse(.undecodableContent), .validation(.unacceptableStatusCode(503)),
        .validation(.customValidationFailed), .serialization(.decodingFailed), .download(.cannotWriteFile(path: "/x")),
        .download(.resumeDataInvalid), .download(.cannotResume(statusCode: 404)), .requestBody(.sequenceFailed),
        .invalidRequest(.conversion),
    ]

    @Test(arguments: interruptions)
    func `a download resumes after an interruption`(_ kind: Kind) {
        var resumption = AutomaticResumption()
        #expect(resumption.interrupted(by: kind, gained: 5000, canResume: true, spread: 0) != nil)
    }

    @Test(arguments: interruptions)
    func `a download that cannot resume ends`(_ kind: Kind) {
        var resumption = AutomaticResumption()
        #expect(resumption.interrupted(by: kind, gained: 5000, canResume: false, spread: 0) == nil)
    }

    @Test(arguments: verdicts)
    func `an intended end and a permanent failure are not interruptions`(_ kind: Kind) {
        var resumption = AutomaticResumption()
        #expect(resumption.interrupted(by: kind, gained: 5000, canResume: true, spread: 0) == nil)
    }

    /// The bytes that each attempt fetched, and the decision after it.
    static let histories: [[(Int64, Duration?)]] = [
        // Attempts that make progress continue without a limit and without growing delays.
        Array(repeating: (1024, .milliseconds(500)), count: 50),
        // Attempts with little or no progress.
        [
            (0, .seconds(1)), (1023, .seconds(2)), (0, .seconds(4)),
            (1, .seconds(8)), (0, nil),
        ],
        // An attempt with progress resets the count of attempts without progress.
        [
            (0, .seconds(1)), (0, .seconds(2)),
            (4096, .milliseconds(500)),
            (0, .seconds(1)), (0, .seconds(2)), (0, .seconds(4)),
            (0, .seconds(8)), (0, nil),
        ],
    ]

    @Test(arguments: histories)
    func `attempts without progress are few and have longer delays`(_ history: [(Int64, Duration?)]) {
        var resumption = AutomaticResumption()
        for (fetched, verdict) in history {
            let actual = resumption.interrupted(
                by: .connection(.lost), gained: fetched, canResume: true, spread: 0)
            #expect(actual == verdict)
        }
    }

    @Test(
        arguments: [(-1, 500), (0, 500), (0.5, 625), (1, 750), (7, 750)] as [(Double, Int)])
    func `delays vary by up to half`(_ spread: Double, milliseconds: Int) {
        var resumption = AutomaticResumption()
        let verdict = resumption.interrupted(by: .timedOut(.idle), gained: 9999, canResume: true, spread: spread)
        #expect(verdict == .milliseconds(milliseconds))
    }
}
