import Bluebonnet
import BluebonnetTesting
import FoundationEssentials
import TestSupport
import Testing

/// The kinds of requests.
enum ChallengedKind: CaseIterable, Sendable {
    case data, stream, download

    /// The response.
    struct Answer: Sendable {
        var status: Int?
        var body = Data()
        var error: RequestError?
        /// The statuses of the heads that were announced before the body.
        var heads: [Int] = []

        var text: String { String(decoding: body, as: UTF8.self) }
    }

    /// Sends a request and waits for its end.
    func answer(_ request: HTTPRequest, in session: Session) async -> Answer {
        var answer = Answer()
        let heads = Locked<[Int]>([])
        switch self {
        case .data:
            let request = session.request(request)
                .onHTTPResponse { response in
                    heads.withLock { $0.append(response.statusCode) }
                    return .allow
                }
            let response = await request.serializingData(emptyResponseCodes: Set(200...599)).response
            answer.status = response.response?.statusCode
            answer.body = (try? response.result.get()) ?? Data()
            answer.error = response.error
        case .stream:
            let task = session.streamRequest(request)
                .onHTTPResponse { response in
                    heads.withLock { $0.append(response.statusCode) }
                    return .allow
                }
                .streamTask()
            do {
                answer.status = try await task.response.statusCode
                for try await piece in task.bytes { answer.body += piece }
            } catch {
                answer.error = error
            }
        case .download:
            let request = session.download(request)
                .onHTTPResponse { response in
                    heads.withLock { $0.append(response.statusCode) }
                    return .allow
                }
            let response = await request.serializingData(emptyResponseCodes: Set(200...599)).response
            answer.status = response.response?.statusCode
            answer.body = (try? response.result.get()) ?? Data()
            answer.error = response.error
        }
        answer.heads = heads.withLock { $0 }
        return answer
    }
}

extension HTTPRequest {
    /// Creates a request with a credential.
    init(
        _ url: URL, method: HTTPMethod = .get, headers: HTTPHeaders = [:], body: RequestBody? = nil,
        credential: Credential?
    ) {
        self.init(url: url, method: method, headers: headers, body: body)
        self.credential = credential
    }
}
