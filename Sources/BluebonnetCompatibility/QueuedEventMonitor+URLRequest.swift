public import BluebonnetCallbacks
public import Foundation
public import FoundationNetworking

/// The methods with Alamofire's parameters do nothing by default, and are called by Bluebonnet's methods.
extension QueuedEventMonitor {
    /// Does nothing.
    public func request(_ request: any Request, didCreateInitialURLRequest urlRequest: URLRequest) {}

    /// Does nothing.
    public func request(_ request: any Request, didFailToCreateURLRequestWithError error: AFError) {}

    /// Does nothing.
    public func request(
        _ request: any Request, didAdaptInitialRequest initialRequest: URLRequest, to adaptedRequest: URLRequest
    ) {}

    /// Does nothing.
    public func request(
        _ request: any Request, didFailToAdaptURLRequest initialRequest: URLRequest, withError error: AFError
    ) {}

    /// Does nothing.
    public func request(_ request: any Request, didCreateURLRequest urlRequest: URLRequest) {}

    /// Does nothing.
    public func request(
        _ request: DataRequest, didValidateRequest urlRequest: URLRequest?, response: HTTPURLResponse, data: Data?,
        withResult result: ValidationResult
    ) {}

    /// Does nothing.
    public func request(
        _ request: DataStreamRequest, didValidateRequest urlRequest: URLRequest?, response: HTTPURLResponse,
        withResult result: ValidationResult
    ) {}

    /// Does nothing.
    public func request(
        _ request: DownloadRequest, didValidateRequest urlRequest: URLRequest?, response: HTTPURLResponse,
        fileURL: URL?, withResult result: ValidationResult
    ) {}

    /// Does nothing.
    public func request(_ request: UploadRequest, didFailToCreateUploadableWithError error: AFError) {}

    // MARK: Methods with HTTPRequest

    /// Calls the method with a `URLRequest`.
    public func request(_ request: any Request, didCreateInitialRequest initialRequest: HTTPRequest) {
        self.request(request, didCreateInitialURLRequest: URLRequest(initialRequest))
    }

    /// Calls the method with an `AFError`.
    public func request(_ request: any Request, didFailToCreateRequestWithError error: RequestError) {
        self.request(request, didFailToCreateURLRequestWithError: AFError(error))
    }

    /// Calls the method with `URLRequest`s.
    public func request(
        _ request: any Request, didAdaptInitialRequest initialRequest: HTTPRequest, to adaptedRequest: HTTPRequest
    ) {
        self.request(request, didAdaptInitialRequest: URLRequest(initialRequest), to: URLRequest(adaptedRequest))
    }

    /// Calls the method with a `URLRequest` and an `AFError`.
    public func request(
        _ request: any Request, didFailToAdaptRequest initialRequest: HTTPRequest, withError error: RequestError
    ) {
        self.request(request, didFailToAdaptURLRequest: URLRequest(initialRequest), withError: AFError(error))
    }

    /// Calls the method with a `URLRequest`.
    public func request(_ request: any Request, didCreateRequest createdRequest: HTTPRequest) {
        self.request(request, didCreateURLRequest: URLRequest(createdRequest))
    }

    /// Calls the method with a `URLRequest` and an `HTTPURLResponse`.
    public func request(
        _ request: DataRequest, didValidateRequest validatedRequest: HTTPRequest?, response: HTTPResponse, data: Data?,
        withResult result: ValidationResult
    ) {
        self.request(
            request, didValidateRequest: validatedRequest.map { URLRequest($0) }, response: response.urlResponse,
            data: data, withResult: result)
    }

    /// Calls the method with a `URLRequest` and an `HTTPURLResponse`.
    public func request(
        _ request: DataStreamRequest, didValidateRequest validatedRequest: HTTPRequest?, response: HTTPResponse,
        withResult result: ValidationResult
    ) {
        self.request(
            request, didValidateRequest: validatedRequest.map { URLRequest($0) }, response: response.urlResponse,
            withResult: result)
    }

    /// Calls the method with a `URLRequest` and an `HTTPURLResponse`.
    public func request(
        _ request: DownloadRequest, didValidateRequest validatedRequest: HTTPRequest?, response: HTTPResponse,
        fileURL: URL?, withResult result: ValidationResult
    ) {
        self.request(
            request, didValidateRequest: validatedRequest.map { URLRequest($0) }, response: response.urlResponse,
            fileURL: fileURL, withResult: result)
    }

    /// Calls the method with an `AFError`.
    public func request(_ request: UploadRequest, didFailToCreateUploadableWithError error: RequestError) {
        self.request(request, didFailToCreateUploadableWithError: AFError(error))
    }
}
