import BluebonnetCallbacks
public import Foundation
public import FoundationNetworking

// These declarations of Alamofire cannot exist in a library without `URLSession`. Each message names the replacement.

extension Session {
    /// Not available, because libcurl sends the requests.
    @available(*, unavailable, message: "there is no URLSession; use sessionConfiguration, or cancelAllRequests()")
    public var session: URLSession { fatalError("unavailable") }
    /// Not available, because each monitor is called separately.
    @available(*, unavailable, renamed: "eventMonitors")
    public var eventMonitor: any EventMonitor { fatalError("unavailable") }
}

extension Request {
    /// Not available, because a session is not the delegate of its requests.
    @available(*, unavailable, message: "keep the Session, and use its properties")
    public var delegate: Session? { nil }
    /// Not available; give the session an `EventMonitor` with `requestDidResume(_:)`.
    @available(*, unavailable, message: "no notifications are posted; use EventMonitor.requestDidResume(_:)")
    public static var didResumeNotification: Notification.Name { fatalError("unavailable") }
    /// Not available; give the session an `EventMonitor` with `requestDidSuspend(_:)`.
    @available(*, unavailable, message: "no notifications are posted; use EventMonitor.requestDidSuspend(_:)")
    public static var didSuspendNotification: Notification.Name { fatalError("unavailable") }
    /// Not available; give the session an `EventMonitor` with `requestDidCancel(_:)`.
    @available(*, unavailable, message: "no notifications are posted; use EventMonitor.requestDidCancel(_:)")
    public static var didCancelNotification: Notification.Name { fatalError("unavailable") }
    /// Not available; give the session an `EventMonitor` with `requestDidFinish(_:)`.
    @available(*, unavailable, message: "no notifications are posted; use EventMonitor.requestDidFinish(_:)")
    public static var didFinishNotification: Notification.Name { fatalError("unavailable") }

    /// Not available; the metrics of the latest exchange are in `metrics`.
    @available(*, unavailable, message: "use metrics, or the monitor's request(_:didGatherMetrics:)")
    public var allMetrics: [URLSessionTaskMetrics] { [] }
}

extension TransferMetrics {
    /// Not available: a value describes a single exchange, so there is no list of transactions.
    @available(*, unavailable, message: "the value describes a single exchange; use its own properties")
    public var transactionMetrics: [TransferMetrics] { [] }
    /// Not available; `willPerformHTTPRedirection` of an `EventMonitor` is called for each redirect.
    @available(*, unavailable, message: "count the calls of willPerformHTTPRedirection of an EventMonitor")
    public var redirectCount: Int { 0 }
}

/// Not available; a session has several monitors.
@available(*, unavailable, message: "pass all monitors to the session as eventMonitors")
public enum CompositeEventMonitor {}

/// Not available; no notifications are posted.
@available(*, unavailable, message: "no notifications are posted; the methods of an EventMonitor get the request")
public enum AlamofireNotifications {}

extension Notification {
    /// Not available; give the session an `EventMonitor`.
    @available(*, unavailable, message: "no notifications are posted; the methods of an EventMonitor get the request")
    public var request: Request? { nil }
}
