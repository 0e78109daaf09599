// Code that was written with completion handlers gives these names to protocols in Foundation's terms. A module that
// imports this one, and Bluebonnet only through it, finds those under them; see the article about migrating.
@_exported public import BluebonnetCallbacks
@_exported public import BluebonnetReachability

/// An adapter that answers by a completion handler.
public typealias RequestAdapter = CallbackRequestAdapter

/// A retrier that answers by a completion handler.
public typealias RequestRetrier = CallbackRequestRetrier

/// An interceptor that answers by completion handlers.
public typealias RequestInterceptor = CallbackRequestInterceptor

/// An authenticator that answers by a completion handler.
public typealias Authenticator = CallbackAuthenticator

/// A serializer in Foundation's terms.
public typealias ResponseSerializer = FoundationResponseSerializer

/// A monitor that has a queue.
public typealias EventMonitor = QueuedEventMonitor
