/// The key for the route of a request: the path of its URL with placeholders, such as `/users/{id}`.
///
/// ```swift
/// session.request(url).tag(RouteTag.self, "/users/{id}")
/// ```
///
/// A ``MetricsMonitor`` and a ``LogRecordMonitor`` report the route in the attribute `url.template`. Use only a small
/// number of routes, because the metrics contain separate figures for each route. The route is not sent. It must not
/// contain secrets.
public enum RouteTag: RequestTag {
    /// The type of the value: the route as text.
    public typealias Value = String
}
