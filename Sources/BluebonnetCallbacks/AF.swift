// Code in this style names URLs, requests and queues; one import is enough for it.
@_exported public import Bluebonnet
@_exported public import BluebonnetFoundation
@_exported public import Dispatch

/// The default session, by the name under which code in this style knows it.
public let AF = Session.default

/// The response of a `DataRequest` with the error type of this module.
public typealias AFDataResponse<Success: Sendable> = DataResponse<Success, AFError>

/// The response of a `DownloadRequest` with the error type of this module.
public typealias AFDownloadResponse<Success: Sendable> = DownloadResponse<Success, AFError>

/// A value, or an error of this module.
public typealias AFResult<Success> = Result<Success, AFError>
