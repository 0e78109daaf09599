/// What a validator thinks of a response: success, or the error that refuses it.
public typealias ValidationResult = Result<Void, any Error>
