public import FoundationEssentials

/// A group of downloads with one progress, which limits how many downloads run at the same time.
///
/// ```swift
/// let group = DownloadGroup(urls.map { session.download($0, to: .directory(folder)).validate() })
/// let files = try await group.files { transfer, finished in print(finished, transfer.completed) }
/// ```
///
/// The group starts the requests in their order. To cancel all of them, cancel the Swift task that awaits the group. To
/// cancel one of them, cancel its request. The group does not change the conditions under which a download keeps its
/// partial file.
public struct DownloadGroup: Sendable {
    /// A closure that receives the progress of a group.
    ///
    /// The transfer contains the sums of the bytes and of the rates of all downloads. Its total is `nil` until all
    /// downloads have started and their sizes are known. The number of finished downloads includes failed and cancelled
    /// ones. The closure runs on the global executor, one call after the other. A slow closure receives only the latest
    /// progress.
    public typealias ProgressHandler = @Sendable (_ transfer: TransferProgress, _ finished: Int) -> Void

    private let requests: [DownloadRequest]
    private let limit: Int

    /// Creates a group.
    ///
    /// - Parameters:
    ///   - requests: The downloads, which must not have started.
    ///   - limit: The number of downloads that run at the same time, at least 1; 4 by default.
    public init(_ requests: [DownloadRequest], limit: Int = 4) {
        self.requests = requests
        self.limit = max(1, min(limit, requests.count))
    }

    /// Runs the downloads, and cancels the others when a download fails.
    ///
    /// - Parameter progress: A closure that receives the progress; `nil` by default.
    /// - Returns: The URLs of the files, in the order of the requests.
    /// - Throws: The error of the download that failed first.
    public func files(progress: ProgressHandler? = nil) async throws(RequestError) -> [URL] {
        let (results, failure) = await run(stopsAtFailure: true, progress)
        if let failure { throw failure }
        return results.compactMap { try? $0.get() }
    }

    /// Runs all downloads, even if some of them fail.
    ///
    /// - Parameter progress: A closure that receives the progress; `nil` by default.
    /// - Returns: For each download, the URL of its file or its error, in the order of the requests.
    public func results(progress: ProgressHandler? = nil) async -> [Result<URL, RequestError>] {
        await run(stopsAtFailure: false, progress).results
    }

    /// Runs the downloads; returns their results and the first failure.
    private func run(
        stopsAtFailure: Bool, _ progress: ProgressHandler?
    ) async -> (results: [Result<URL, RequestError>], failure: RequestError?) {
        let changes = Broadcast<Void>(replaysLatest: false)
        let stream = changes.stream(bufferingPolicy: .latest)
        async let reports: Void = { for await _ in stream { report(to: progress) } }()
        let outcome = await withTaskGroup(of: (Int, Result<URL, RequestError>).self) { group in
            var results = requests.map { _ in Result<URL, RequestError>.failure(RequestError(.cancelled)) }
            var failure: RequestError?
            for index in 0..<requests.count + limit {
                // After the first downloads, a download starts only when another download has ended.
                if index >= limit, let (ended, result) = await group.next() {
                    results[ended] = result
                    if failure == nil, case .failure(let error) = result {
                        failure = error
                        if stopsAtFailure { for request in requests { request.cancel() } }
                    }
                }
                if index < requests.count { group.addTask { (index, await result(of: requests[index], changes)) } }
            }
            return (results, failure)
        }
        changes.finish()
        await reports
        return outcome
    }

    private func result(
        of request: DownloadRequest, _ changes: Broadcast<Void>
    ) async -> Result<URL, RequestError> {
        // A request of a cancelled group is not sent.
        if Task.isCancelled { request.cancel() }
        let task = request.serializingURL()
        request.resume()
        for await _ in request.downloadProgressUpdates() { changes.send(()) }
        defer { changes.send(()) }
        return await task.response.result
    }

    private func report(to progress: ProgressHandler?) {
        let transfers = requests.map(\.downloadProgress)
        let (totals, rates) = (transfers.compactMap(\.total), transfers.compactMap(\.bytesPerSecond))
        // Servers can state any size.
        let sum = TransferProgress(
            completed: transfers.reduce(0) { $0 &+ $1.completed },
            total: totals.count == requests.count ? totals.reduce(0, &+) : nil,
            bytesPerSecond: rates.isEmpty ? nil : rates.reduce(0, +))
        progress?(sum, requests.count { $0.isFinished || $0.isCancelled })
    }
}
