extension Result {
    /// Returns the result with its value transformed by a closure that may throw.
    func tryMap<NewSuccess>(_ transform: (Success) throws -> NewSuccess) -> Result<NewSuccess, any Error> {
        Result<NewSuccess, any Error> { try transform(get()) }
    }

    /// Returns the result with its error transformed by a closure that may throw.
    func tryMapError<NewFailure: Error>(_ transform: (Failure) throws -> NewFailure) -> Result<Success, any Error> {
        switch self {
        case .success(let value): .success(value)
        case .failure(let failure): Result<Success, any Error> { throw try transform(failure) }
        }
    }
}
