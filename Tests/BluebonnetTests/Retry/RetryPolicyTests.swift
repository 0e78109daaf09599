import FoundationEssentials
import Testing

@testable import Bluebonnet

/// The decisions of a policy about failures, as tables.
struct RetryPolicyTests {
    private static let unmoved = RetryPolicy(jitter: .none)
    private static let now = Date(timeIntervalSince1970: 784_111_777)  // Sun, 06 Nov 1994 08:49:37 GMT

    private func decision(_ failure: RetryCase) -> Duration? { decision(Self.unmoved, failure) }

    private func decision(
        _ policy: RetryPolicy, _ failure: RetryCase, random: Double = 0.5
    ) -> Duration? {
        policy.delay(after: failure, now: Self.now, random: random)
    }

    // MARK: What is retried

    @Test(arguments: [
        (HTTPMethod.get, true), (.head, true), (.put, true), (.delete, true), (.options, true), (.trace, true),
        (.post, false), (.patch, false), (.connect, false), (HTTPMethod(rawValue: "PURGE"), false),
    ])
    func `idempotent methods are retried`(_ method: HTTPMethod, isRetried: Bool) {
        for failure in [
            RetryCase(methods: [method], kind: .connection(.lost)), .init(methods: [method], statusCode: 503),
        ] {
            #expect(
                decision(failure)
                    == (isRetried ? .milliseconds(500) : nil))
        }
    }

    @Test func `a redirected request is retried only if all of its requests are idempotent`() {
        #expect(
            decision(RetryCase(methods: [.post, .get], kind: .connection(.lost))) == nil
        )
        #expect(decision(RetryCase(methods: [.put, .get], kind: .connection(.lost))) != nil)
        // If nothing was sent, the request is retried with any method.
        #expect(decision(RetryCase(methods: [], kind: .connection(.lost))) != nil)
    }

    @Test(arguments: 100...599)
    func `temporary status codes are retried`(_ status: Int) {
        let isRetried = [408, 429, 500, 502, 503, 504].contains(status)
        let failure = RetryCase(kind: .validation(.unacceptableStatusCode(status)), statusCode: status)
        #expect(decision(failure) == (isRetried ? .milliseconds(500) : nil))
        // Whatever was found wrong with the response.
        #expect((decision(RetryCase(kind: .serialization(.decodingFailed), statusCode: status)) != nil) == isRetried)
        #expect((decision(RetryCase(statusCode: status)) != nil) == isRetried)
    }

    static let kinds: [(RequestError.Kind, Bool)] = [
        (.connection(.nameNotResolved), true), (.connection(.proxyNameNotResolved), true),
        (.connection(.refused), true), (.connection(.lost), true), (.connection(.http2), true),
        (.connection(.failed), true), (.connection(.proxy), false),
        (.timedOut(.connect), true), (.timedOut(.idle), true), (.timedOut(.total), true), (.timedOut(.pool), false),
        (.trust(.handshake), true), (.trust(.certificateExpired), true), (.trust(.untrustedIssuer), false),
        (.trust(.selfSigned), false), (.trust(.hostMismatch), false), (.trust(.certificateRefused), false),
        (.trust(.configuration), false),
        (.invalidResponse(.malformed), true), (.invalidResponse(.truncated), true),
        (.invalidResponse(.undecodableContent), true), (.invalidResponse(.http2Stream), true),
        (.invalidResponse(.headTooLarge(limit: 1)), false), (.invalidResponse(.bodyTooLarge(limit: 1)), false),
        (.invalidURL, false), (.invalidRequest(.conversion), false), (.parameterEncoding(.encoderFailed), false),
        (.multipartEncoding(.bodyPartNotReplayable(name: "a")), false), (.requestBody(.sequenceFailed), false),
        (.requestBody(.notReplayable), false), (.adaptation, false), (.retry(original: .connection(.lost)), false),
        (.redirect(.tooMany(limit: 20)), false), (.authentication(.unsupportedScheme("a")), false),
        (.validation(.customValidationFailed), false), (.validation(.missingContentType(acceptable: [])), false),
        (.serialization(.decodingFailed), false), (.download(.resumeDataInvalid), false),
        (.eventSource(.unacceptableStatusCode(500)), false), (.cancelled, false), (.sessionShutDown, false),
        (.internal, false),
    ]

    @Test(arguments: kinds)
    func `temporary failures are retried`(_ kind: RequestError.Kind, isRetried: Bool) {
        #expect(
            decision(RetryCase(kind: kind))
                == (isRetried ? .milliseconds(500) : nil))
        // A good response changes nothing about that.
        #expect((decision(RetryCase(kind: kind, statusCode: 200)) != nil) == isRetried)
    }

    @Test func `errors of other types are not retried`() {
        #expect(decision(RetryCase(kind: nil)) == nil)
    }

    @Test(arguments: [true, false])
    func `a body that is not replayable is not retried`(isReplayable: Bool) {
        let failure = RetryCase(methods: [.put], isReplayable: isReplayable, kind: .connection(.lost))
        #expect((decision(failure) != nil) == isReplayable)
    }

    // MARK: How often

    @Test(arguments: 0...4 as ClosedRange<UInt>, 0...5)
    func `the limit of retries is respected`(_ limit: UInt, retries: Int) {
        let failure = RetryCase(retryCount: retries, kind: .connection(.lost))
        let decision = decision(RetryPolicy(retryLimit: limit, jitter: .none), failure)
        #expect((decision != nil) == (retries < Int(limit)))
    }

    @Test(arguments: [(0, true), (1, false), (2, false)])
    func `an HTTP/2 connection that fails is replaced once`(_ retries: Int, isRetried: Bool) {
        let policy = RetryPolicy(retryLimit: 5)
        #expect((decision(policy, RetryCase(retryCount: retries, kind: .connection(.http2))) != nil) == isRetried)
        #expect(decision(RetryPolicy(retryLimit: 0), RetryCase(kind: .connection(.http2))) == nil)
        // A POST may have been processed for all that is known.
        #expect(decision(policy, RetryCase(methods: [.post], kind: .connection(.http2))) == nil)
    }

    @Test func `a request that libcurl has repeated several times is not retried`() {
        let failure = RetryCase(kind: .connection(.lost), wasTriedByTransport: true)
        #expect(decision(failure) == nil)
    }

    // MARK: When

    @Test(arguments: [
        (0, 0.0, 0.0), (0, 0.5, 0.25), (0, 1.0, 0.5), (1, 0.0, 0.0), (1, 0.5, 0.5), (1, 1.0, 1.0), (2, 0.5, 1.0),
        (5, 0.5, 8.0), (6, 0.5, 15.0), (100, 0.5, 15.0), (10_000, 1.0, 30.0), (0, -1.0, 0.0), (0, 7.0, 0.5),
    ])
    func `full jitter selects any part of a doubling delay up to the limit`(
        _ retries: Int, random: Double, seconds: Double
    ) {
        let failure = RetryCase(retryCount: retries, kind: .connection(.lost))
        let policy = RetryPolicy(retryLimit: 1_000_000)
        #expect(decision(policy, failure, random: random) == .seconds(seconds))
    }

    @Test(arguments: [
        (2 as UInt, 0.5, 0, 0.5), (2, 0.5, 1, 1), (2, 0.5, 2, 2), (3, 1, 0, 1), (3, 1, 1, 3), (3, 1, 3, 27),
        (1, 2, 9, 2), (0, 2, 9, 2), (10, 100, 0, 30), (2, 0, 3, 0), (2, -5, 3, 0), (2, .nan, 3, 0),
        (2, .infinity, 0, 30), (.max, .greatestFiniteMagnitude, 50, 30),
    ])
    func `without jitter, the delay is the configured delay`(
        _ base: UInt, scale: Double, retries: Int, seconds: Double
    ) {
        let policy = RetryPolicy(
            retryLimit: .max, exponentialBackoffBase: base, exponentialBackoffScale: scale, jitter: .none)
        let failure = RetryCase(retryCount: retries, statusCode: 503)
        #expect(decision(policy, failure, random: 0.1) == .seconds(seconds))
    }

    // MARK: Retry-After

    static let waits: [([String], Duration?)] = [
        ([], .milliseconds(500)),
        (["0"], .milliseconds(500)), (["7"], .seconds(7)),
        (["60"], .seconds(60)), (["61"], nil),
        ([" 7 "], .seconds(7)), (["007"], .seconds(7)),
        (["99999999999999999999999999"], nil),
        (["Sun, 06 Nov 1994 08:49:47 GMT"], .seconds(10)),
        (["Sun, 06 Nov 1994 08:50:37 GMT"], .seconds(60)),
        (["Sun, 06 Nov 1994 08:50:38 GMT"], nil),
        (["Sunday, 06-Nov-94 08:49:47 GMT"], .seconds(10)),
        (["Sun Nov  6 08:49:47 1994"], .seconds(10)),
        // Over already, or nothing that could be understood.
        (["Sun, 06 Nov 1994 08:49:37 GMT"], .milliseconds(500)),
        (["Fri, 31 Dec 1993 23:59:59 GMT"], .milliseconds(500)),
        (["-5"], .milliseconds(500)), (["1.5"], .milliseconds(500)),
        (["soon"], .milliseconds(500)), ([""], .milliseconds(500)),
        (["7 s"], .milliseconds(500)), (["٧"], .milliseconds(500)),
        // The longest of several.
        (["3", "9"], .seconds(9)), (["9", "soon"], .seconds(9)),
        (["3", "90"], nil),
    ]

    @Test(arguments: waits)
    func `the delay of Retry-After is used`(_ values: [String], expected: Duration?) {
        #expect(decision(RetryCase(statusCode: 503, retryAfter: values)) == expected)
    }

    @Test func `Retry-After makes a delay longer and never shorter`() {
        let policy = RetryPolicy(retryLimit: 10, jitter: .none, maximumRetryAfter: .seconds(10))
        let failure = RetryCase(retryCount: 4, statusCode: 429, retryAfter: ["5"])
        #expect(decision(policy, failure) == .seconds(8))
        #expect(
            decision(policy, RetryCase(statusCode: 429, retryAfter: ["11"])) == nil)
    }

    @Test func `a policy retries lost connections only`() {
        let policy = ConnectionLostRetryPolicy(jitter: .none).policy
        for (kind, _) in Self.kinds {
            let isLost = ConnectionLostRetryPolicy.retryableErrorKinds.contains(kind)
            #expect((decision(policy, RetryCase(kind: kind, statusCode: 503)) != nil) == isLost, "\(kind)")
        }
        #expect(decision(policy, RetryCase(kind: .connection(.lost))) == .milliseconds(500))
    }
}
