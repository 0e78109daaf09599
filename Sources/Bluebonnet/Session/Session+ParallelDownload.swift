public import FoundationEssentials

extension Session {
    /// Downloads a file in several parts at the same time, each over a connection of its own.
    ///
    /// ```swift
    /// let file = try await session.parallelDownload(url, to: destination, checksum: .sha256(digest)) { progress in
    ///     print(progress.completed)
    /// }
    /// ```
    ///
    /// The first request asks for all bytes (`Range: bytes=0-`, RFC 9110 §14.2). If the response contains this range,
    /// the size of the file and a strong `ETag` (RFC 9110 §8.8.1), the other parts are requested with `If-Range`.
    /// Otherwise, the file is received over one connection. A part has at least 256 KiB. All requests use HTTP/1.1,
    /// because the streams of an HTTP/2 connection would share one connection.
    ///
    /// After an interruption, a part continues where it stopped, under the same conditions as with
    /// ``DownloadRequest/Options/automaticallyResume``. If the file changes on the server, the download starts over, at
    /// most three times.
    ///
    /// The parts are written into one partial file, `.name.part`. If the download fails or is cancelled, or if the
    /// process is killed, this file and its state are kept. The next parallel download of the same URL to the same
    /// destination requests only the missing bytes, in the parts of the earlier download. If the file was received over
    /// one connection, the partial file is removed instead. The complete file is moved to the destination.
    ///
    /// To cancel the download, cancel the Swift task that awaits it. After ``shutdown()``, the download fails as
    /// soon as it has to send another request. Files are written on the global executor, or on the executor that the
    /// task prefers.
    ///
    /// - Parameters:
    ///   - convertible: The URL, as a `String`, a `URL`, `URLComponents` or your own ``URLConvertible`` type.
    ///   - destination: The URL of the file.
    ///   - options: The options for directories and an existing file; none by default. The download is resumed after
    ///     an interruption even without ``DownloadRequest/Options/automaticallyResume``.
    ///   - parts: The number of parts, from 1 to 32; 4 by default. Values outside this range are clamped.
    ///   - headers: Header fields, which replace the session's fields of the same name. `Range`, `If-Range` and
    ///     `Accept-Encoding` are replaced.
    ///   - checksum: The expected checksum, which is checked after all parts are received; `nil` by default.
    ///   - mirrors: Other URLs of the same file; none by default. The parts are distributed among all URLs. If a URL
    ///     fails, its parts are requested from another URL. With mirrors, you must pass a checksum that you know in
    ///     advance, because validators of different URLs are not comparable (RFC 9110 §8.8). Fields with secrets are
    ///     not sent to mirrors.
    ///   - interceptor: An interceptor that adapts the requests and decides about retries; `nil` by default. It runs
    ///     after the session's interceptor.
    ///   - progress: A closure that receives the progress of the whole file, at most every 100 milliseconds and at the
    ///     end; `nil` by default. It runs on the global executor, one call after the other.
    /// - Returns: The URL of the complete file.
    /// - Throws: A ``RequestError``. The kind is `.download(.checksumMismatch)` if the file has another checksum; the
    ///   partial file is then removed. The kind is `.download(.changedOnServer)` if the file still changes after three
    ///   restarts, and `.validation(.unacceptableStatusCode)` if a response has an unexpected status code. The
    ///   kind is `.invalidResponse(.malformed)` if a response contains a range that was not requested. The kind is
    ///   `.invalidRequest(.configuration)` if there are mirrors, but `checksum` is `nil` or
    ///   ``DownloadChecksum/responseField``. The kind is `.download(.cannotCreateFile)` if another download writes to
    ///   the partial file.
    @concurrent
    public nonisolated func parallelDownload(
        _ convertible: any URLConvertible, to destination: URL, options: DownloadRequest.Options = [], parts: Int = 4,
        headers: HTTPHeaders? = nil, checksum: DownloadChecksum? = nil, mirrors: [any URLConvertible] = [],
        interceptor: (any RequestInterceptor)? = nil,
        progress: (@Sendable (_ progress: TransferProgress) -> Void)? = nil
    ) async throws(RequestError) -> URL {
        try checksum?.validate()
        guard mirrors.isEmpty || checksum?.isFromResponse == false else {
            throw RequestError(.invalidRequest(.configuration("mirrors need a stated checksum")))
        }
        var sources = [try HTTPRequest(url: convertible, headers: headers ?? [:])]
        for mirror in mirrors {
            var source = try HTTPRequest(url: mirror, headers: headers ?? [:])
            source.leaveOrigin()
            sources.append(source)
        }
        let path = try DownloadTarget.path(of: destination)
        _ = try DownloadTarget(.file(destination, options: options))
        let name = FileName.partial(of: FileSystem.name(of: path))
        let place = try await FilePlaces.shared.next(configuration.timeouts)
        defer { withExtendedLifetime(place) {} }
        guard let partial = try PartialFile.named(name, in: FileSystem.parent(of: path)) else {
            throw RequestError(
                .download(.cannotCreateFile(path: path)),
                detail: "the partial file \(name) is in use, belongs to another user or cannot be locked")
        }
        defer { partial.release() }
        let download = ParallelDownload(
            session: self, sources: sources, count: parts, checksum: checksum, interceptor: interceptor,
            file: partial.file, path: partial.path, sidecar: partial.sidecar, progress: progress)
        do throws(RequestError) {
            try await download.fetch(fileSize: partial.size)
            try download.verify()
            try partial.move(to: path, replacing: options.contains(.removePreviousFile))
        } catch {
            switch download.plan {
            case let plan? where plan.entityTag != nil && error.kind != .download(.checksumMismatch): download.save()
            // An earlier download may continue with the file.
            case nil where !download.wasTouched && partial.size > 0: break
            default: partial.discard()
            }
            let isCancelled = Task.isCancelled && !error.isCancellation
            throw (isCancelled ? .cancelled(after: error) : error).during(sources[0], attempts: max(1, error.attempts))
        }
        return URL(filePath: path, directoryHint: .notDirectory)
    }
}
