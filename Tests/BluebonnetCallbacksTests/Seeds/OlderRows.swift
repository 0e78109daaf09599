import BluebonnetCompatibility
import Foundation
import FoundationNetworking

/// The right-hand sides of the article about versions 3 and 4, for the compiler; `OlderArticleTests` compares.
enum OlderRows {
    struct Custom: ParameterEncoding {
        func encode(_ urlRequest: any URLRequestConvertible, with parameters: Parameters?) throws -> URLRequest {
            try urlRequest.asURLRequest()
        }
    }

    struct Place: URLConvertible, URLRequestConvertible {
        func asURL() throws(RequestError) -> URL { try "http://garden.test/".asURL() }
        func asURLRequest() throws -> URLRequest { URLRequest(url: try asURL()) }
    }

    static func parameters(_ url: String, _ urlRequest: URLRequest, _ p: [String: any Sendable]) throws {
        _ = AF.request(url)
        _ = AF.request(url, method: .post, parameters: p)
        _ = AF.request(url, method: .post, parameters: p, encoding: JSONEncoding.default)
        _ = AF.request(url, parameters: p, encoding: URLEncoding.default)
        _ = AF.request(url, parameters: p, encoding: URLEncoding.queryString)
        _ = AF.request(url, parameters: p, encoding: PropertyListEncoding.default)
        _ = AF.request(url, parameters: p, encoding: Custom())
        _ = try URLEncoding.default.encode(urlRequest, with: p)
        _ = AF.request(url, headers: ["Accept": "text/css"])
        _ = HTTPMethod.get
    }

    static func responses(_ request: DataRequest, _ q: DispatchQueue, _ t: String) {
        debugPrint(request)
        _ = (request.request, request.response)
        request.response { response in }
        request.responseJSON { response in }
        request.responsePropertyList { response in }
        request.responseString(queue: q) { response in }
        request.validate().validate(statusCode: 200..<300).validate(contentType: [t])
    }

    static func transforms(_ response: AFDataResponse<String>, parse: (String) throws -> Int) {
        _ = (response.value, response.error == nil, response.error, response.metrics)
        switch response.result {
        case .success(let value): print(value)
        case .failure(let error): print(error)
        }
        _ = response.map { $0.count }
        _ = response.tryMap { try parse($0) }
    }

    enum Serializers {
        struct Custom: ResponseSerializer {
            func serialize(
                request: URLRequest?, response: HTTPURLResponse?, data: Data?, error: (any Error)?
            ) throws -> Int { data?.count ?? 0 }
        }
    }

    static func serializers<S: ResponseSerializer>(
        _ request: DataRequest, _ s: S, _ urlRequest: URLRequest, _ head: HTTPURLResponse, _ data: Data
    ) throws {
        request.response(responseSerializer: Serializers.Custom()) { response in }
        request.response(responseSerializer: s) { response in }
        _ = try DataResponseSerializer().serialize(request: urlRequest, response: head, data: data, error: nil)
    }

    static func errors(_ error: any Error) -> (any Error)? {
        guard let error = error.asAFError else { return nil }
        return error.underlyingError
    }

    static func uploads(_ url: String, _ f: URL, _ d: Data, _ s: sending InputStream) {
        _ = AF.upload(f, to: url)
        _ = AF.upload(d, to: url)
        _ = AF.upload(s, to: url)
        AF.upload(multipartFormData: { form in }, to: url).uploadProgress { progress in }
    }

    static func form(_ form: MultipartFormData, _ data: Data, _ n: String, _ f: String, _ t: String) {
        form.append(data, withName: n, fileName: f, mimeType: t)
    }

    static func downloads(_ url: String, _ f: URL, _ fileURL: URL, _ data: Data) {
        let download = AF.download(url, to: { _, _ in (f, []) }).downloadProgress { progress in }
        download.response { response in _ = (response.fileURL, response.resumeData) }
        _ = download.resumeData
        _ = AF.download(url, to: DownloadRequest.suggestedDownloadDestination(for: .documentDirectory))
        _ = AF.download(url, to: { _, response in (fileURL, [.removePreviousFile]) })
        _ = AF.download(resumingWith: data)
    }

    static func authentication(_ request: DataRequest, _ u: String, _ p: String, _ c: URLCredential) {
        request.authenticate(username: u, password: p)
        request.authenticate(using: c)
        _ = HTTPHeader.authorization(username: u, password: p)
    }

    static func sessions(_ c: URLSessionConfiguration, _ h: HTTPHeaders, _ request: DataRequest) {
        c.headers = h
        _ = (Session.default, Session(configuration: c), HTTPHeaders.default, Session(startRequestsImmediately: false))
        request.redirect(using: Redirector(behavior: .modify { _, request, _ in request }))
        request.cacheResponse(using: ResponseCacher(behavior: .modify { _, response in response }))
        _ = (request.urlRequests(), request.httpResponses())
    }

    static func interception(_ a: any RequestAdapter, _ r: any RequestRetrier, _ completion: (RetryResult) -> Void) {
        _ = Session(interceptor: Interceptor(adapter: a, retrier: r))
        _ = Adapter { urlRequest, session, completion in completion(.success(urlRequest)) }
        _ = (a.adapt(_:for:completion:), r.retry(_:for:dueTo:completion:))
        completion(.retryWithDelay(1.0))
    }

    static func trust(_ e: [String: any ServerTrustEvaluating]) {
        struct Custom: ServerTrustEvaluating {
            func evaluate(_ trust: ServerTrust, forHost host: String) throws {}
        }
        _ = ServerTrustManager(allHostsMustBeEvaluated: false, evaluators: e)
        _ = ServerTrustManager(evaluators: ["*.example.com": DefaultTrustEvaluator()])
        _ = (DefaultTrustEvaluator(validateHost: true), DisabledTrustEvaluator(), Custom())
        _ = (PinnedCertificatesTrustEvaluator(), PublicKeysTrustEvaluator())
    }

    static func reachability(_ h: String) {
        let manager = NetworkReachabilityManager(host: h)
        manager?.startListening { status in }
    }
}
