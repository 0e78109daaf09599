import FoundationEssentials

/// Events of certain kinds of request.
extension RequestEvents {
    /// Tells what the validators made of a response.
    func validated(
        _ response: HTTPResponse, of sent: HTTPRequest?, data: Data?, fileURL: URL? = nil, _ result: ValidationResult
    ) {
        tell { monitor, request in
            switch request {
            case let request as DataRequest:
                await monitor.request(
                    request, didValidateRequest: sent, response: response, data: data, withResult: result)
            case let request as DataStreamRequest:
                await monitor.request(request, didValidateRequest: sent, response: response, withResult: result)
            case let request as DownloadRequest:
                await monitor.request(
                    request, didValidateRequest: sent, response: response, fileURL: fileURL, withResult: result)
            default: break
            }
        }
    }

    /// Tells what became of the file of a body that is complete.
    func downloaded(_ attempt: CompletedAttempt, _ result: Result<URL, RequestError>) {
        guard let sent = attempt.request else { return }
        let record = ExchangeRecord(
            id: exchangeCount, attempt: attempt.attempts, isRedirect: !(attempt.response?.history.isEmpty ?? true),
            request: sent, response: attempt.response, metrics: attempt.metrics)
        tell(DownloadRequest.self) { monitor, request in
            if case .success(let url) = result { await monitor.request(request, didCreateDestinationURL: url) }
            await monitor.request(request, didFinishDownloadingUsing: record, with: result)
        }
    }

    /// Tells of an element of a stream, or of an error in its place.
    func streamed<Value: Sendable>(_ result: Result<Value, RequestError>) {
        tell(DataStreamRequest.self) { await $0.request($1, didParseStream: result) }
    }

    /// What tells of the answer of a serializer of a data request.
    func answerOfData<Value: Sendable>(_ type: Value.Type) -> SerializationSlot.Report {
        { [self] answer in
            let response = DataResponse<Value, RequestError>(
                attempt: answer.attempt, serializationDuration: answer.duration, result: answer.result(Value.self))
            tell(DataRequest.self) { monitor, request in
                if let response = response as? DataResponse<Data?, RequestError> {
                    await monitor.request(request, didParseResponse: response)
                } else {
                    await monitor.request(request, didParseResponse: response)
                }
            }
        }
    }

    /// What tells of the answer of a serializer of a download.
    func answerOfDownload<Value: Sendable>(_ type: Value.Type) -> SerializationSlot.Report {
        { [self] answer in
            let response = DownloadResponse<Value, RequestError>(
                attempt: answer.attempt, serializationDuration: answer.duration, result: answer.result(Value.self))
            tell(DownloadRequest.self) { monitor, request in
                if let response = response as? DownloadResponse<URL?, RequestError> {
                    await monitor.request(request, didParseResponse: response)
                } else {
                    await monitor.request(request, didParseResponse: response)
                }
            }
        }
    }
}
