package import FoundationEssentials

/// The validators of a request, in the order in which they were added.
package struct ValidatorList: Sendable {
    private var validators: [ResponseValidator] = []

    /// Creates an empty list, which accepts everything.
    package init() {}

    /// Whether there is nothing to run.
    package var isEmpty: Bool { validators.isEmpty }

    /// Adds a validator.
    package mutating func append(_ validator: ResponseValidator) {
        validators.append(validator)
    }

    /// Adds what `validate()` stands for: a status code of 200 to 299, then a content type that was asked for.
    package mutating func appendDefaults() {
        validators.append(.success)
        validators.append(.accepted)
    }

    /// Runs the validators up to the first that refuses the response.
    ///
    /// - Throws: That one's error, with the response and the first 64 KiB of the body in it.
    package func run(request: HTTPRequest?, response: HTTPResponse, data: Data?) throws(RequestError) {
        for validator in validators {
            do {
                try validator.check(request: request, response: response, data: data)
            } catch {
                throw error.response == nil ? error.about(response, body: data) : error
            }
        }
    }
}
