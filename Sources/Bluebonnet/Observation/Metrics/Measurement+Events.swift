private typealias Attribute = MetricsMonitor.Attribute

extension MetricsMonitor.Measurement {
    /// Returns the measurements of an event, which are empty for most events.
    static func measurements(of event: RequestEvent, _ request: any Request) -> [Self] {
        switch event {
        case .didCreateTask(let task): started(task)
        case .didCompleteTask(let task, let error): ended(task, error)
        case .didFinish: [finished(request, request.error)]
        default: []
        }
    }

    /// Returns the measurements at the start of an exchange.
    static func started(_ task: ExchangeRecord) -> [Self] {
        let target = [Attribute](target: task.request)
        let active = Self(instrument: .activeRequests, attributes: target, value: 1)
        guard task.isRedirect || task.attempt > 1 else { return [active] }
        return [active, Self(instrument: task.isRedirect ? .redirects : .retries, attributes: target, value: 1)]
    }

    /// Returns the measurements at the end of an exchange.
    static func ended(_ task: ExchangeRecord, _ error: RequestError?) -> [Self] {
        let target = [Attribute](target: task.request)
        let outcome = target + .outcome(task.response?.statusCode, error)
        var list = [Self(instrument: .activeRequests, attributes: target, value: -1)]
        func add(_ instrument: MetricsMonitor.Instrument, _ attributes: [Attribute], _ value: Double?) {
            if let value { list.append(Self(instrument: instrument, attributes: attributes, value: value)) }
        }
        if task.response != nil {
            let source = Attribute(name: "bluebonnet.response.source", value: "\(task.source)")
            let status = task.cacheStatus.map { status in
                Attribute(name: "bluebonnet.cache.status", value: status.forward?.rawValue ?? "hit")
            }
            add(.responses, outcome + [source] + (status.map { [$0] } ?? []), 1)
        }
        // An exchange without the network has no metrics.
        guard let metrics = task.metrics else { return list }
        let version = task.response.map { [Attribute(name: "network.protocol.version", value: $0.httpVersion.number)] }
        add(.requestDuration, outcome + (version ?? []), metrics.total.inSeconds)
        add(.timeInQueue, target, metrics.queue?.inSeconds)
        let sent = task.request.body.flatMap { metrics.requestBodyBytes ?? $0.length }
        let received = task.response.flatMap { metrics.responseBodyBytes ?? $0.head.statedLength }
        add(.requestBodySize, outcome, sent.map { Double($0) })
        add(.responseBodySize, outcome, received.map { Double($0) })
        if metrics.isReusedConnection || metrics.connect != nil {
            let isReused = Attribute(name: "bluebonnet.connection.reused", value: "\(metrics.isReusedConnection)")
            add(.connectionUses, target + [isReused], 1)
        }
        add(.handshakeDuration, target, metrics.tlsHandshake.map { ($0 - (metrics.connect ?? .zero)).inSeconds })
        return list
    }

    /// Returns the measurement at the end of a request, with the attributes of the first HTTP request that was sent.
    private static func finished(_ request: any Request, _ error: RequestError?) -> Self {
        // If the last attempt failed without a response, an earlier attempt may have had one.
        let response = error == nil ? request.response : error?.response
        let target = request.requests.first.map { [Attribute](target: $0) } ?? .route(request.tags)
        return Self(instrument: .requests, attributes: target + .outcome(response?.statusCode, error), value: 1)
    }
}

extension [MetricsMonitor.Attribute] {
    /// The attributes of the method, the server and the route.
    fileprivate init(target request: HTTPRequest) {
        let (method, origin) = (request.method, Origin(of: request.url))
        self = [
            Element(name: "http.request.method", value: Self.methods.contains(method) ? method.rawValue : "_OTHER"),
            Element(name: "server.address", value: origin.host.filter { $0 != "[" && $0 != "]" }),
            Element(name: "server.port", value: "\(origin.port)"),
        ]
        self += .route(request.tags)
    }

    fileprivate static func route(_ tags: RequestTags) -> Self {
        tags[RouteTag.self].map { [Element(name: "url.template", value: $0)] } ?? []
    }

    /// The attributes of the status code and of the error; a status code from 400 on is also the type of an error.
    fileprivate static func outcome(_ status: Int?, _ error: RequestError?) -> Self {
        let refusal = status.flatMap { $0 >= 400 ? "\($0)" : nil }
        return [
            status.map { Element(name: "http.response.status_code", value: "\($0)") },
            (error?.kind.name ?? refusal).map { Element(name: "error.type", value: $0) },
        ].compactMap(\.self)
    }

    /// The methods that have their own figures, so that there are few.
    private static let methods: Set<HTTPMethod> = [
        .connect, .delete, .get, .head, .options, .patch, .post, .put, .query, .trace,
    ]
}
